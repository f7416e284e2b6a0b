//! `--set key.path=value`.

use std::ops::Range;

use toml::{Table, Value};

use super::path::{KeyPath, Segment};
use super::schema::{Kind, ModelSchema, Node};

/// A fault of the argument itself: the part of it, what is wrong, what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Bytes of the argument.
    pub(super) range: Range<usize>,
    /// What is wrong.
    pub(super) message: String,
    /// What would be right.
    pub(super) help: String,
}

/// An argument taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Override<'t> {
    /// Where the value goes.
    pub(super) path: KeyPath,
    /// The text before the `=`.
    pub(super) key: Range<usize>,
    /// The text after it.
    pub(super) value: Range<usize>,
    text: &'t str,
}

impl<'t> Override<'t> {
    /// Takes `key.path=value` apart.
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

    /// The value as TOML; what is no TOML, or would be no string where one belongs, is taken as a bare string.
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

/// Puts the value of one argument into the tree.
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

/// What is made where the path leads through something that is not there: an array starts as its default, so that
/// `species[0].mass=2` works on the species a scenario has without naming any.
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
    /// The value one step further down, made from `empty` when a table lacks it; else the reason why there is none.
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
