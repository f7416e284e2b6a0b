//! The text that an error comes from, the file or an override, and the place of a key in it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::excerpt::Excerpt;
use super::finding::Part;
use super::overrides::Override;
use super::path::{KeyPath, Segment};
use super::text::ScenarioSource;

/// Prefix of an override where it is shown like the text of a file.
const SET: &str = "--set ";

/// Origin of an error: a part of the file or of an override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The override with its prefix; `None` for the file.
    set: Option<String>,
    /// Byte range of the part at fault.
    span: Range<usize>,
}

impl Place {
    /// Creates the place of a part of the file.
    pub(super) fn file(span: Range<usize>) -> Self {
        Self { set: None, span }
    }

    /// Creates the place of a part of an override.
    pub(super) fn set(text: &str, span: Range<usize>) -> Self {
        let span = span.start + SET.len()..span.end + SET.len();
        Self { set: Some(format!("{SET}{text}")), span }
    }

    /// Returns the offset in the text, which gives the order of errors.
    pub(super) fn offset(&self) -> usize {
        self.span.start
    }

    /// Returns the text as it is shown, and the place of the part at fault in it.
    pub(super) fn excerpt(&self, source: &ScenarioSource) -> (Excerpt, Range<usize>) {
        match &self.set {
            Some(text) => Excerpt::new("command line", text, self.span.clone()),
            None => Excerpt::new(&source.name, &source.text, self.span.clone()),
        }
    }
}

/// The parsed file and overrides, in which keys can be looked up.
pub(super) struct Places<'s> {
    file: Option<(Range<usize>, DeValue<'s>)>,
    text: &'s str,
    overrides: Vec<(&'s str, Override<'s>)>,
}

impl<'s> Places<'s> {
    /// Parses the file and the overrides of a scenario.
    pub(super) fn new(source: &'s ScenarioSource) -> Self {
        let file = DeTable::parse(&source.text).ok();
        let file = file.map(|document| (document.span(), DeValue::Table(document.into_inner())));
        let parsed =
            source.overrides.iter().filter_map(|text| Some((text.as_str(), Override::parse(text).ok()?)));
        Self { file, text: &source.text, overrides: parsed.collect() }
    }

    /// Returns the origin of the keys at fault. It is the override that set one of them, else the
    /// file, else the override that set something below them or made the table in which they are
    /// missing, else the nearest table of the file around them.
    pub(super) fn find(&self, paths: &[KeyPath], part: Part) -> Option<Place> {
        self.setting(paths, part)
            .or_else(|| paths.iter().find_map(|path| self.exact(path, part)).map(Place::file))
            .or_else(|| paths.iter().find_map(|path| self.creation(path, part)))
            .or_else(|| paths.iter().find_map(|path| self.parent(path)).map(Place::file))
    }

    /// Returns the last override that sets one of the paths or a table around it.
    fn setting(&self, paths: &[KeyPath], part: Part) -> Option<Place> {
        self.last_override(|path| paths.iter().any(|wanted| path.contains(wanted)), part)
    }

    /// Returns the last override that set something below `path`. If `path` is missing, this
    /// includes the override that made the table around it. If the default of `path` is at fault,
    /// an override of another key in the same table does not matter.
    fn creation(&self, path: &KeyPath, part: Part) -> Option<Place> {
        let around = path.truncated(path.segments().len().saturating_sub(1));
        let in_file = around.segments().is_empty() || self.exact(&around, Part::Value).is_some();
        let is_missing = part == Part::Absence && !in_file;
        self.last_override(|set| path.contains(set) || (is_missing && around.contains(set)), Part::Key)
    }

    fn last_override(&self, matches: impl Fn(&KeyPath) -> bool, part: Part) -> Option<Place> {
        let (text, found) = self.overrides.iter().rev().find(|(_, parsed)| matches(&parsed.path))?;
        let span = match part {
            Part::Key | Part::Absence => &found.key,
            Part::Value => &found.value,
        };
        Some(Place::set(text, span.clone()))
    }

    /// Returns the byte range of a key or its value, or `None` if the file does not have it.
    fn exact(&self, path: &KeyPath, part: Part) -> Option<Range<usize>> {
        let (whole, document) = self.file.as_ref()?;
        let (mut key_span, mut value_span, mut value) = (None, whole.clone(), document);
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
        Some(first_line(self.text, span))
    }

    /// Returns the byte range of the nearest table above `path` that the file has.
    fn parent(&self, path: &KeyPath) -> Option<Range<usize>> {
        let depths = (1..path.segments().len()).rev();
        depths.into_iter().find_map(|depth| self.exact(&path.truncated(depth), Part::Value))
    }
}

/// Returns the first line of `span`, which is enough to identify an array over several lines.
fn first_line(text: &str, span: Range<usize>) -> Range<usize> {
    let length = text.get(span.clone()).and_then(|content| content.find('\n'));
    span.start..length.map_or(span.end, |length| span.start + length)
}
