//! The JSON Schema of the scenario, for editors and for [`super::shape`].

use serde_json::Value as Json;

use super::model::Scenario;

/// The JSON Schema of a scenario, for editors.
pub fn schema() -> String {
    format!("{:#}\n", ModelSchema::new().0)
}

/// The JSON Schema of [`Scenario`], derived from the model.
#[derive(Debug)]
pub(super) struct ModelSchema(Json);

/// One place in the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'s> {
    all: &'s Json,
    own: &'s Json,
}

/// What may stand at a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'s> {
    /// A table of known keys.
    Table,
    /// An array, of a fixed length or any.
    Array(Option<usize>),
    /// One of these names.
    Choice(Vec<&'s str>),
    /// Any string.
    Text,
    /// An integer or a float.
    Number,
    /// An integer.
    Integer(Bounds),
    /// `true` or `false`.
    Boolean,
}

/// Which integers are right, and which the model can hold at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The smallest that makes sense.
    pub(super) smallest: u64,
    /// The largest that makes sense.
    pub(super) largest: u64,
    /// The largest that the model's field holds. What lies between is refused later, with better words.
    pub(super) fits: u64,
}

impl ModelSchema {
    /// Derives the schema.
    pub(super) fn new() -> Self {
        Self(schemars::schema_for!(Scenario).to_value())
    }

    /// The place of the whole scenario.
    pub(super) fn root(&self) -> Node<'_> {
        Node { all: &self.0, own: &self.0 }
    }
}

impl<'s> Node<'s> {
    /// The place of `key` in a table.
    pub(super) fn key(self, key: &str) -> Option<Self> {
        Some(self.at(self.target().get("properties")?.get(key)?))
    }

    /// The place of the entries of an array.
    pub(super) fn entry(self) -> Option<Self> {
        Some(self.at(self.target().get("items")?))
    }

    /// All keys of a table.
    pub(super) fn keys(self) -> Vec<&'s str> {
        let keys = self.target().get("properties").and_then(Json::as_object);
        keys.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
    }

    /// The keys a table cannot do without.
    pub(super) fn required(self) -> Vec<&'s str> {
        strings(self.target().get("required"))
    }

    /// What the documentation says about this place: its first sentence.
    pub(super) fn description(self) -> &'s str {
        let texts = [self.own, self.target()];
        let text = texts.iter().find_map(|node| node.get("description")).and_then(Json::as_str);
        text.unwrap_or_default().split("\n\n").next().unwrap_or_default()
    }

    /// The value that stands here when the scenario says nothing.
    pub(super) fn default_value(self) -> Option<&'s Json> {
        self.own.get("default")
    }

    /// What may stand here.
    pub(super) fn kind(self) -> Kind<'s> {
        let target = self.target();
        let choices = choices(target);
        if !choices.is_empty() {
            return Kind::Choice(choices);
        }
        let length = target.get("maxItems").and_then(Json::as_u64);
        match type_name(target) {
            "array" => Kind::Array(length.and_then(|length| usize::try_from(length).ok())),
            "string" => Kind::Text,
            "number" => Kind::Number,
            "integer" => Kind::Integer(bounds(target)),
            "boolean" => Kind::Boolean,
            _ => Kind::Table,
        }
    }

    /// Follows `$ref`, also that of an optional value (`anyOf` with null).
    fn target(self) -> &'s Json {
        let alternatives = self.own.get("anyOf").and_then(Json::as_array);
        let node = alternatives.and_then(|nodes| nodes.first()).unwrap_or(self.own);
        let pointer = node.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'));
        pointer.and_then(|pointer| self.all.pointer(pointer)).unwrap_or(node)
    }

    fn at(self, own: &'s Json) -> Self {
        Node { all: self.all, own }
    }
}

/// The names an enum allows: `enum` lists undocumented ones, `oneOf` holds the documented.
fn choices(node: &Json) -> Vec<&str> {
    let variants = node.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let documented = variants.flat_map(|variant| match variant.get("const").and_then(Json::as_str) {
        Some(name) => vec![name],
        None => strings(variant.get("enum")),
    });
    documented.chain(strings(node.get("enum"))).collect()
}

/// The type, also of an optional value (`["number", "null"]`).
fn type_name(node: &Json) -> &str {
    let kind = node.get("type");
    kind.and_then(Json::as_str).or_else(|| strings(kind).first().copied()).unwrap_or_default()
}

fn bounds(node: &Json) -> Bounds {
    // TOML itself ends at `i64::MAX`.
    let fits = match node.get("format").and_then(Json::as_str) {
        Some("uint8") => u8::MAX.into(),
        Some("uint16") => u16::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        _ => i64::MAX.unsigned_abs(),
    };
    let bound = |name: &str| node.get(name).and_then(Json::as_u64);
    let largest = bound("maximum").unwrap_or(fits);
    Bounds { smallest: bound("minimum").unwrap_or_default(), largest, fits }
}

fn strings(node: Option<&Json>) -> Vec<&str> {
    node.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}
