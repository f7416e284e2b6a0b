//! The text an error comes from, the file or an override, and the place of a key in it.

use std::ops::Range;

use miette::NamedSource;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::Part;
use super::overrides::Override;
use super::path::{KeyPath, Segment};
use super::source::ScenarioSource;

/// What stands before an override where a file's text would stand.
const SET: &str = "--set ";

/// The text that caused an error, and the part of it that did.
#[derive(Debug)]
pub(super) struct Origin {
    /// The whole text and its name.
    pub(super) text: NamedSource<String>,
    /// Bytes of the part at fault.
    pub(super) span: Range<usize>,
}

impl Origin {
    /// A part of the file.
    pub(super) fn file(source: &ScenarioSource, span: Range<usize>) -> Self {
        Self { text: NamedSource::new(&source.name, source.text.clone()), span }
    }

    /// A part of an override.
    pub(super) fn set(text: &str, span: Range<usize>) -> Self {
        let shifted = span.start + SET.len()..span.end + SET.len();
        Self { text: NamedSource::new("command line", format!("{SET}{text}")), span: shifted }
    }

    /// Where the keys at fault come from: the override that set one of them, else the file, else the override that
    /// set something below them or made the table they are missing in, else the nearest table of the file around them.
    pub(super) fn find(source: &ScenarioSource, paths: &[KeyPath], part: Part) -> Option<Self> {
        let text = source.text.as_str();
        let in_file = |span| Self::file(source, span);
        setting(source, paths, part)
            .or_else(|| paths.iter().find_map(|path| exact(text, path, part)).map(in_file))
            .or_else(|| paths.iter().find_map(|path| creation(source, path, part)))
            .or_else(|| paths.iter().find_map(|path| parent(text, path)).map(in_file))
    }
}

/// The last override that sets one of the paths, or a table around it.
fn setting(source: &ScenarioSource, paths: &[KeyPath], part: Part) -> Option<Origin> {
    let sets = |path: &KeyPath| paths.iter().any(|wanted| path.contains(wanted));
    last_override(source, sets, part)
}

/// The last override that set something below `path`. Where `path` is missing, also the one that made the table around
/// it; where its default is at fault, an override of another key beside it has nothing to do with that.
fn creation(source: &ScenarioSource, path: &KeyPath, part: Part) -> Option<Origin> {
    let around = path.truncated(path.segments().len().saturating_sub(1));
    let in_file = around.segments().is_empty() || exact(&source.text, &around, Part::Value).is_some();
    let is_missing = part == Part::Absence && !in_file;
    let made = |set: &KeyPath| path.contains(set) || (is_missing && around.contains(set));
    last_override(source, made, Part::Key)
}

fn last_override(source: &ScenarioSource, matches: impl Fn(&KeyPath) -> bool, part: Part) -> Option<Origin> {
    source.overrides.iter().rev().find_map(|text| {
        let parsed = Override::parse(text).ok().filter(|parsed| matches(&parsed.path))?;
        let span = match part {
            Part::Key | Part::Absence => parsed.key,
            Part::Value => parsed.value,
        };
        Some(Origin::set(text, span))
    })
}

/// The bytes of a key or its value; `None` when the text does not have it.
fn exact(text: &str, path: &KeyPath, part: Part) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let (mut key_span, mut value_span) = (None, document.span());
    let document = DeValue::Table(document.into_inner());
    let mut value = &document;
    for segment in path.segments() {
        let (key, below) = match segment {
            Segment::Key(key) => {
                value.as_table()?.get_key_value(key.as_str()).map(|(key, below)| (Some(key), below))?
            }
            Segment::Index(index) => (None, value.as_array()?.get(*index)?),
        };
        (key_span, value_span, value) = (key.map(Spanned::span), below.span(), below.get_ref());
    }
    let span = match part {
        Part::Key | Part::Absence => key_span.unwrap_or(value_span),
        Part::Value => value_span,
    };
    Some(first_line(text, span))
}

/// The bytes of the nearest table above `path` that the text has.
fn parent(text: &str, path: &KeyPath) -> Option<Range<usize>> {
    let depths = (1..path.segments().len()).rev();
    depths.into_iter().find_map(|depth| exact(text, &path.truncated(depth), Part::Value))
}

/// Of an array over several lines the first one is enough to show which is meant.
fn first_line(text: &str, span: Range<usize>) -> Range<usize> {
    let length = text.get(span.clone()).and_then(|content| content.find('\n'));
    span.start..length.map_or(span.end, |length| span.start + length)
}
