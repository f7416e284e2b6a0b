//! Extended XYZ: a count, a comment line with `Lattice` and `Properties`, one line per particle.
//!
//! The last of several frames is read, unless another is requested. The box must be orthogonal.
//! `Origin` is its lower corner, zero by default; `pbc` must agree with the scenario. The column
//! `pos` and one of `species` and `type` are required. `id` defaults to the order of the lines.
//! Velocities may be called `vel`, `velo` or `velocities`, or be given as `momenta`; `masses` (or
//! `mass`) are those of the species; `images` are image counts, unless the entry `unwrapped` says
//! that positions are unwrapped. Further columns are skipped, with a note.

mod columns;
mod comment;

use std::ops::Range;

use md_scenario::failure::RunError;
use serde::{Deserialize, Serialize};

use super::error::{InputError, Position, Problem};
use super::fields::{self, Line, Record};
use super::overview::Overview;
use super::source::Source;
use super::{Contents, InputParticles};
use columns::{Columns, vector};
use comment::Comment;

const PARTICLES: &str = "particles";

/// Name of the line that is missing if a frame is cut off early.
pub(super) const COMMENT_LINE: &str = "the comment line";

/// Reads the last frame. `name` is used in messages, and `species` are the scenario's names, whose
/// order gives the types.
///
/// # Errors
/// Returns the first fault, with its line and text.
///
/// ```
/// use md_files::input::extxyz;
///
/// let text = r#"2
/// Lattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3
/// Ar 1 2 3
/// Kr 4 5 6
/// "#;
/// let particles = extxyz::parse("two.xyz", text, &["Ar".to_owned(), "Kr".to_owned()])?;
/// assert_eq!(particles.lengths, [9.0; 3]);
/// assert_eq!((particles.ids, particles.types), (vec![1, 2], vec![1, 2]));
/// assert_eq!(particles.positions, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// # Ok::<(), md_scenario::failure::RunError>(())
/// ```
pub fn parse(name: &str, text: &str, species: &[String]) -> Result<InputParticles, RunError> {
    read(&Source::given(name, text), species, None)
}

/// Reads this rank's particles of a frame, counted from 1, or of the last one. *Collective.*
///
/// # Errors
/// Returns the errors of [`parse`], the same on all ranks, and an error if there is no such frame,
/// the file cannot be read or communication fails.
pub fn read(
    source: &Source<'_>,
    species: &[String],
    wanted: Option<u64>,
) -> Result<InputParticles, RunError> {
    let frames = Frames::find(source, wanted)?;
    let (text, second) = frames.check(source.name, wanted)?;
    fields::check_units(second, text)?;
    let second = Line { here: second, text };
    let comment = Comment::parse(second)?;
    let mut columns = Columns::parse(second, &comment)?;
    let is_unwrapped = comment.is_unwrapped(second)?;
    let tells_images = is_unwrapped || columns.images.is_some();
    if is_unwrapped {
        // Unwrapped positions already contain the image counts.
        columns.images = None;
    }
    let Frames { count, frame: Frame { number, promised, .. }, overview, .. } = &frames;
    frames.frame.check_rows(source.name)?;
    let (records, mut particles) =
        fields::rows(source, overview, &frames.frame.rows(), (*promised, species), |line, order| {
            row(line, order, &columns, species)
        })?;
    let vectors = |vector: fn(&Record) -> [f64; 3]| records.iter().map(vector).collect();
    particles.velocities = columns.velocity.map(|_| vectors(|record| record.velocity));
    particles.momenta = columns.momentum.map(|_| vectors(|record| record.momentum));
    (particles.origin, particles.lengths) = comment.region(second)?;
    particles.periodic = comment.periodic(second)?;
    particles.tells_images = [tells_images; 3];
    particles.step = comment.get("Step").and_then(|step| step.parse().ok());
    particles.time = comment.time();
    particles.note_unknown_columns(&columns.unknown);
    particles.note_frame(*number, *count, comment.get("Step"));
    overview.check_end_of_frame(source.name, *number, *count)?;
    Ok(particles)
}

/// Returns the contents of a file, for `inspect`.
///
/// # Errors
/// Returns the fault of the file or of its last frame.
pub(crate) fn contents(source: &Source<'_>) -> Result<Contents, RunError> {
    let frames = Frames::find(source, None)?;
    let (text, second) = frames.check(source.name, None)?;
    let second = Line { here: second, text };
    let comment = Comment::parse(second)?;
    frames.frame.check_rows(source.name)?;
    let (origin, lengths) = comment.region(second)?;
    let entry = |key: &str| comment.get(key).map(str::to_owned);
    Ok(Contents {
        format: "extended XYZ",
        frames: frames.count,
        particles: frames.frame.promised,
        step: entry("Step"),
        time: entry("Time"),
        units: None,
        origin,
        lengths,
        columns: entry("Properties").unwrap_or_default(),
    })
}

/// One frame, from the lines read so far.
#[derive(Default, Serialize, Deserialize)]
struct Frame {
    /// Number of the frame, from 1.
    number: u64,
    /// First line of the frame.
    line: usize,
    /// Number of particles in the first line.
    promised: u64,
    /// Second line of the frame.
    comment: Option<String>,
    /// Number of lines with particles.
    found: u64,
    /// Whether an empty line came before the last particle.
    is_broken: bool,
}

/// Results of the first pass over all lines.
#[derive(Default, Serialize, Deserialize)]
struct Frames {
    overview: Overview,
    /// Number of frames that have begun.
    count: u64,
    /// The wanted frame, or the last so far.
    frame: Frame,
    /// Number of particles in the last frame.
    promised: u64,
    /// Number of lines that the last frame still lacks.
    missing: u64,
}

impl Frames {
    /// Finds the wanted frame. After a frame there must be nothing or the next frame; otherwise its
    /// count is wrong.
    fn find(source: &Source<'_>, wanted: Option<u64>) -> Result<Self, RunError> {
        let (mut frames, text) = source.overview(Self::default(), |frames, number, raw| {
            frames.overview.note(raw);
            frames.note(Line::new(source.name, number, raw), number, wanted)
        })?;
        frames.overview.text = text;
        Ok(frames)
    }

    fn note(&mut self, line: Line<'_>, number: usize, wanted: Option<u64>) -> Result<(), InputError> {
        if self.missing > 0 {
            self.missing -= 1;
            if self.frame.number == self.count {
                self.frame.note(line.text);
            }
            return Ok(());
        }
        if line.text.is_empty() {
            return Ok(());
        }
        if self.count == 0 && number > 1 {
            let first = Line { here: Position { line: Some(1), ..line.here }, text: "" };
            particle_count(first)?;
        }
        if self.count > 0 && line.text.parse::<u64>().is_err() {
            let (promised, text) = (self.promised, line.text.to_owned());
            return Err(line.here.error(Problem::TooMany { what: PARTICLES, promised, text }));
        }
        (self.promised, self.count) = (particle_count(line)?, self.count + 1);
        self.missing = self.promised.saturating_add(1);
        if wanted.is_none_or(|wanted| self.count <= wanted) {
            let (number, line, promised) = (self.count, number, self.promised);
            self.frame = Frame { number, line, promised, ..Frame::default() };
        }
        Ok(())
    }

    /// Returns the comment line of the wanted frame and its position, if it exists.
    fn check<'f>(
        &'f self,
        file: &'f str,
        wanted: Option<u64>,
    ) -> Result<(&'f str, Position<'f>), InputError> {
        let (whole, Self { overview, count, frame, missing, .. }) = (Position { file, line: None }, self);
        overview.expect_frame(whole, frame.number, wanted, *count)?;
        let number = frame.number;
        overview.expect_uncut(file, wanted, number - u64::from(*missing > 0))?;
        if number == *count && number > 1 && *missing > 0 {
            let found = frame.promised.saturating_sub(*missing);
            let last = Position { file, line: Some(overview.text.lines) };
            return Err(last.error(frame.cut(found)));
        }
        let comment = frame.comment.as_deref().ok_or_else(|| {
            let expected = "line 2 with `Lattice=\"...\"` and `Properties=...`".to_owned();
            whole.error(Problem::Missing { what: COMMENT_LINE.to_owned(), expected })
        })?;
        Ok((comment, Position { file, line: Some(frame.line + 1) }))
    }
}

impl Frame {
    /// Adds the next line of the frame.
    fn note(&mut self, text: &str) {
        if self.comment.is_none() {
            self.comment = Some(text.to_owned());
        } else {
            self.is_broken |= text.is_empty();
            self.found += u64::from(!self.is_broken);
        }
    }

    /// Returns the lines of the particles.
    fn rows(&self) -> Range<usize> {
        let start = self.line + 2;
        start..start + self.found as usize
    }

    /// Checks that all particles exist.
    fn check_rows(&self, file: &str) -> Result<(), InputError> {
        let &Self { number, line, promised, found, .. } = self;
        if found == promised {
            return Ok(());
        }
        let last = if found == 0 { line } else { self.rows().end - 1 };
        Err(Position { file, line: Some(last) }.error(match number {
            1 => Problem::Truncated { what: PARTICLES, promised, found },
            _ => self.cut(found),
        }))
    }

    fn cut(&self, found: u64) -> Problem {
        let &Self { number, promised, .. } = self;
        Problem::CutFrame { number, promised, found, whole: number - 1 }
    }
}

fn particle_count(line: Line<'_>) -> Result<u64, InputError> {
    match line.text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => {
            let number = line.here.line.unwrap_or_default();
            Err(line.unexpected(format!("line {number} must be the number of particles, at least 1")))
        }
    }
}

/// Reads a row, and its mass if the file contains masses. `order` is the number of the row, from 1.
fn row(
    line: Line<'_>,
    order: u64,
    columns: &Columns,
    species: &[String],
) -> Result<(Record, Option<f64>), InputError> {
    let fields = line.fields();
    if fields.len() != columns.width {
        return Err(line.columns(fields.len(), &format!("{} as `Properties` says", columns.width)));
    }
    let kind = columns.kind(line, &fields, species)?;
    let mass = columns.mass.map(|column| line.mass(fields[column], kind, "column of masses")).transpose()?;
    let mut record = Record {
        line: line.number_kept(),
        id: columns.id(line, &fields)?.unwrap_or(order),
        kind,
        position: columns.position(line, &fields)?,
        velocity: vector(line, &fields, columns.velocity, "column of velocities")?,
        momentum: vector(line, &fields, columns.momentum, "column momenta")?,
        ..Record::default()
    };
    columns.set_images(line, &fields, &mut record)?;
    Ok((record, mass))
}

#[cfg(test)]
mod tests;
