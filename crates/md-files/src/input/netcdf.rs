//! AMBER's `NetCDF` convention, in the classic format. Every rank reads its part of a frame from
//! its position in the file.
//!
//! The last of several frames is read, unless another is requested. `coordinates` and
//! `cell_lengths` are required; `cell_origin` defaults to zero, `identifier` (or `id`) to the order
//! of the particles, `atom_types` (or `type`) to 1. `velocities`, `mass` and `images` (or LAMMPS's
//! `ix`, `iy`, `iz`) are read if they exist. Positions are unwrapped if they are LAMMPS's
//! `unwrapped_coordinates` or if an attribute says so. `scale_factor` and `add_offset` of a
//! variable are applied. Numbers are taken as reduced units, whatever units the file names, since
//! the convention prescribes these names; a note reports names other than `lj` in files of other
//! programs. Variables in different units are converted to those of the positions and the time.

#[cfg(test)]
mod tests;
mod units;

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;

use md_scenario::failure::RunError;

use super::error::{Position, Problem};
use super::fields::{self, AXES, Record};
use super::masses::Masses;
use super::source::Source;
use super::{Contents, FrameTime, InputParticles};
use crate::netcdf::{Attribute, Header, Kind, Value, Variable};
use units::Units;

/// Attribute of coordinates that are unwrapped. The convention does not define one.
pub(crate) const UNWRAPPED: &str = "unwrapped";

/// Names of the variable with positions. The first is LAMMPS's name for unwrapped positions.
const POSITIONS: [&str; 2] = ["unwrapped_coordinates", "coordinates"];

/// Names of the variable with types.
const TYPES: [&str; 2] = ["atom_types", "type"];

/// Number of values that are read by one call.
const BLOCK: u64 = 1 << 17;

/// Reads this rank's particles of a frame, counted from 1, or of the last one. *Collective.*
///
/// # Errors
/// Returns an error, the same on all ranks, if the file is damaged or contains impossible values,
/// or if communication fails.
pub fn read(
    source: &Source<'_>,
    species: &[String],
    wanted: Option<u64>,
) -> Result<InputParticles, RunError> {
    let whole = Position { file: source.name, line: None };
    let open = || Frames::open(source, wanted).map_err(|problem| whole.error(problem));
    let frames = source.agree(open())?;
    let part = source.part(frames.atoms);
    let mut masses = Masses::new(species.len());
    let read = frames.records(part, species.len(), &mut masses).map_err(|problem| whole.error(problem));
    let records = source.agree(read)?;
    let tells_images = frames.tells_images().map_err(|problem| whole.error(problem))?;
    let (masses, contradiction) = masses.of_all(source, species)?;
    let records = fields::sorted_by_id(source, records, contradiction)?;
    let mut particles = fields::particles(source, &records, frames.atoms)?;
    (particles.origin, particles.lengths, particles.masses) = (frames.origin, frames.lengths, masses);
    if frames.header.variable("velocities").is_some() {
        particles.velocities = Some(records.iter().map(|record| record.velocity).collect());
    }
    particles.tells_images = tells_images;
    particles.lacks_types = TYPES.iter().all(|name| frames.header.variable(name).is_none());
    (particles.step, particles.time) = (frames.step, frames.time);
    particles.note_frame(frames.frame + 1, frames.header.records, None);
    particles.notes.extend(frames.units.notes());
    particles.units = frames.units.told;
    particles.notes.extend(particles.note_of_units());
    Ok(particles)
}

/// Returns the contents of a file, for `inspect`.
///
/// # Errors
/// Returns the fault of the file.
pub(crate) fn contents(source: &Source<'_>) -> Result<Contents, RunError> {
    let whole = |problem| Position { file: source.name, line: None }.error(problem);
    let frames = Frames::open(source, None).map_err(whole)?;
    let header = &frames.header;
    let of_atoms = |variable: &&Variable| header.dimensions_of(variable).any(|name| name == "atom");
    let names = header.variables.iter().filter(of_atoms).map(|variable| variable.name.as_str());
    Ok(Contents {
        format: "NetCDF, AMBER's convention",
        frames: header.records,
        particles: frames.atoms,
        step: frames.step.map(|step| step.to_string()),
        time: frames.time.map(|time| time.to_string()),
        units: frames.units.told.clone(),
        origin: frames.origin,
        lengths: frames.lengths,
        columns: names.collect::<Vec<_>>().join(" "),
    })
}

/// Largest difference of an angle from 90 degrees: that of pi/2 in f32.
const ANGLE_ROUNDING: f64 = 1e-5;

/// An open file, and its wanted frame.
struct Frames {
    file: File,
    header: Header,
    /// Number of the frame, from 0.
    frame: u64,
    atoms: u64,
    origin: [f64; 3],
    lengths: [f64; 3],
    step: Option<u64>,
    time: Option<FrameTime>,
    units: Units,
}

impl Frames {
    fn open(source: &Source<'_>, wanted: Option<u64>) -> Result<Self, Problem> {
        let (file, size) = source.opened()?;
        let header = Header::read(BufReader::new(&file), size).map_err(Problem::Told)?;
        let (count, number) = (header.records, wanted.unwrap_or(header.records));
        if number == 0 || number > count {
            return Err(Problem::NoFrame { number, count });
        }
        if let (whole, Some((name, end))) = header.whole_records(size)
            && number > whole
        {
            let what = format!("variable `{name}`");
            return Err(Problem::CutAt { size, what, end, whole });
        }
        let atoms = header.length("atom").filter(|&atoms| atoms > 0);
        let atoms = atoms.ok_or_else(|| missing("dimension `atom`"))?;
        let units = units::of_file(&header)?;
        let (origin, lengths, step, time) = Default::default();
        let mut frames = Self { file, header, frame: number - 1, atoms, origin, lengths, step, time, units };
        frames.lengths = frames.cell("cell_lengths")?.ok_or_else(|| missing("variable `cell_lengths`"))?;
        frames.origin = frames.cell("cell_origin")?.unwrap_or_default();
        let is_right = |angle: f64| (angle - 90.0).abs() <= ANGLE_ROUNDING;
        if frames.cell("cell_angles")?.is_some_and(|angles| !angles.into_iter().all(is_right)) {
            let supported = "all `cell_angles` must be 90".to_owned();
            return Err(Problem::Unsupported { what: "the triclinic box".to_owned(), supported });
        }
        if let Some((axis, length)) = AXES.into_iter().zip(frames.lengths).find(|(_, length)| *length <= 0.0)
        {
            return Err(Problem::Box { axis, length });
        }
        frames.step = frames.number("step")?.map(|(step, _)| whole_step(step)).transpose()?;
        frames.time = frames.number("time")?.map(|(time, kind)| frame_time(time, kind)).transpose()?;
        Ok(frames)
    }

    /// Returns a number of the frame and its type, if the file contains it.
    fn number(&self, name: &str) -> Result<Option<(f64, Kind)>, Problem> {
        let Some(variable) = self.header.variable(name) else { return Ok(None) };
        let mut found = None;
        self.values(variable, 0..1, |value| found = Some((value, variable.kind)))?;
        Ok(found)
    }

    /// Returns three finite numbers of the frame, if the file contains them.
    fn cell(&self, name: &str) -> Result<Option<[f64; 3]>, Problem> {
        let Some(variable) = self.header.variable(name) else { return Ok(None) };
        let mut found = Vec::new();
        self.values(variable, 0..3, |value| found.push(value))?;
        let found = <[f64; 3]>::try_from(found).map_err(|_| shape(name))?;
        match found.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(Problem::NotFinite { text: value.to_string(), place: "the box of the frame" }),
            None => Ok(Some(found)),
        }
    }

    /// Reads the particles of a part.
    fn records(
        &self,
        part: std::ops::Range<u64>,
        species: usize,
        masses: &mut Masses,
    ) -> Result<Vec<Record>, Problem> {
        let count = (part.end - part.start) as usize;
        let mut records = Vec::new();
        records
            .try_reserve_exact(count)
            .map_err(|_| Problem::Told("there is no room for its particles".to_owned()))?;
        records.extend((part.start + 1..).take(count).map(|id| Record { id, kind: 1, ..Record::default() }));
        if let Some(variable) = self.of_atoms(&["identifier", "id"], 1)? {
            let mut rows = records.iter_mut();
            self.values(variable, part.clone(), |value| {
                rows.next().into_iter().for_each(|row| row.id = value.max(0.0) as u64);
            })?;
        }
        if let Some(row) = records.iter().find(|row| row.id == 0) {
            return Err(Problem::IdRange { id: row.id as i64 });
        }
        self.kinds(&part, species, &mut records)?;
        let coordinates = self.of_atoms(&POSITIONS, 3)?.ok_or_else(|| missing("variable `coordinates`"))?;
        self.vectors(coordinates, &part, &mut records, |row| &mut row.position)?;
        for (variable, axes) in self.images()? {
            self.set_images(variable, axes, &part, &mut records)?;
        }
        if let Some(variable) = self.of_atoms(&["velocities"], 3)? {
            self.vectors(variable, &part, &mut records, |row| &mut row.velocity)?;
        }
        if let Some(variable) = self.of_atoms(&["mass"], 1)? {
            let (mut rows, mut fault) = (records.iter(), None);
            self.values(variable, part, |mass| {
                let Some(row) = rows.next() else { return };
                if mass > 0.0 && mass.is_finite() {
                    masses.note_at(mass, row.kind, row.id as usize);
                } else {
                    fault.get_or_insert(Problem::Mass { kind: row.kind, text: mass.to_string() });
                }
            })?;
            fault.map_or(Ok(()), Err)?;
        }
        Ok(records)
    }

    fn kinds(
        &self,
        part: &std::ops::Range<u64>,
        species: usize,
        records: &mut [Record],
    ) -> Result<(), Problem> {
        let Some(variable) = self.of_atoms(&TYPES, 1)? else { return Ok(()) };
        let largest = u32::try_from(species).unwrap_or(u32::MAX);
        let (mut rows, mut fault) = (records.iter_mut(), None);
        self.values(variable, part.clone(), |value| {
            let Some(row) = rows.next() else { return };
            if value >= 1.0 && value <= f64::from(largest) {
                row.kind = value as u32;
            } else {
                fault.get_or_insert(Problem::TypeRange { kind: value as i64, largest });
            }
        })?;
        fault.map_or(Ok(()), Err)
    }

    /// Returns whether positions are unwrapped, according to the file.
    fn is_unwrapped(&self) -> bool {
        let [unwrapped, coordinates] = POSITIONS.map(|name| self.header.variable(name));
        let is_marked = |variable: &Variable| {
            let marks = |it: &Attribute| it.name == UNWRAPPED && it.value != Value::Text("F".to_owned());
            variable.attributes.iter().any(marks)
        };
        unwrapped.is_some() || coordinates.is_some_and(is_marked)
    }

    /// Returns the variables with image counts of positions, and their axes.
    fn images(&self) -> Result<Vec<(&Variable, std::ops::Range<usize>)>, Problem> {
        if self.is_unwrapped() {
            return Ok(Vec::new());
        }
        if let Some(all) = self.of_atoms(&["images"], 3)? {
            return Ok(vec![(all, 0..3)]);
        }
        let along = |(dim, name): (usize, &str)| {
            self.of_atoms(&[name], 1).map(|found| Some((found?, dim..dim + 1))).transpose()
        };
        ["ix", "iy", "iz"].into_iter().enumerate().filter_map(along).collect()
    }

    /// Returns along which axes the number of crossings of the faces is known.
    fn tells_images(&self) -> Result<[bool; 3], Problem> {
        let (is_unwrapped, images) = (self.is_unwrapped(), self.images()?);
        Ok([0, 1, 2].map(|dim| is_unwrapped || images.iter().any(|(_, axes)| axes.contains(&dim))))
    }

    /// Sets the image counts of a part from a variable for these axes.
    fn set_images(
        &self,
        variable: &Variable,
        axes: std::ops::Range<usize>,
        part: &std::ops::Range<u64>,
        records: &mut [Record],
    ) -> Result<(), Problem> {
        let (width, mut next, mut fault) = (axes.len(), 0, None);
        let wanted = width as u64 * part.start..width as u64 * part.end;
        self.values(variable, wanted, |count| {
            let whole = match count.fract() {
                0.0 => fields::image_count(count as i64).map_err(|problem| problem.to_string()),
                _ => Err(format!("{count} is not an integer")),
            };
            match (records.get_mut(next / width), whole) {
                (Some(row), Ok(count)) => row.set_image(axes.start + next % width, count),
                (Some(row), Err(problem)) => {
                    let problem = format!("a number of `{}`: {problem}", variable.name);
                    fault.get_or_insert(Problem::Particle { id: row.id, problem });
                }
                (None, _) => (),
            }
            next += 1;
        })?;
        fault.map_or(Ok(()), Err)
    }

    /// Returns the first existing variable with one of these names. It must have `values` values
    /// per particle.
    fn of_atoms(&self, names: &[&str], values: u64) -> Result<Option<&Variable>, Problem> {
        let Some(variable) = names.iter().find_map(|name| self.header.variable(name)) else {
            return Ok(None);
        };
        let is_right = self.header.values(variable) == self.atoms.checked_mul(values)
            && self.header.dimensions_of(variable).find(|name| *name != "frame") == Some("atom");
        if is_right { Ok(Some(variable)) } else { Err(shape(&variable.name)) }
    }

    /// Reads finite vectors of a part.
    fn vectors(
        &self,
        variable: &Variable,
        part: &std::ops::Range<u64>,
        records: &mut [Record],
        place: impl Fn(&mut Record) -> &mut [f64; 3],
    ) -> Result<(), Problem> {
        let (mut next, mut fault) = (0, None);
        self.values(variable, 3 * part.start..3 * part.end, |value| {
            if let Some(row) = records.get_mut(next / 3) {
                if !value.is_finite() {
                    let problem = format!("a number of `{}` is {value}", variable.name);
                    fault.get_or_insert(Problem::Particle { id: row.id, problem });
                }
                place(row)[next % 3] = value;
            }
            next += 1;
        })?;
        fault.map_or(Ok(()), Err)
    }

    /// Passes values of the frame to `show`, block by block.
    fn values(
        &self,
        variable: &Variable,
        wanted: std::ops::Range<u64>,
        mut show: impl FnMut(f64),
    ) -> Result<(), Problem> {
        let Self { file, header, frame, .. } = self;
        let width = variable.kind.bytes();
        let packed = |name: &str| variable.number(name).map_err(Problem::Told);
        let factor = self.units.factor(variable);
        let (scale, offset, fill) = (packed("scale_factor")?, packed("add_offset")?, packed("_FillValue")?);
        let fill = fill.or(variable.kind.fill());
        if scale == Some(0.0) {
            let problem = format!("`scale_factor` of variable `{}` must not be 0", variable.name);
            return Err(Problem::Told(problem));
        }
        let mut is_missing = false;
        if header.values(variable).is_none_or(|values| values < wanted.end) {
            return Err(shape(&variable.name));
        }
        let mut bytes = Vec::new();
        let mut first = wanted.start;
        while first < wanted.end {
            let count = BLOCK.min(wanted.end - first);
            let place = header.place(variable, *frame, first).ok_or_else(|| shape(&variable.name))?;
            bytes.resize((count * width) as usize, 0);
            file.read_exact_at(&mut bytes, place).map_err(|error| Problem::Told(error.to_string()))?;
            bytes.chunks_exact(width as usize).for_each(|value| {
                let value = variable.kind.number(value);
                is_missing |= fill == Some(value);
                show((value * scale.unwrap_or(1.0) + offset.unwrap_or(0.0)) * factor);
            });
            first += count;
        }
        if is_missing {
            return Err(Problem::Told(format!(
                "frame {}: values of `{}` are missing",
                frame + 1,
                variable.name
            )));
        }
        Ok(())
    }
}

fn whole_step(step: f64) -> Result<u64, Problem> {
    /// Up to this limit, all whole numbers can be represented.
    const MOST: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if step.fract() == 0.0 && (0.0..MOST).contains(&step) {
        return Ok(step as u64);
    }
    Err(Problem::Malformed {
        text: step.to_string(),
        expected: "a whole number from 0",
        place: "variable step",
    })
}

fn frame_time(time: f64, kind: Kind) -> Result<FrameTime, Problem> {
    match time {
        _ if !time.is_finite() => {
            Err(Problem::NotFinite { text: time.to_string(), place: "the time of the frame" })
        }
        _ if kind == Kind::Float => Ok(FrameTime::Single(time)),
        _ => Ok(FrameTime::Double(time)),
    }
}

fn missing(what: &str) -> Problem {
    Problem::Missing { what: what.to_owned(), expected: "AMBER's convention for trajectories".to_owned() }
}

fn shape(name: &str) -> Problem {
    Problem::Told(format!(
        "it is damaged: variable `{name}` has not the shape that AMBER's convention gives it"
    ))
}
