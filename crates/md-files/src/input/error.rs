//! Errors of particle files, with file, line, faulty text and expected content.

use std::fmt;

use md_core::ImageCounts;
use md_scenario::failure::{Failure, RUN_FAILED, Scope};

use crate::text_file::CUT;

/// Error of a particle file that was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct InputError {
    /// Name of the file as given.
    pub file: String,
    /// Line, from 1, or `None` if the fault does not concern a line.
    pub line: Option<usize>,
    /// Fault of the file.
    #[source]
    pub problem: Problem,
}

impl fmt::Display for InputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.file, self.problem),
            None => write!(formatter, "{}: {}", self.file, self.problem),
        }
    }
}

impl Failure for InputError {}

/// A particle file for which there is not enough memory.
#[derive(Debug, thiserror::Error)]
#[error("out of memory: there is no room for the particles of `{path}` ({size})")]
pub struct NoRoom {
    /// Path of the file.
    pub path: String,
    /// Size of the file, in words.
    pub size: String,
}

impl Failure for NoRoom {
    fn exit_code(&self) -> u8 {
        RUN_FAILED
    }

    fn scope(&self) -> Scope {
        Scope::ThisRank
    }
}

/// Fault of a particle file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Problem {
    #[error("the file changed while it was read: {before} at first, then {after}")]
    Changed { before: String, after: String },
    #[error("the file has {promised} {what}, but {found} of them were kept")]
    Lost { what: &'static str, promised: u64, found: u64 },
    #[error("the file is empty")]
    Empty,
    #[error("`{text}` is not {expected} ({place})")]
    Malformed { text: String, expected: &'static str, place: &'static str },
    #[error("`{text}` is not finite ({place})")]
    NotFinite { text: String, place: &'static str },
    #[error("found {found} columns in `{text}`, expected {expected}")]
    Columns { text: String, found: usize, expected: String },
    #[error("cannot make sense of `{text}`: {expected}")]
    Unexpected { text: String, expected: String },
    #[error("the file ends too early: {promised} {what} promised, {found} found")]
    Truncated { what: &'static str, promised: u64, found: u64 },
    #[error(
        "the file ends within frame {number}: {promised} particles promised, {found} found; `system.file.frame = {whole}` is \
         the last whole one"
    )]
    CutFrame { number: u64, promised: u64, found: u64, whole: u64 },
    #[error(
        "it is cut: it has {size} bytes, but {what} ends at byte {end}{}",
        if *whole > 0 { format!("; `system.file.frame = {whole}` is the last whole one") } else { String::new() }
    )]
    CutAt { size: u64, what: String, end: u64, whole: u64 },
    #[error("{CUT}{}", if *whole > 0 { format!("; `system.file.frame = {whole}` is the last whole one") } else { String::new() })]
    CutGzip { whole: u64 },
    #[error("`system.file.frame` is {number}, but the frames are 1 to {count}")]
    NoFrame { number: u64, count: u64 },
    #[error("more {what} than the {promised} promised, the first one too many is `{text}`")]
    TooMany { what: &'static str, promised: u64, text: String },
    #[error("{what} is missing: {expected}")]
    Missing { what: String, expected: String },
    #[error("{what} is given twice")]
    Twice { what: String },
    #[error("{what} is not supported: {supported}")]
    Unsupported { what: String, supported: String },
    #[error("the mass of type {kind} must be above 0, found `{text}`")]
    Mass { kind: u32, text: String },
    #[error("type {kind} does not exist: the types are 1 to {largest}")]
    TypeRange { kind: i64, largest: u32 },
    #[error("id {id} cannot be: ids start at 1")]
    IdRange { id: i64 },
    #[error("the image count {count} cannot be: counts are from {} to {}", ImageCounts::RANGE.start(), ImageCounts::RANGE.end())]
    ImageRange { count: i64 },
    #[error("id {id} is given twice{}", first.map_or_else(String::new, |line| format!(", first in line {line}")))]
    DuplicateId { id: u64, first: Option<usize> },
    #[error("a velocity for id {id}, but there is no such atom")]
    UnknownId { id: u64 },
    #[error("there is no species `{name}`: {expected}")]
    UnknownSpecies { name: String, expected: String },
    #[error("the species is `{name}`, type {expected} of the scenario, but the type column says {kind}")]
    Contradiction { name: String, expected: u32, kind: u32 },
    #[error(
        "the file ends without a newline, so `{field}` may be cut: add one if the file is complete{otherwise}"
    )]
    NoNewline { field: String, otherwise: String },
    #[error(
        "the mass of `{name}` is {mass}, but {first} in line {line}: all particles of a species have the same mass"
    )]
    Masses { name: String, mass: f64, first: f64, line: usize },
    #[error("its pair coefficients cannot be used: {reason}")]
    Coefficients { reason: String },
    #[error("particle {id}: {problem}")]
    Particle { id: u64, problem: String },
    #[error("type {kind} is labelled `{name}`, but the scenario has `{name}` as its species {expected}")]
    Label { name: String, kind: u32, expected: u32 },
    #[error("{0}")]
    Told(String),
    #[error("the box must have a positive edge along {axis}, found {length:?}")]
    Box { axis: char, length: f64 },
}

/// Position of a reader in a file, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'t> {
    /// Name of the file.
    pub(super) file: &'t str,
    /// Line, from 1.
    pub(super) line: Option<usize>,
}

impl Position<'_> {
    /// Returns an error at this position.
    pub(super) fn error(self, problem: Problem) -> InputError {
        InputError { file: self.file.to_owned(), line: self.line, problem }
    }
}
