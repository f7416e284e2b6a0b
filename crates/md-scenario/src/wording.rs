//! Words of error messages: values as found, lists of names, and the name that was probably meant.

use toml::Value;

/// Describes a value as found: its type and, if short, the value itself.
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

/// Formats a float as TOML writes it: `1.0`, not `1`.
pub(super) fn float(number: f64) -> String {
    format!("{number:?}").to_lowercase()
}

/// Returns the candidate that the user most likely meant, if one is similar enough.
///
/// ```
/// use md_scenario::nearest;
///
/// assert_eq!(nearest("cutof", ["shift", "cutoff"]), Some("cutoff"));
/// assert_eq!(nearest("verlet", ["clusters", "cells"]), None);
/// ```
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // A third of the length is the usual allowance (as in rustc), and a single slip is allowed even
    // in a short name. At least half of the name must be right, because any other letter is one
    // slip away from a name of one letter.
    let length = name.chars().count();
    let allowance = (length / 3).max(1).min(length / 2);
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Formats names as a list in backticks.
///
/// ```
/// assert_eq!(md_scenario::listed(["x", "y"]), "`x`, `y`");
/// ```
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_different_word_is_not() {
        assert_eq!(nearest("cutof", ["shift", "cutoff"]), Some("cutoff"));
        assert_eq!(nearest("rma_fence", ["rma-fence", "p2p"]), Some("rma-fence"));
        assert_eq!(nearest("FCC", ["bcc", "fcc"]), Some("fcc"));
        assert_eq!(nearest("C", ["A", "B"]), None);
        assert_eq!(nearest("verlet", ["clusters", "cells"]), None);
    }
}
