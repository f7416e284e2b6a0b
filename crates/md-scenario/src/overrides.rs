//! Overrides of the form `--set key.path=value`.

use std::ops::Range;

use toml::{Table, Value};

use super::path::{KeyPath, Segment};
use super::schema::{Kind, ModelSchema, Node};

/// A fault of the argument itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Byte range of the part at fault.
    pub(super) range: Range<usize>,
    /// Description of the fault.
    pub(super) message: String,
    /// Hint for the correction.
    pub(super) help: String,
}

/// A parsed argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Override<'t> {
    /// Path of the key that receives the value.
    pub(super) path: KeyPath,
    /// Byte range of the text before the `=`.
    pub(super) key: Range<usize>,
    /// Byte range of the text after the `=`.
    pub(super) value: Range<usize>,
    text: &'t str,
}

impl<'t> Override<'t> {
    /// Parses `key.path=value`.
    pub(super) fn parse(text: &'t str) -> Result<Self, Fault> {
        const FORM: &str = "give `key.path=value`, for example `interaction.cutoff=3.0`";
        let fault = |range, message: String| Fault { range, message, help: FORM.to_owned() };
        let Some((key, value)) = text.split_once('=') else {
            return Err(fault(0..text.len(), format!("no `=` in `--set {text}`")));
        };
        let path =
            KeyPath::parse(key).ok_or_else(|| fault(0..key.len(), format!("`{key}` is no path of a key")))?;
        if value.trim().is_empty() {
            return Err(fault(0..text.len(), format!("no value for `{path}` in `--set {text}`")));
        }
        Ok(Self { path, key: 0..key.len(), value: key.len() + 1..text.len(), text })
    }

    /// Returns the value as TOML. Text that is not TOML, or that is not a TOML string although the
    /// key requires a string, becomes a string.
    fn to_value(&self, node: Option<Node<'_>>) -> Value {
        let text = self.text.get(self.value.clone()).unwrap_or_default().trim();
        let bare = || Value::String(text.to_owned());
        match (text.parse(), node.map(Node::kind)) {
            (Ok(value @ Value::String(_)), _) => value,
            (Ok(_), Some(Kind::Text)) | (Err(_), _) => bare(),
            (Ok(value), _) => value,
        }
    }
}

/// Stores the value of one argument in `tree`.
pub(super) fn apply(tree: &mut Table, schema: &ModelSchema, text: &str) -> Result<(), Fault> {
    let parsed = Override::parse(text)?;
    let mut node = Some(schema.root());
    let mut place = Place::Table(tree);
    let segments = parsed.path.segments();
    for (depth, segment) in segments.iter().enumerate() {
        node = node.and_then(|node| match segment {
            Segment::Key(key) => node.key(key),
            Segment::Index(_) => node.entry(),
        });
        let empty = if depth + 1 == segments.len() {
            parsed.to_value(node)
        } else {
            container(segments.get(depth + 1), node)
        };
        let entry = place.entry(segment, empty).map_err(|reason| Fault {
            range: parsed.key.clone(),
            message: format!("cannot set `{}`: `{}` {reason}", parsed.path, parsed.path.truncated(depth)),
            help: "the path must lead through tables and existing entries of arrays".to_owned(),
        })?;
        if depth + 1 == segments.len() {
            *entry = parsed.to_value(node);
            break;
        }
        place = Place::Value(entry);
    }
    Ok(())
}

/// Returns the container that is created if the path leads through a missing key. An array starts
/// as its default, so that `species[0].mass=2` works on the default species of a scenario that
/// lists none.
fn container(next: Option<&Segment>, node: Option<Node<'_>>) -> Value {
    match next {
        Some(Segment::Index(_)) => node
            .and_then(Node::default_value)
            .and_then(|default| Value::try_from(default).ok())
            .unwrap_or_else(|| Value::Array(Vec::new())),
        Some(Segment::Key(_)) | None => Value::Table(Table::new()),
    }
}

enum Place<'t> {
    Table(&'t mut Table),
    Value(&'t mut Value),
}

impl<'t> Place<'t> {
    /// Returns the value one step further down, or the reason why there is none. A missing key of a
    /// table is created from `empty`.
    fn entry(self, segment: &Segment, empty: Value) -> Result<&'t mut Value, String> {
        match (self, segment) {
            (Self::Table(table) | Self::Value(Value::Table(table)), Segment::Key(key)) => {
                Ok(table.entry(key.as_str()).or_insert(empty))
            }
            (Self::Value(Value::Array(entries)), Segment::Index(index)) => {
                let count = entries.len();
                entries.get_mut(*index).ok_or_else(|| format!("has {count} entries, counted from [0]"))
            }
            (Self::Value(Value::Array(_)), Segment::Key(_)) => Err("is an array".to_owned()),
            (Self::Table(_) | Self::Value(Value::Table(_)), Segment::Index(_)) => {
                Err("is a table and has no numbered entries".to_owned())
            }
            (Self::Value(value), _) => Err(format!("is {}", super::wording::found(value))),
        }
    }
}
