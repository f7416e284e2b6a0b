//! The shape of a scenario: known keys, types, allowed names, required keys; and ranges of numbers.

use toml::{Table, Value};

use super::finding::Finding;
use super::path::KeyPath;
use super::schema::{Kind, ModelSchema, Node};
use super::wording::{found, listed, nearest};

/// Faults that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// The shape, except for missing keys, which may still come from an override.
    Partial,
    /// The shape.
    Shape,
    /// Ranges of numbers, in a tree of the right shape.
    Ranges,
}

/// Returns everything in `tree` that does not fit the schema.
pub(super) fn check(tree: &Table, schema: &ModelSchema, pass: Pass) -> Vec<Finding> {
    let mut walk = Walk { tree, root: schema.root(), pass, findings: Vec::new() };
    walk.table(&KeyPath::default(), tree, schema.root());
    walk.findings
}

/// Key of the length of a run. It also follows from the stages.
const STEPS: &str = "simulation.steps";

/// Fills in the `kind` of tables that leave it to the default, and the length of a run that follows
/// from its stages.
pub(super) fn fill_in(tree: &mut Table, schema: &ModelSchema) {
    fill_kinds(tree, schema.root());
    let stages = tree.get("stage").and_then(Value::as_array);
    let steps = |stage: &Value| stage.get("steps").and_then(Value::as_integer).unwrap_or(0);
    let total = stages.map(|stages| stages.iter().map(steps).fold(0_i64, i64::saturating_add));
    if let (Some(total), Some(simulation)) = (total, tree.get_mut("simulation").and_then(Value::as_table_mut))
    {
        simulation.entry("steps").or_insert_with(|| total.into());
    }
}

fn fill_kinds(table: &mut Table, node: Node<'_>) {
    for (key, value) in table.iter_mut() {
        let Some(below) = node.key(key) else { continue };
        match value {
            Value::Table(table) => {
                if let Some(kind) = below.default_kind() {
                    table.entry("kind").or_insert_with(|| kind.into());
                }
                fill_kinds(table, below);
            }
            Value::Array(entries) => {
                let tables = entries.iter_mut().filter_map(Value::as_table_mut);
                tables.zip(std::iter::repeat(below.entry())).for_each(|(table, entry)| {
                    entry.into_iter().for_each(|entry| fill_kinds(table, entry));
                });
            }
            _ => (),
        }
    }
}

struct Walk<'s> {
    tree: &'s Table,
    root: Node<'s>,
    pass: Pass,
    findings: Vec<Finding>,
}

impl Walk<'_> {
    fn table(&mut self, path: &KeyPath, table: &Table, node: Node<'_>) {
        let node = node.of_kind_in(table);
        for (key, value) in table {
            match node.key(key) {
                Some(below) => self.value(&path.key(key), value, below),
                None => self.findings.push(self.unknown_key(path, key, node)),
            }
        }
        if self.pass == Pass::Shape {
            let is_absent = |key: &&str| !table.contains_key(*key) && !self.follows(&path.key(key));
            let absent: Vec<&str> = node.required().into_iter().filter(is_absent).collect();
            self.findings.extend(absent.into_iter().map(|key| missing_key(path, key, node)));
        }
    }

    /// Returns whether a missing key follows from others, as the length of a run follows from its
    /// stages.
    fn follows(&self, path: &KeyPath) -> bool {
        let stages = self.tree.get("stage");
        let is_empty = stages.and_then(Value::as_array).is_some_and(Vec::is_empty);
        path.to_string() == STEPS && stages.is_some() && !is_empty
    }

    fn value(&mut self, path: &KeyPath, value: &Value, node: Node<'_>) {
        if self.pass == Pass::Ranges {
            self.findings.extend(node.out_of_range(path, value));
        }
        let kind = node.kind();
        match (&kind, value) {
            (Kind::Table | Kind::TableOr(_), Value::Table(table)) => self.table(path, table, node),
            (Kind::NumberOrTable, Value::Table(table)) => {
                self.table(path, table, node.other_table().unwrap_or(node));
            }
            (Kind::Array(length), Value::Array(entries)) if length.is_none_or(|n| n == entries.len()) => {
                self.entries(path, entries, node);
            }
            (Kind::ChoiceOrArray(_), Value::Array(entries)) => self.entries(path, entries, node),
            (Kind::Choice(names) | Kind::ChoiceOrArray(names), Value::String(name))
                if !names.contains(&name.as_str()) =>
            {
                self.findings.push(unknown_name(path, name, names));
            }
            (
                Kind::NumberOr(names) | Kind::IntegerOr(_, names) | Kind::TableOr(names),
                Value::String(name),
            ) if !names.contains(&name.as_str()) => {
                self.findings.push(wrong_type(path, &kind, value, node));
            }
            (
                Kind::Choice(_)
                | Kind::ChoiceOrArray(_)
                | Kind::Text
                | Kind::NumberOr(_)
                | Kind::IntegerOr(..)
                | Kind::TableOr(_),
                Value::String(_),
            )
            | (Kind::Number | Kind::NumberOr(_) | Kind::NumberOrTable, Value::Float(_) | Value::Integer(_))
            | (Kind::Boolean, Value::Boolean(_)) => {}
            (Kind::Integer(bounds) | Kind::IntegerOr(bounds, _), Value::Integer(number))
                if u64::try_from(*number).is_ok_and(|n| n <= bounds.fits) => {}
            _ => self.findings.push(wrong_type(path, &kind, value, node)),
        }
    }

    fn entries(&mut self, path: &KeyPath, entries: &[Value], node: Node<'_>) {
        if let Some(below) = node.entry() {
            for (index, entry) in entries.iter().enumerate() {
                self.value(&path.index(index), entry, below);
            }
        }
    }

    fn unknown_key(&self, path: &KeyPath, key: &str, node: Node<'_>) -> Finding {
        let keys = node.keys();
        let mut message = format!("unknown key `{key}` {}", path.inside());
        let help = if let Some([own, other]) = node.other_kind_with(key) {
            message.push_str(&format!(" of kind `{own}`"));
            let elsewhere = self.table_with(key).map_or(String::new(), |owner| format!("[{owner}] and of "));
            format!("`{key}` is a key of {elsewhere}kind `{other}`; valid keys: {}", listed(keys))
        } else if let Some(command) = command_for(key).filter(|_| path.segments().is_empty()) {
            format!("scenarios with [{key}] are for `md-cli {command}`; valid keys: {}", listed(keys))
        } else if let Some(near) = nearest(key, keys.iter().copied()) {
            format!("did you mean `{near}`?")
        } else if let Some(owner) = self.table_with(key) {
            format!("`{key}` is a key of [{owner}]")
        } else {
            format!("valid keys: {}", listed(keys))
        };
        Finding::new(path.key(key), message, help).at_key().label("unknown key")
    }

    /// Returns the table at the top level that has `key`, for keys that were put into the wrong
    /// table. Tables with their actual `kind` come first, then tables that are missing, with any
    /// `kind`.
    fn table_with(&self, key: &str) -> Option<&str> {
        let nothing = Table::new();
        let has_key = |name: &str, absent: Option<&Table>| {
            let found = self.tree.get(name).and_then(Value::as_table).or(absent);
            let table = self.root.key(name).map(|node| node.entry().unwrap_or(node));
            let table = table.map(|table| found.map_or(table, |found| table.of_kind_in(found)));
            table.is_some_and(|table| table.key(key).is_some())
        };
        let with = |absent: Option<&Table>| self.root.keys().into_iter().find(|name| has_key(name, absent));
        with(Some(&nothing)).or_else(|| with(None))
    }
}

/// Returns the command that runs scenarios with a table at the top level that other kinds lack.
fn command_for(table: &str) -> Option<&'static str> {
    match table {
        "simulation" | "system" | "species" | "interaction" => Some("run"),
        "lbm" => Some("lbm"),
        "stencil" => Some("stencil"),
        _ => None,
    }
}

fn missing_key(path: &KeyPath, key: &str, node: Node<'_>) -> Finding {
    let below = node.key(key);
    let meaning = below.map_or("", Node::description);
    let message = match below.map(Node::kind) {
        Some(Kind::Table) if path.segments().is_empty() => format!("missing table [{key}]"),
        _ => format!("missing key `{key}` {}", path.inside()),
    };
    let help = match below.map(Node::kind) {
        Some(Kind::Choice(names) | Kind::ChoiceOrArray(names)) => {
            format!("`{key}`: {meaning} Allowed: {}", listed(names))
        }
        Some(kind) => format!("`{key}`, {}: {meaning}", expected(&kind)),
        None => meaning.to_owned(),
    };
    Finding::new(path.key(key), message, help).at_absence().label(format!("`{key}` is missing here"))
}

fn unknown_name(path: &KeyPath, name: &str, names: &[&str]) -> Finding {
    let allowed = listed(names.iter().copied());
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? Allowed: {allowed}"),
        None => format!("allowed: {allowed}"),
    };
    Finding::new(path.clone(), format!("`{path}` cannot be {name:?}"), help).label("unknown name")
}

fn wrong_type(path: &KeyPath, kind: &Kind<'_>, value: &Value, node: Node<'_>) -> Finding {
    // An integer outside of TOML's range arrives from `--set` as a string.
    let large =
        value.as_str().filter(|text| text.parse::<u128>().is_ok_and(|number| i64::try_from(number).is_err()));
    let expected = match (kind, value) {
        (Kind::Integer(bounds) | Kind::IntegerOr(bounds, _), _) if large.is_some() => {
            format!("an integer up to {}", bounds.largest)
        }
        (Kind::Integer(bounds), Value::Integer(1..)) => format!("an integer up to {}", bounds.largest),
        _ => expected(kind),
    };
    // The override looks like a value that is not a string.
    let begins_a_value =
        |text: &&str| text.starts_with(|first: char| first.is_ascii_digit() || "[{+-".contains(first));
    let is_no_toml = |text: &&str| begins_a_value(text) && text.parse::<Value>().is_err();
    let unread = value.as_str().filter(is_no_toml);
    let unread = unread.map(|text| format!("{text}, which is no TOML value or too large for one"));
    let found = large.map(str::to_owned).or(unread).unwrap_or_else(|| found(value));
    let message = format!("`{path}` must be {expected}, found {found}");
    let help = match kind {
        Kind::Table | Kind::TableOr(_) => format!("keys of `{path}`: {}", listed(node.keys())),
        Kind::Choice(names) | Kind::ChoiceOrArray(names) => {
            format!("allowed: {}", listed(names.iter().copied()))
        }
        Kind::Array(_)
        | Kind::Text
        | Kind::Number
        | Kind::NumberOr(_)
        | Kind::NumberOrTable
        | Kind::Integer(_)
        | Kind::IntegerOr(..)
        | Kind::Boolean => match node.description() {
            "" => format!("give {expected}"),
            description => format!("`{path}`: {description}"),
        },
    };
    Finding::new(path.clone(), message, help).label(format!("expected {expected}"))
}

fn expected(kind: &Kind<'_>) -> String {
    match kind {
        Kind::Table => "a table".to_owned(),
        Kind::TableOr(names) => format!("a table or {names:?}").replace(['[', ']'], ""),
        Kind::Array(None) => "an array".to_owned(),
        Kind::Array(Some(length)) => format!("an array of {length}"),
        Kind::Choice(_) => "a name".to_owned(),
        Kind::ChoiceOrArray(_) => "a name or an array of names".to_owned(),
        Kind::Text => "a string".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::NumberOr(names) => format!("a number or {names:?}").replace(['[', ']'], ""),
        Kind::NumberOrTable => "a number or a table".to_owned(),
        Kind::Integer(bounds) => format!("an integer of at least {}", bounds.smallest),
        Kind::IntegerOr(bounds, names) => {
            format!("an integer of at least {} or {names:?}", bounds.smallest).replace(['[', ']'], "")
        }
        Kind::Boolean => "true or false".to_owned(),
    }
}
