//! Faults of a scenario before their place in the text is determined, and checks that several
//! tables share.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::path::{KeyPath, Segment};
use super::wording::float;

/// The part of a `key = value` that an error points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The key itself.
    Key,
    /// Its value.
    Value,
    /// The table that lacks the key.
    Absence,
}

/// A fault and the keys it concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The keys at fault, the main one first.
    pub(super) paths: Vec<KeyPath>,
    /// The part of the text that the error points at.
    pub(super) part: Part,
    /// Description of the fault.
    pub(super) message: String,
    /// A few words that are shown beside the mark in the text.
    pub(super) label: Option<String>,
    /// Hint for the correction.
    pub(super) help: String,
}

impl Finding {
    /// Creates a fault of the value at `path`.
    pub(super) fn new(path: impl Into<KeyPath>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            paths: vec![path.into()],
            part: Part::Value,
            message: message.into(),
            label: None,
            help: help.into(),
        }
    }

    /// Makes the error point at the key instead of its value.
    pub(super) fn at_key(mut self) -> Self {
        self.part = Part::Key;
        self
    }

    /// Makes the error point at the text that created the table in which the key is missing.
    pub(super) fn at_absence(mut self) -> Self {
        self.part = Part::Absence;
        self
    }

    /// Sets the few words that are shown beside the mark in the text.
    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds another key that takes part. If an override set that key, the error shows the override.
    pub(super) fn or_at(mut self, path: impl Into<KeyPath>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Moves a finding about `[output]` to the same key in another table, given by its prefix, such
    /// as `stage[1].`.
    pub(super) fn within(mut self, table: &str) -> Self {
        let is_output =
            |path: &KeyPath| matches!(path.segments(), [Segment::Key(key), ..] if key == "output");
        for path in self.paths.iter_mut().filter(|path| is_output(path)) {
            *path = format!("{table}{path}").as_str().into();
        }
        self.message = self.message.replace("`output.", &format!("`{table}output."));
        self
    }
}

/// Result of a check.
pub(super) type Checked = Result<(), Finding>;

/// Refuses a value that is not a finite number above 0.
pub(super) fn positive(path: &str, value: f64, help: &str) -> Checked {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    let message = format!("`{path}` must be a finite number above 0, found {}", float(value));
    Err(Finding::new(path, message, help))
}

/// Refuses a value that is not a finite number of at least 0.
pub(super) fn not_negative(path: &str, value: f64, help: &str) -> Checked {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    let message = format!("`{path}` must be a finite number of at least 0, found {}", float(value));
    Err(Finding::new(path, message, help))
}

/// Refuses a value outside of `range`, except 0, because its powers and products would overflow or
/// underflow.
pub(super) fn within(path: &str, value: f64, range: &RangeInclusive<f64>) -> Checked {
    if value == 0.0 || range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    let message = format!(
        "`{path}` is {}, but must be from {least:e} to {most:e}, so that its powers and products are numbers",
        float(value)
    );
    Err(Finding::new(path, message, "units in which it is not far from 1"))
}

/// Refuses 0.
pub(super) fn at_least_one<T: Copy + Display + Default + PartialEq>(
    path: &str,
    value: T,
    help: &str,
) -> Checked {
    if value != T::default() {
        return Ok(());
    }
    Err(Finding::new(path, format!("`{path}` must be at least 1, found {value}"), help))
}

/// Refuses an output directory without a name.
pub(super) fn check_directory(directory: &str) -> Checked {
    if directory.trim().is_empty() {
        let help = "give the folder of all files, for example \"out\"";
        return Err(Finding::new("output.directory", "`output.directory` is empty", help));
    }
    Ok(())
}
