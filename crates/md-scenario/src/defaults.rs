//! Defaults of keys.

/// Returns an integer.
pub(crate) fn number<const NUMBER: u64>() -> u64 {
    NUMBER
}

/// Returns 1, the unit of most quantities.
pub(crate) fn one() -> f64 {
    1.0
}
