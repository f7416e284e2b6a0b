//! The comment line: `key=value` entries. Values with spaces are in quotes, or are arrays such as
//! `{1 2 3}`, `[1, 2, 3]` and `[[1, 2], [3, 4]]`.

use crate::input::FrameTime;
use crate::input::error::{InputError, Problem};
use crate::input::fields::{AXES, Line};

/// Entries that have a meaning here.
const KNOWN: [&str; 7] = ["Lattice", "Properties", "pbc", "Origin", "Step", "Time", UNWRAPPED];

/// Entry for unwrapped positions.
const UNWRAPPED: &str = "unwrapped";

/// Entries of the comment line, in order.
#[derive(Debug)]
pub(super) struct Comment<'t>(Vec<(&'t str, &'t str)>);

impl<'t> Comment<'t> {
    /// Parses the line. A word without `=` is an entry without a value. Entries that have a meaning
    /// here must not occur twice.
    pub(super) fn parse(line: Line<'t>) -> Result<Self, InputError> {
        let mut entries = Vec::new();
        let mut rest = line.text;
        while !rest.is_empty() {
            let end = rest.find(|letter: char| letter == '=' || letter.is_whitespace()).unwrap_or(rest.len());
            let (key, after) = rest.split_at(end);
            let (value, after) = match after.strip_prefix('=') {
                Some(after) => value(after).ok_or_else(|| {
                    line.unexpected(format!(
                        "the value of `{key}` has an opening quote or bracket but no closing one"
                    ))
                })?,
                None => ("", after),
            };
            let is_same = |own: &&str| own.eq_ignore_ascii_case(key);
            if KNOWN.iter().any(is_same) && entries.iter().any(|(own, _)| is_same(own)) {
                return Err(line.here.error(Problem::Twice { what: format!("`{key}` in the comment line") }));
            }
            entries.push((key, value));
            rest = after.trim_start();
        }
        Ok(Self(entries))
    }

    /// Returns the value of an entry. Keys are compared without regard to case.
    pub(super) fn get(&self, key: &str) -> Option<&'t str> {
        self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(key)).map(|(_, value)| *value)
    }

    /// Returns the lower corner and the edges of the box.
    pub(super) fn region(&self, line: Line<'_>) -> Result<([f64; 3], [f64; 3]), InputError> {
        const FORM: &str = "`Lattice=\"ax 0 0 0 by 0 0 0 cz\"` in the comment line";
        let lattice = self.get("Lattice").ok_or_else(|| {
            line.here.error(Problem::Missing { what: "`Lattice`".to_owned(), expected: FORM.to_owned() })
        })?;
        let numbers: Vec<f64> = words(lattice)
            .map(|text| line.number(text, "an edge of the box: Lattice"))
            .collect::<Result<_, _>>()?;
        let [ax, ay, az, bx, by, bz, cx, cy, cz] = numbers[..] else {
            return Err(line.unexpected(format!("`Lattice` has {} numbers, expected {FORM}", numbers.len())));
        };
        if [ay, az, bx, bz, cx, cy].iter().any(|edge| *edge != 0.0) {
            let what = format!("the triclinic box `{lattice}`");
            let supported = "the box must be orthogonal: \"ax 0 0 0 by 0 0 0 cz\"".to_owned();
            return Err(line.here.error(Problem::Unsupported { what, supported }));
        }
        let lengths = [ax, by, cz];
        match AXES.into_iter().zip(lengths).find(|(_, length)| *length <= 0.0) {
            Some((axis, length)) => Err(line.here.error(Problem::Box { axis, length })),
            None => Ok((self.origin(line)?, lengths)),
        }
    }

    /// Returns which dimensions are periodic, if the file specifies it.
    pub(super) fn periodic(&self, line: Line<'_>) -> Result<Option<[bool; 3]>, InputError> {
        let Some(text) = self.get("pbc") else { return Ok(None) };
        match flags(text).as_deref() {
            Some(&[x, y, z]) => Ok(Some([x, y, z])),
            _ => {
                Err(line
                    .unexpected(format!("`pbc` is `{text}`, expected one T or F per axis: `pbc=\"T T T\"`")))
            }
        }
    }

    /// Returns whether positions are unwrapped, according to the file.
    pub(super) fn is_unwrapped(&self, line: Line<'_>) -> Result<bool, InputError> {
        let Some(text) = self.get(UNWRAPPED) else { return Ok(false) };
        match flags(text).as_deref() {
            Some(&[flag]) => Ok(flag),
            _ => Err(line.unexpected(format!("`{UNWRAPPED}` is `{text}`, expected T or F"))),
        }
    }

    /// Returns the time of the frame, if the file contains it as a number.
    pub(super) fn time(&self) -> Option<FrameTime> {
        let time: f64 = self.get("Time")?.parse().ok()?;
        time.is_finite().then_some(FrameTime::Double(time))
    }

    fn origin(&self, line: Line<'_>) -> Result<[f64; 3], InputError> {
        let Some(origin) = self.get("Origin") else {
            return Ok([0.0; 3]);
        };
        let fields: Vec<&str> = words(origin).collect();
        if fields.len() != 3 {
            return Err(line.unexpected(format!("`Origin` has {} numbers, expected 3", fields.len())));
        }
        line.vector(&fields, "the lower corner of the box: Origin")
    }
}

/// Returns the elements of an array.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | '[' | ']'))
        .filter(|word| !word.is_empty())
}

/// Parses words for true and false.
fn flags(text: &str) -> Option<Vec<bool>> {
    let one = |word: &str| match word {
        "T" | "True" | "true" | "1" => Some(true),
        "F" | "False" | "false" | "0" => Some(false),
        _ => None,
    };
    words(text).map(one).collect()
}

/// Returns a value and the text after it, or `None` if a quote or a bracket is not closed.
fn value(text: &str) -> Option<(&str, &str)> {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split_once(quote),
        Some('{') => text[1..].split_once('}'),
        Some('[') => {
            let mut open = 0_usize;
            let end = text.find(|letter: char| {
                open = match letter {
                    '[' => open + 1,
                    ']' => open - 1,
                    _ => open,
                };
                open == 0
            })?;
            Some((&text[1..end], &text[end + 1..]))
        }
        _ => Some(text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))),
    }
}
