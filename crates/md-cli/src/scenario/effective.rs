//! The effective scenario as TOML that can be run again.

use toml_edit::{DocumentMut, Item, Value};

use super::model::Scenario;

/// Keys that users write into one line.
const MOST_INLINE: usize = 4;

/// The scenario with all defaults filled in. Floats read back exactly.
pub fn effective_toml(scenario: &Scenario) -> String {
    match toml_edit::ser::to_document(scenario) {
        Ok(document) => laid_out(document),
        // Only integers beyond TOML's range get here, and those cannot come from a TOML file.
        Err(error) => format!("# the scenario cannot be written as TOML: {error}\n"),
    }
}

/// The serialiser makes everything below the top inline; users write one header per table.
fn laid_out(mut document: DocumentMut) -> String {
    for (_, item) in document.as_table_mut().iter_mut() {
        expand(item);
        if let Item::Table(table) = item {
            for (_, below) in table.iter_mut() {
                let is_long = below.as_inline_table().is_some_and(|table| table.len() > MOST_INLINE);
                if is_long || below.as_array().is_some_and(|array| array.iter().any(Value::is_inline_table)) {
                    expand(below);
                }
            }
        }
    }
    document.to_string().trim_start().to_owned()
}

/// `key = {...}` becomes `[key]`, `key = [{...}]` becomes `[[key]]`; anything else stays.
fn expand(item: &mut Item) {
    *item = match std::mem::take(item).into_table() {
        Ok(table) => Item::Table(table),
        Err(other) => other.into_array_of_tables().map_or_else(|same| same, Item::ArrayOfTables),
    };
}
