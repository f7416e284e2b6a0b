//! Where a key stands in the text.

use std::ops::Range;

use toml_edit::{Document, Item, Table, TableLike, Value};

use super::finding::Part;
use super::path::{KeyPath, Segment};

/// The bytes of a key or its value; `None` when the text does not have it.
pub(super) fn exact(text: &str, path: &KeyPath, part: Part) -> Option<Range<usize>> {
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
pub(super) fn parent(text: &str, path: &KeyPath) -> Option<Range<usize>> {
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
