//! Lines and their fields.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use md_core::ImageCounts;
use md_scenario::failure::RunError;

use super::error::{InputError, Position, Problem};
use super::masses::Masses;
use super::overview::Overview;
use super::source::Source;
use super::{InputParticles, ParticleLines};

/// Names of the axes in messages.
pub(super) const AXES: [char; 3] = ['x', 'y', 'z'];

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// Position of the line.
    pub(super) here: Position<'t>,
    /// Text of the line, trimmed.
    pub(super) text: &'t str,
}

impl<'t> Line<'t> {
    /// Creates a line of a file.
    pub(super) fn new(file: &'t str, number: usize, text: &'t str) -> Self {
        Self { here: Position { file, line: Some(number) }, text: text.trim() }
    }

    /// Returns the line number as it is stored.
    pub(super) fn number_kept(self) -> u32 {
        self.here.line.and_then(|line| u32::try_from(line).ok()).unwrap_or(u32::MAX)
    }

    /// Returns the fields, separated by white space.
    pub(super) fn fields(self) -> Vec<&'t str> {
        /// Number of fields that suffices for most lines, so that there is one allocation.
        const USUAL: usize = 16;
        let mut fields = Vec::with_capacity(USUAL);
        fields.extend(self.text.split_whitespace());
        fields
    }

    /// Parses a finite number.
    pub(super) fn number(self, text: &str, place: &'static str) -> Result<f64, InputError> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.here.error(Problem::NotFinite { text: text.to_owned(), place })),
            Err(_) => Err(self.malformed(text, "a number", place)),
        }
    }

    /// Parses three finite numbers in consecutive fields.
    pub(super) fn vector(self, fields: &[&str], place: &'static str) -> Result<[f64; 3], InputError> {
        let [x, y, z] = fields else {
            return Err(self.columns(fields.len(), "3 numbers"));
        };
        Ok([self.number(x, place)?, self.number(y, place)?, self.number(z, place)?])
    }

    /// Parses the bounds of the box along an axis.
    pub(super) fn bounds(self, axis: usize, low: &str, high: &str) -> Result<(f64, f64), InputError> {
        const PLACE: &str = "a bound of the box";
        let (low, high) = (self.number(low, PLACE)?, self.number(high, PLACE)?);
        let length = high - low;
        if length <= 0.0 || !length.is_finite() {
            return Err(self.here.error(Problem::Box { axis: AXES[axis], length }));
        }
        Ok((low, high))
    }

    /// Parses an integer, which may be negative.
    pub(super) fn integer(self, text: &str, place: &'static str) -> Result<i64, InputError> {
        text.parse().map_err(|_| self.malformed(text, "an integer", place))
    }

    /// Parses a particle's id.
    pub(super) fn id(self, text: &str, place: &'static str) -> Result<u64, InputError> {
        let id = self.integer(text, place)?;
        match u64::try_from(id) {
            Ok(id) if id > 0 => Ok(id),
            _ => Err(self.here.error(Problem::IdRange { id })),
        }
    }

    /// Parses a type number from 1 to `largest`.
    pub(super) fn kind(self, text: &str, largest: u32, place: &'static str) -> Result<u32, InputError> {
        let kind = self.integer(text, place)?;
        match u32::try_from(kind) {
            Ok(kind) if (1..=largest).contains(&kind) => Ok(kind),
            _ => Err(self.here.error(Problem::TypeRange { kind, largest })),
        }
    }

    /// Parses the mass of a particle of type `kind`.
    pub(super) fn mass(self, text: &str, kind: u32, place: &'static str) -> Result<f64, InputError> {
        match self.number(text, place)? {
            mass if mass > 0.0 => Ok(mass),
            _ => Err(self.here.error(Problem::Mass { kind, text: text.to_owned() })),
        }
    }

    /// Parses an image count, the number of times that a particle has crossed the faces along an
    /// axis.
    pub(super) fn image(self, text: &str, place: &'static str) -> Result<i32, InputError> {
        image_count(self.integer(text, place)?).map_err(|problem| self.here.error(problem))
    }

    /// Returns the error for a wrong number of columns.
    pub(super) fn columns(self, found: usize, expected: &str) -> InputError {
        let (text, expected) = (self.text.to_owned(), expected.to_owned());
        self.here.error(Problem::Columns { text, found, expected })
    }

    /// Returns the error for a line that has no meaning here.
    pub(super) fn unexpected(self, expected: impl Into<String>) -> InputError {
        let (text, expected) = (self.text.to_owned(), expected.into());
        self.here.error(Problem::Unexpected { text, expected })
    }

    fn malformed(self, text: &str, expected: &'static str, place: &'static str) -> InputError {
        self.here.error(Problem::Malformed { text: text.to_owned(), expected, place })
    }
}

/// Returns an image count, if it is in the range that can be stored.
pub(super) fn image_count(count: i64) -> Result<i32, Problem> {
    i32::try_from(count)
        .ok()
        .filter(|count| ImageCounts::RANGE.contains(count))
        .ok_or(Problem::ImageRange { count })
}

/// One particle and its line.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Record {
    /// Line, from 1; 0 in a file without lines.
    pub(super) line: u32,
    /// Type number.
    pub(super) kind: u32,
    /// Global id.
    pub(super) id: u64,
    /// Position.
    pub(super) position: [f64; 3],
    /// Velocity, if it is in the same line.
    pub(super) velocity: [f64; 3],
    /// Momentum, if it is in the same line.
    pub(super) momentum: [f64; 3],
    /// Packed [`ImageCounts`].
    pub(super) images: u64,
}

impl Record {
    /// Sets the image count along an axis.
    pub(super) fn set_image(&mut self, dim: usize, count: i32) {
        let mut images = ImageCounts::unpack(self.images);
        images.0[dim] = count;
        self.images = images.pack();
    }
}

/// Reads the particles of a frame, one per line, of `atoms` particles on all ranks. `row` reads a
/// line with its number in the frame, from 1, and returns the particle and its mass, if the file
/// contains masses. Returns the records that this rank keeps, sorted by id, as well. *Collective.*
pub(super) fn rows(
    source: &Source<'_>,
    overview: &Overview,
    lines: &Range<usize>,
    (atoms, species): (u64, &[String]),
    row: impl Fn(Line<'_>, u64) -> Result<(Record, Option<f64>), InputError>,
) -> Result<(Vec<Record>, InputParticles), RunError> {
    let mut records = Vec::with_capacity(source.expect_room(atoms, overview)?);
    let (mut masses, mut fault) = (Masses::new(species.len()), None);
    source.lines_again(&overview.text, std::slice::from_ref(lines), |number, raw| {
        let line = Line::new(source.name, number, raw);
        if fault.is_none() {
            let keep = |(record, mass): (Record, _)| {
                masses.note(line, mass, record.kind);
                records.push(record);
            };
            fault = row(line, (number - lines.start) as u64 + 1).map(keep).err();
        }
    })?;
    let (masses, contradiction) = masses.of_all(source, species)?;
    let fault = contradiction.into_iter().chain(fault).min_by_key(|error| error.line);
    let records = sorted_by_id(source, records, fault)?;
    let particles = InputParticles { masses, ..particles(source, &records, atoms)? };
    Ok((records, particles))
}

/// Returns the records that this rank keeps among those of all ranks, sorted by id. Returns
/// an error for a duplicate id or for `fault`, whichever line comes first. *Collective.*
pub(super) fn sorted_by_id(
    source: &Source<'_>,
    records: Vec<Record>,
    fault: Option<InputError>,
) -> Result<Vec<Record>, RunError> {
    let mut records = source.kept(records, |record| record.id)?;
    records.sort_unstable_by_key(|record| (record.id, record.line));
    let twice = records.windows(2).filter(|pair| pair[0].id == pair[1].id).map(|pair| {
        let [first, line] =
            [pair[0].line, pair[1].line].map(|line| Some(line as usize).filter(|line| *line > 0));
        Position { file: source.name, line }.error(Problem::DuplicateId { id: pair[0].id, first })
    });
    let first = fault.into_iter().chain(twice).min_by_key(|error| error.line);
    source.agree(first.map_or(Ok(()), Err))?;
    Ok(records)
}

/// Converts this rank's sorted records, of `atoms` records on all ranks, into arrays. Box, masses
/// and velocities are left empty. *Collective.*
pub(super) fn particles(
    source: &Source<'_>,
    records: &[Record],
    atoms: u64,
) -> Result<InputParticles, RunError> {
    let lines = |&Record { line, .. }: &Record| ParticleLines { position: line, velocity: line };
    let mut particles = InputParticles {
        lines: records.iter().map(lines).collect(),
        ids: records.iter().map(|record| record.id).collect(),
        types: records.iter().map(|record| record.kind).collect(),
        positions: records.iter().map(|record| record.position).collect(),
        images: records.iter().map(|record| ImageCounts::unpack(record.images)).collect(),
        largest_type: records.iter().map(|record| record.kind).max().unwrap_or_default(),
        ..InputParticles::default()
    };
    source.check_count("particles", atoms, records.len())?;
    source.share(atoms, &mut particles)?;
    Ok(particles)
}

/// Unit styles of LAMMPS other than `lj`.
const OTHER_UNITS: [&str; 7] = ["real", "metal", "si", "cgs", "electron", "micro", "nano"];

/// Checks the units that a title or a comment may name, as LAMMPS's `write_data` does. With units
/// other than reduced ones, a run would make no sense.
///
/// # Errors
/// Returns an error if the units are not reduced.
pub(super) fn check_units(here: Position<'_>, remark: &str) -> Result<(), InputError> {
    let is_mark = |letter: char| !letter.is_alphanumeric() && letter != '=';
    let spaced = remark.replace('=', " = ");
    let words: Vec<&str> = spaced.split_whitespace().map(|word| word.trim_matches(is_mark)).collect();
    let is_any_of = |word: &str, known: &[&str]| known.iter().any(|own| own.eq_ignore_ascii_case(word));
    let named = (1..words.len()).filter(|&next| is_any_of(words[next - 1], &["units"]));
    let named = named.filter_map(|next| match words[next..] {
        ["=", units, ..] => Some(units),
        [units, ..] => Some(units).filter(|units| is_any_of(units, &OTHER_UNITS)),
        [] => None,
    });
    match named.into_iter().find(|units| !is_any_of(units, &["lj", "reduced"])) {
        None => Ok(()),
        Some(units) => {
            let supported = "the numbers must be in reduced units, `units = lj`".to_owned();
            Err(here.error(Problem::Unsupported { what: format!("a file in `units = {units}`"), supported }))
        }
    }
}
