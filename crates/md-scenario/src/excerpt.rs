//! The part of a text that an error shows. It is safe for a terminal, and long lines are shortened
//! around the part at fault.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use crate::printable::escaped;

/// Largest length in bytes of a line that is shown whole.
const LONGEST: usize = 300;
/// Bytes of a longer line that are shown before the part at fault, and also of that part itself and
/// after it.
const AROUND: usize = 60;

/// A text and its name, as they are shown.
#[derive(Debug)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    /// Column of the part at fault in the original text, from 0, if it differs from the column in
    /// the shown text.
    column: Option<usize>,
}

impl Excerpt {
    /// Creates the excerpt, and returns it with the place of the part at fault in the shown text.
    pub(super) fn new(name: &str, text: &str, span: Range<usize>) -> (Self, Range<usize>) {
        let start = boundary(text, span.start);
        let end = boundary(text, span.end.max(start));
        let line = text[..start].rfind('\n').map_or(0, |index| index + 1);
        let mut shown = String::new();
        let mut place = start..end;
        let mut column = None;
        let mut offset = 0;
        for own in text.split_inclusive('\n') {
            if offset == line {
                let before = shown.len();
                place = push_line(&mut shown, own, start - line..(end - line).min(own.len()));
                if place.start - before != start - line {
                    column = Some(text[line..start].chars().count());
                }
            } else {
                push_line(&mut shown, own, 0..0);
            }
            offset += own.len();
        }
        // The part at fault is at the end of the text.
        if offset == line {
            place = shown.len()..shown.len();
        }
        (Self { name: escaped(name), text: shown, column }, place)
    }
}

/// Appends a line to `shown`, and returns the place of the part at fault in `shown`.
fn push_line(shown: &mut String, line: &str, part: Range<usize>) -> Range<usize> {
    let content = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    let ending = &line[content.len()..];
    let part = part.start.min(content.len())..part.end.min(content.len());
    let (mut first, mut last, mut end) = (0, content.len(), part.end);
    let is_long_number = part.len() > AROUND && content[part.clone()].bytes().all(is_of_number);
    if content.len() > LONGEST || is_long_number {
        first = boundary(content, part.start.saturating_sub(AROUND));
        end = boundary(content, part.end.min(part.start + AROUND));
        last = if is_long_number { end } else { boundary(content, (end + AROUND).min(content.len())) };
    }
    shown.push_str(if first > 0 { "..." } else { "" });
    shown.push_str(&escaped(&content[first..part.start]));
    let start = shown.len();
    shown.push_str(&escaped(&content[part.start..end]));
    let place = start..shown.len();
    shown.push_str(&escaped(&content[end..last]));
    shown.push_str(if last < content.len() { "..." } else { "" });
    shown.push_str(ending);
    place
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-._eE".contains(&byte)
}

/// Returns the nearest character boundary at or before `index`.
fn boundary(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0)
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.text.read_span(span, before, after)?;
        // miette asks without context only for the head line, which contains the column.
        let column = self.column.filter(|_| before + after == 0).unwrap_or(found.column());
        let (name, data, place) = (self.name.clone(), found.data(), *found.span());
        let contents =
            MietteSpanContents::new_named(name, data, place, found.line(), column, found.line_count());
        Ok(Box::new(contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, part: &str) -> (String, String, Option<usize>) {
        let start = text.find(part).unwrap();
        let (excerpt, place) = Excerpt::new("a\u{7}.toml", text, start..start + part.len());
        assert_eq!(excerpt.name, "a\\u0007.toml");
        (excerpt.text[place].to_owned(), excerpt.text, excerpt.column)
    }

    #[test]
    fn short_lines_stay_and_the_place_moves_with_escapes() {
        assert_eq!(marked("a = 1\r\nb = 2\n", "2"), ("2".to_owned(), "a = 1\r\nb = 2\n".to_owned(), None));
        let (part, text, column) = marked("\u{1b}[2J\na = \"\u{7}\" # b", "b");
        assert_eq!((part.as_str(), column), ("b", Some(10)));
        assert_eq!(text, "\\u001b[2J\na = \"\\u0007\" # b");
        assert_eq!(
            marked("a = 1\r", "1").1,
            "a = 1\\u000d",
            "no line's end, but a way to write over the line"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}\n{}=wrong{}", "x".repeat(1000), "ü".repeat(100_000), "z".repeat(1000));
        let (part, shown, column) = marked(&text, "wrong");
        assert_eq!((part.as_str(), column), ("wrong", Some(100_001)));
        assert!(shown.lines().all(|line| line.len() < LONGEST), "{shown}");
        let long = marked(&text, &text[1001..]).0;
        assert!(long.len() <= AROUND, "{long}");
    }

    #[test]
    fn a_place_at_the_end_is_one() {
        for text in ["", "a\n", "a = \n\n"] {
            let (excerpt, place) = Excerpt::new("a", text, text.len()..text.len());
            assert_eq!((excerpt.text.as_str(), place), (text, text.len()..text.len()));
        }
    }
}
