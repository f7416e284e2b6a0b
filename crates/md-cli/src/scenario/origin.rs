//! The text an error comes from, the file or an override, and the place of a key in it.

use std::ops::Range;

use miette::NamedSource;
use toml_edit::{Document, Item, Table, TableLike, Value};

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
    let document = Document::parse(text).ok()?;
    let mut place = Place::Item(document.as_item());
    let mut key_span = None;
    for segment in path.segments() {
        (place, key_span) = match segment {
            Segment::Key(key) => {
                let (key, item) = place.table()?.get_key_value(key)?;
                (Place::Item(item), key.span())
            }
            Segment::Index(index) => (place.entry(*index)?, None),
        };
    }
    let span = match part {
        Part::Key | Part::Absence => key_span.or_else(|| place.span()),
        Part::Value => place.span().or(key_span),
    };
    span.map(|span| first_line(text, span))
}

/// The bytes of the nearest table above `path` that the text has.
fn parent(text: &str, path: &KeyPath) -> Option<Range<usize>> {
    let depths = (1..path.segments().len()).rev();
    depths.into_iter().find_map(|depth| exact(text, &path.truncated(depth), Part::Value))
}

/// A table's span covers its content; its first line is enough to show which one is meant.
fn first_line(text: &str, span: Range<usize>) -> Range<usize> {
    let length = text.get(span.clone()).and_then(|content| content.find('\n'));
    span.start..length.map_or(span.end, |length| span.start + length)
}

enum Place<'d> {
    Item(&'d Item),
    Value(&'d Value),
    Table(&'d Table),
}

impl<'d> Place<'d> {
    fn table(&self) -> Option<&'d dyn TableLike> {
        match self {
            Self::Item(item) => item.as_table_like(),
            Self::Value(value) => value.as_inline_table().map(|table| table as &dyn TableLike),
            Self::Table(table) => Some(*table),
        }
    }

    fn entry(&self, index: usize) -> Option<Self> {
        match self {
            Self::Item(Item::ArrayOfTables(tables)) => tables.get(index).map(Self::Table),
            Self::Item(item) => item.as_array()?.get(index).map(Self::Value),
            Self::Value(value) => value.as_array()?.get(index).map(Self::Value),
            Self::Table(_) => None,
        }
    }

    fn span(&self) -> Option<Range<usize>> {
        match self {
            // An array of tables has no text of its own: its first table stands for it.
            Self::Item(Item::ArrayOfTables(tables)) => tables.get(0)?.span(),
            Self::Item(Item::Table(table)) => table_span(table),
            Self::Table(table) => table_span(table),
            Self::Item(item) => item.span(),
            Self::Value(value) => value.span(),
        }
    }
}

/// A table that only its sub-tables or dotted keys make has no span: the first of its keys stands for it.
fn table_span(table: &Table) -> Option<Range<usize>> {
    let first = || table.iter().next().and_then(|(key, _)| table.get_key_value(key));
    table.span().or_else(|| first().and_then(|(key, _)| key.span()))
}
