//! The JSON Schema of the scenario, for editors and for [`super::shape`].

use std::collections::BTreeSet;

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::finding::Finding;
use super::path::KeyPath;
use super::wording::float;

/// The JSON Schema of a [`super::Model`], derived from it.
#[derive(Debug)]
pub(super) struct ModelSchema(pub(super) Json);

/// The key that decides which other keys a table has.
const KIND: &str = "kind";

/// Keyword with the help for numbers outside of their range. It also applies to keys and entries
/// below, up to the next one.
const HELP: &str = "$comment";

/// Changes the schema of a table with a `kind` that determines its other keys. The table itself
/// receives a `kind` with the names of all variants, the first variant becomes the default, and
/// unknown keys are refused.
pub(super) fn lift_kind(schema: &mut Schema) {
    let mut names = Vec::new();
    for (index, variant) in
        schema.get_mut("oneOf").and_then(Json::as_array_mut).into_iter().flatten().enumerate()
    {
        if index == 0
            && let Some(required) = variant.get_mut("required").and_then(Json::as_array_mut)
        {
            required.retain(|key| key != KIND);
        }
        names.push(json!({ "const": kind_of(variant), "description": variant.get("description") }));
    }
    let default = names.first().and_then(|first| first.get("const")).cloned();
    let kind =
        json!({ "oneOf": names, "default": default, "description": "Chooses the table's other keys." });
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("unevaluatedProperties".to_owned(), json!(false));
    match schema.get_mut("properties").and_then(Json::as_object_mut) {
        Some(properties) => {
            properties.insert(KIND.to_owned(), kind);
        }
        None => {
            schema.insert("properties".to_owned(), json!({ KIND: kind }));
        }
    }
}

/// Joins the lines of a comment, because the programs that show it break lines elsewhere, and
/// removes from the default of a table the keys that are left out.
fn tidy(schema: &mut Schema) {
    if let Some(Json::String(text)) = schema.get_mut("description") {
        *text = text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
    if let Some(Json::Object(keys)) = schema.get_mut("default") {
        keys.retain(|_, value| !value.is_null());
    }
}

/// Returns the name of a variant of a table with a `kind`.
fn kind_of(variant: &Json) -> Option<&str> {
    variant.get("properties")?.get(KIND)?.get("const")?.as_str()
}

/// One place in the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'s> {
    all: &'s Json,
    own: &'s Json,
    /// The chosen variant of a table with a `kind`. If it is `None`, the keys of all variants are
    /// valid.
    variant: Option<&'s Json>,
    /// Help for numbers outside of their range.
    help: Option<&'s str>,
}

/// Kind of value that is allowed at a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'s> {
    /// A table of known keys.
    Table,
    /// A table of known keys, or one of these names.
    TableOr(Vec<&'s str>),
    /// An array of a fixed length, or of any length.
    Array(Option<usize>),
    /// One of these names.
    Choice(Vec<&'s str>),
    /// One of these names, or an array of names.
    ChoiceOrArray(Vec<&'s str>),
    /// Any string.
    Text,
    /// An integer or a float.
    Number,
    /// A number, or one of these names.
    NumberOr(Vec<&'s str>),
    /// A number, or a table of known keys.
    NumberOrTable,
    /// An integer.
    Integer(Bounds),
    /// An integer, or one of these names.
    IntegerOr(Bounds, Vec<&'s str>),
    /// `true` or `false`.
    Boolean,
}

/// Range of the integers that make sense, and of those that the model can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The smallest integer that makes sense.
    pub(super) smallest: u64,
    /// The largest integer that makes sense.
    pub(super) largest: u64,
    /// The largest integer that fits into the field of the model. Values between `largest` and
    /// `fits` are refused later, with a better message.
    pub(super) fits: u64,
}

impl ModelSchema {
    /// Derives the schema from the model.
    pub(super) fn of<M: JsonSchema>() -> Self {
        let mut schema = schemars::schema_for!(M);
        RecursiveTransform(tidy).transform(&mut schema);
        Self(schema.to_value())
    }

    /// Returns the place of the whole scenario.
    pub(super) fn root(&self) -> Node<'_> {
        Node { all: &self.0, own: &self.0, variant: None, help: None }
    }
}

impl<'s> Node<'s> {
    /// Returns this place with the variant that the `kind` of `table` chooses.
    pub(super) fn of_kind_in(self, table: &Table) -> Self {
        let name = table.get(KIND).and_then(Value::as_str).or_else(|| self.default_kind());
        let variant = self.variants().find(|variant| name.is_some() && kind_of(variant) == name);
        Self { variant, ..self }
    }

    /// Returns the default `kind` of a table.
    pub(super) fn default_kind(self) -> Option<&'s str> {
        self.variants().next().and_then(kind_of)
    }

    /// Returns the chosen kind and the kind that has `key`, if `key` belongs to a kind that is not
    /// chosen.
    pub(super) fn other_kind_with(self, key: &str) -> Option<[&'s str; 2]> {
        let has_key = |variant: &&Json| variant.get("properties").is_some_and(|keys| keys.get(key).is_some());
        Some([kind_of(self.variant?)?, self.variants().find(has_key).and_then(kind_of)?])
    }

    /// Returns the place of `key` in a table.
    pub(super) fn key(self, key: &str) -> Option<Self> {
        Some(self.at(self.parts().find_map(|part| part.get("properties")?.get(key))?))
    }

    /// Returns the place of the entries of an array.
    pub(super) fn entry(self) -> Option<Self> {
        let array = if self.target().get("items").is_some() { self.target() } else { self.other("array")? };
        Some(self.at(array.get("items")?))
    }

    /// Returns all keys of a table.
    pub(super) fn keys(self) -> BTreeSet<&'s str> {
        let keys = self.parts().filter_map(|part| part.get("properties")?.as_object());
        keys.flatten().map(|(key, _)| key.as_str()).collect()
    }

    /// Returns the required keys of a table.
    pub(super) fn required(self) -> Vec<&'s str> {
        let parts = std::iter::once(self.target()).chain(self.variant);
        parts.flat_map(|part| strings(part.get("required"))).collect()
    }

    /// Returns the first paragraph of the documentation of this place.
    pub(super) fn description(self) -> &'s str {
        let texts = [self.own, self.target()];
        let text = texts.iter().find_map(|node| node.get("description")).and_then(Json::as_str);
        text.unwrap_or_default().split("\n\n").next().unwrap_or_default()
    }

    /// Returns the default value of this place.
    pub(super) fn default_value(self) -> Option<&'s Json> {
        self.own.get("default")
    }

    /// Returns the kind of value that is allowed here.
    pub(super) fn kind(self) -> Kind<'s> {
        let target = self.target();
        let names = self.other_names();
        match type_name(target) {
            "number" if !names.is_empty() => return Kind::NumberOr(names),
            "number" if self.other_table().is_some() => return Kind::NumberOrTable,
            "integer" if !names.is_empty() => return Kind::IntegerOr(bounds(target), names),
            "object" if !names.is_empty() => return Kind::TableOr(names),
            _ => (),
        }
        let choices = choices(target);
        if !choices.is_empty() {
            let is_single = self.other("array").is_none();
            return if is_single { Kind::Choice(choices) } else { Kind::ChoiceOrArray(choices) };
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

    /// Returns the fault of a number outside of the range in the schema. Numbers without a help
    /// there are checked with the model; so is the upper bound of an integer, unless only two
    /// values are allowed.
    pub(super) fn out_of_range(self, path: &KeyPath, value: &Value) -> Option<Finding> {
        let help = self.help?;
        let number = value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64))?;
        let bound = |name: &str| [self.own, self.target()].iter().find_map(|node| node.get(name)?.as_f64());
        let [least, above, most] = ["minimum", "exclusiveMinimum", "maximum"].map(bound);
        let is_integer = matches!(self.kind(), Kind::Integer(_) | Kind::IntegerOr(..));
        let most = most.filter(|most| !is_integer || least.is_some_and(|least| least + 1.0 == *most));
        let is_inside = least.is_none_or(|least| number >= least)
            && above.is_none_or(|above| number > above)
            && most.is_none_or(|most| number <= most);
        if is_inside && number.is_finite() {
            return None;
        }
        let names = || self.other_names().iter().map(|name| format!(" or {name:?}")).collect::<String>();
        let wanted = match (least, above, most) {
            (Some(least), _, Some(most)) if is_integer => format!("{least} or {most}"),
            (Some(least), ..) if is_integer => format!("at least {least}"),
            (Some(least), _, Some(most)) => format!("from {least} to {most}{}", names()),
            (Some(least), ..) => format!("a finite number of at least {least}"),
            (_, Some(above), _) => format!("a finite number above {above}"),
            _ => "a finite number".to_owned(),
        };
        let found = if is_integer { value.to_string() } else { float(number) };
        Some(Finding::new(path.clone(), format!("`{path}` must be {wanted}, found {found}"), help))
    }

    /// Returns the first of several alternatives (`anyOf`), whether the others are null or not.
    /// Follows `$ref`.
    fn target(self) -> &'s Json {
        let node = self.follow(self.own);
        alternatives(node).first().map_or(node, |first| self.follow(first))
    }

    fn follow(self, node: &'s Json) -> &'s Json {
        let pointer = node.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'));
        pointer.and_then(|pointer| self.all.pointer(pointer)).unwrap_or(node)
    }

    /// Returns the names that are allowed here instead of the first alternative.
    fn other_names(self) -> Vec<&'s str> {
        let others = alternatives(self.follow(self.own)).iter().skip(1);
        others.flat_map(|node| choices(self.follow(node))).collect()
    }

    /// Returns the table that is allowed here instead of the first alternative.
    pub(super) fn other_table(self) -> Option<Self> {
        self.other("object").map(|node| self.at(node))
    }

    /// Returns the alternative to the first one that has the type `kind`.
    fn other(self, kind: &str) -> Option<&'s Json> {
        let others = alternatives(self.follow(self.own)).iter().skip(1);
        others.map(|node| self.follow(node)).find(|node| type_name(node) == kind)
    }

    /// Returns the variants of a table with a `kind`.
    fn variants(self) -> impl Iterator<Item = &'s Json> {
        let variants = self.target().get("oneOf").and_then(Json::as_array);
        variants.into_iter().flatten().filter(|variant| kind_of(variant).is_some())
    }

    /// Returns the parts of the schema that list the keys of a table.
    fn parts(self) -> impl Iterator<Item = &'s Json> {
        let variants =
            self.variants().filter(move |own| self.variant.is_none_or(|chosen| std::ptr::eq(chosen, *own)));
        std::iter::once(self.target()).chain(variants)
    }

    fn at(self, own: &'s Json) -> Self {
        let help = own.get(HELP).and_then(Json::as_str).or(self.help);
        Node { all: self.all, own, variant: None, help }
    }
}

fn alternatives(node: &Json) -> &[Json] {
    node.get("anyOf").and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the names that an enum allows. `enum` lists the undocumented names, and `oneOf` contains
/// the documented ones.
fn choices(node: &Json) -> Vec<&str> {
    let variants = node.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let documented = variants.flat_map(|variant| match variant.get("const").and_then(Json::as_str) {
        Some(name) => vec![name],
        None => strings(variant.get("enum")),
    });
    documented.chain(strings(node.get("enum"))).collect()
}

/// Returns the type, also of an optional value (`["number", "null"]`).
fn type_name(node: &Json) -> &str {
    let kind = node.get("type");
    kind.and_then(Json::as_str).or_else(|| strings(kind).first().copied()).unwrap_or_default()
}

fn bounds(node: &Json) -> Bounds {
    // TOML integers end at `i64::MAX`.
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
