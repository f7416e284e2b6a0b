//! Checks that several tables share.

use std::fmt::Display;

use serde::Serialize;

use crate::scenario::describe::{float, name_of};
use crate::scenario::finding::{Checked, Finding};
use crate::scenario::suggest::listed;

/// Refuses anything but a finite number above 0.
pub(super) fn positive(path: &str, value: f64, help: &str) -> Checked {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    let message = format!("`{path}` must be a finite number above 0, found {}", float(value));
    Err(Finding::new(path, message, help))
}

/// Refuses anything but a finite number of at least 0.
pub(super) fn not_negative(path: &str, value: f64, help: &str) -> Checked {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    let message = format!("`{path}` must be a finite number of at least 0, found {}", float(value));
    Err(Finding::new(path, message, help))
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

/// Refuses a name that a later version brings.
pub(super) fn available<T: Serialize + PartialEq>(path: &str, value: &T, now: &[T]) -> Checked {
    if now.contains(value) {
        return Ok(());
    }
    let names: Vec<String> = now.iter().map(name_of).collect();
    let help = format!("available: {}", listed(names.iter().map(String::as_str)));
    Err(not_yet(path, &format!("{:?}", name_of(value)), &help))
}

/// A key or value that a later version brings.
pub(super) fn not_yet(path: &str, value: &str, help: &str) -> Finding {
    Finding::new(path, format!("`{path} = {value}` is not available yet"), help).label("not available yet")
}
