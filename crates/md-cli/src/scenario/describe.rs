//! Values in the words of an error message.

use serde::Serialize;
use toml::Value;

/// A value as found: its type and, where short, itself.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string {text:?}"),
        Value::Integer(number) => format!("the integer {number}"),
        Value::Float(number) => format!("the number {}", float(*number)),
        Value::Boolean(truth) => format!("the boolean {truth}"),
        Value::Datetime(moment) => format!("the date {moment}"),
        Value::Array(entries) => format!("an array of {}", entries.len()),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// A float as TOML writes it: `1.0`, not `1`.
pub(super) fn float(number: f64) -> String {
    format!("{number:?}").to_lowercase()
}

/// The name an enum value has in a scenario, e.g. `direct-sum`.
pub fn name_of<T: Serialize>(value: T) -> String {
    match Value::try_from(value) {
        Ok(Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}
