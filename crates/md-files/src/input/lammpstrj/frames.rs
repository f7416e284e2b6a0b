//! Frames of a dump, and their sections.

use std::ops::Range;

use md_scenario::failure::RunError;
use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::{PARTICLES, ROWS};
use crate::input::error::{InputError, Position, Problem};
use crate::input::fields::Line;
use crate::input::overview::Overview;
use crate::input::source::Source;

const HEADINGS: &str =
    "a frame has `ITEM: TIMESTEP`, `ITEM: NUMBER OF ATOMS`, `ITEM: BOX BOUNDS` and `ITEM: ATOMS`";

/// Results of the first pass over all lines.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Frames {
    pub(super) overview: Overview,
    /// Number of frames that have begun.
    pub(super) count: u64,
    /// The wanted frame, or the last so far.
    frame: Frame,
    /// Number of particles in the last frame.
    promised: u64,
    /// Number of lines of the present section that are still to come.
    awaited: u64,
    section: Section,
}

/// A section of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Section {
    #[default]
    Other,
    Step,
    Time,
    Units,
    Count,
    Bounds,
    Rows,
}

/// One frame, from the lines read so far.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Frame {
    /// Number of the frame, from 1.
    pub(super) number: u64,
    /// First line of the frame.
    line: usize,
    pub(super) step: String,
    /// Time of the frame, empty if the frame contains none.
    pub(super) time: String,
    /// Number of particles that the frame promises.
    pub(super) promised: u64,
    /// Heading of the box and its three lines.
    bounds: Vec<(usize, String)>,
    /// Heading of the particles.
    columns: Option<(usize, String)>,
    /// Number of lines with particles.
    found: u64,
}

/// The box of a frame.
pub(super) struct Region {
    pub(super) origin: [f64; 3],
    pub(super) lengths: [f64; 3],
    pub(super) periodic: Option<[bool; 3]>,
}

impl Frames {
    pub(super) fn find(source: &Source<'_>, wanted: Option<u64>) -> Result<Self, RunError> {
        let (mut frames, text) = source.overview(Self::default(), |frames, number, raw| {
            frames.overview.note(raw);
            frames.note(Line::new(source.name, number, raw), number, wanted)
        })?;
        frames.overview.text = text;
        Ok(frames)
    }

    /// Adds the next line.
    fn note(&mut self, line: Line<'_>, number: usize, wanted: Option<u64>) -> Result<(), InputError> {
        if self.awaited == 0 {
            return match line.text.strip_prefix("ITEM:") {
                Some(heading) => self.begin(line, number, heading.trim(), wanted),
                None if line.text.is_empty() => Ok(()),
                None if self.section == Section::Rows => {
                    let (promised, text) = (self.promised, line.text.to_owned());
                    Err(line.here.error(Problem::TooMany { what: PARTICLES, promised, text }))
                }
                None => Err(line.unexpected(HEADINGS)),
            };
        }
        if line.text.is_empty() || line.text.starts_with("ITEM:") {
            return Err(match self.section {
                Section::Rows => line.here.error(Problem::Truncated {
                    what: PARTICLES,
                    promised: self.promised,
                    found: self.promised - self.awaited,
                }),
                _ => line.unexpected("a section ends before it is complete"),
            });
        }
        self.awaited -= 1;
        self.note_content(line, number)
    }

    /// Adds the next line of a section after its heading.
    fn note_content(&mut self, line: Line<'_>, number: usize) -> Result<(), InputError> {
        let is_kept = self.frame.number == self.count;
        match self.section {
            Section::Rows => self.frame.found += u64::from(is_kept),
            Section::Step if is_kept => line.text.clone_into(&mut self.frame.step),
            Section::Time if is_kept => {
                line.number(line.text, "the time of the frame")?;
                line.text.clone_into(&mut self.frame.time);
            }
            Section::Bounds if is_kept => self.frame.bounds.push((number, line.text.to_owned())),
            Section::Units if line.text != "lj" => {
                let what = format!("a file in `units {}`", line.text);
                let supported = "the numbers must be in reduced units, `units lj`".to_owned();
                return Err(line.here.error(Problem::Unsupported { what, supported }));
            }
            Section::Count => {
                self.promised = match line.text.parse() {
                    Ok(count) if count > 0 => count,
                    _ => return Err(line.unexpected("the number of atoms must be an integer of at least 1")),
                };
                if is_kept {
                    self.frame.promised = self.promised;
                }
            }
            _ => (),
        }
        Ok(())
    }

    /// Begins a section, and a frame if the section is its first.
    fn begin(
        &mut self,
        line: Line<'_>,
        number: usize,
        heading: &str,
        wanted: Option<u64>,
    ) -> Result<(), InputError> {
        let is_begin = matches!(heading, "TIMESTEP" | "UNITS" | "TIME");
        let is_between = self.section == Section::Rows || self.count == 0;
        if is_begin && is_between {
            self.count += 1;
            self.promised = 0;
            if wanted.is_none_or(|wanted| self.count <= wanted) {
                self.frame = Frame { number: self.count, line: number, ..Frame::default() };
            }
        } else if is_between {
            return Err(line.unexpected("a frame begins with `ITEM: TIMESTEP`"));
        }
        let is_kept = self.frame.number == self.count;
        (self.section, self.awaited) = match heading {
            "TIMESTEP" => (Section::Step, 1),
            "UNITS" => (Section::Units, 1),
            "TIME" => (Section::Time, 1),
            "NUMBER OF ATOMS" => (Section::Count, 1),
            _ if heading.starts_with("BOX BOUNDS") => (Section::Bounds, 3),
            _ if heading.starts_with("ATOMS") && self.promised > 0 => (Section::Rows, self.promised),
            _ => return Err(line.unexpected(HEADINGS)),
        };
        match self.section {
            Section::Bounds if is_kept => self.frame.bounds = vec![(number, heading.to_owned())],
            Section::Rows if is_kept => self.frame.columns = Some((number, heading.to_owned())),
            _ => (),
        }
        Ok(())
    }

    /// Returns the wanted frame, if it is complete.
    pub(super) fn checked(&self, file: &str, wanted: Option<u64>) -> Result<&Frame, InputError> {
        let (whole, Self { overview, count, frame, .. }) = (Position { file, line: None }, self);
        overview.expect_frame(whole, frame.number, wanted, *count)?;
        let &Frame { number, promised, found, .. } = frame;
        let is_whole = frame.columns.is_some() && found == promised && frame.bounds.len() == 4;
        overview.expect_uncut(file, wanted, number - u64::from(!is_whole))?;
        let last = Position { file, line: Some(overview.text.lines) };
        match number {
            _ if is_whole => Ok(frame),
            1 if frame.columns.is_none() => {
                Err(last.error(Problem::Missing { what: ROWS.to_owned(), expected: HEADINGS.to_owned() }))
            }
            1 => Err(last.error(Problem::Truncated { what: PARTICLES, promised, found })),
            _ => Err(last.error(Problem::CutFrame { number, promised, found, whole: number - 1 })),
        }
    }
}

impl Frame {
    /// Returns the names of the columns of the particles.
    pub(super) fn names(&self) -> &str {
        self.columns.as_ref().map_or("", |(_, heading)| heading.trim_start_matches("ATOMS").trim())
    }

    /// Returns the lines of the particles.
    pub(super) fn rows(&self) -> Range<usize> {
        let start = self.columns.as_ref().map_or(0, |(heading, _)| heading + 1);
        start..start + self.found as usize
    }

    pub(super) fn columns(&self, file: &str, species: usize) -> Result<Columns, InputError> {
        let (number, heading) =
            self.columns.as_ref().map_or((self.line, ""), |(number, text)| (*number, text.as_str()));
        let line = Line::new(file, number, heading);
        Columns::parse(line, self.names(), species)
    }

    /// Returns the box, which must be orthogonal.
    pub(super) fn region(&self, file: &str) -> Result<Region, InputError> {
        let (mut origin, mut lengths) = ([0.0; 3], [0.0; 3]);
        let mut lines = self.bounds.iter().map(|(number, text)| Line::new(file, *number, text));
        let heading = lines.next().unwrap_or(Line::new(file, self.line, ""));
        for (axis, line) in lines.enumerate().take(3) {
            let numbers = line.fields();
            let [low, high, tilt @ ..] = numbers.as_slice() else {
                return Err(line.columns(numbers.len(), "2 bounds of the box"));
            };
            if tilt.iter().any(|tilt| tilt.parse() != Ok(0.0)) {
                let what = format!("the triclinic box `{}`", line.text);
                let supported = "the box must be orthogonal".to_owned();
                return Err(line.here.error(Problem::Unsupported { what, supported }));
            }
            let (low, high) = line.bounds(axis, low, high)?;
            (origin[axis], lengths[axis]) = (low, high - low);
        }
        let flags: Vec<&str> = heading.text.split_whitespace().rev().take(3).collect();
        let periodic = match flags[..] {
            [z, y, x]
                if [x, y, z]
                    .iter()
                    .all(|flag| flag.len() == 2 && *flag != "xy" && *flag != "xz" && *flag != "yz") =>
            {
                Some([x, y, z].map(|flag| flag == "pp"))
            }
            _ => None,
        };
        Ok(Region { origin, lengths, periodic })
    }
}
