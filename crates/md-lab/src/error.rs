//! Error of encoding or decoding the content of a file.

use std::fmt;

/// Data that does not fit a file's format.
///
/// ```
/// use md_lab::EncodeError;
/// use md_lab::sweep::{PARTICLES, read_sweep};
///
/// let error: Option<EncodeError> = read_sweep("another,table\n", PARTICLES).err();
/// let text = error.map(|error| error.to_string()).unwrap_or_default();
/// assert!(text.starts_with("line 1: the columns are not"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(String);

impl EncodeError {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}
