//! XTC of GROMACS: positions of particles, with the precision that the file contains, and no other
//! data.
//!
//! The last of several frames is read, unless another is requested. Particles have the ids 1, 2,
//! ... in the order of the file, and belong to the scenario's first species. The box must be
//! orthogonal; its lower corner is the origin. Numbers are taken as reduced units.
//!
//! The reader of the crate `molly` panics on damaged frames, and rounds positions to `f32`.

mod coordinates;
mod frame;

use std::fs::File;
use std::os::unix::fs::FileExt;

use md_scenario::failure::RunError;

use super::error::{Position, Problem};
use super::fields::{self, Record};
use super::source::Source;
use super::{Contents, InputParticles};
use coordinates::{Coordinates, Ranges};
use frame::{FEW, Frame, RANGES};

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
    Ok(read_after(source, Place::default(), species, wanted)?.0)
}

/// End of a frame. The default is the beginning of the file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    /// Number of frames so far.
    number: u64,
    /// Position in bytes.
    at: u64,
}

/// Reads the frame after `place`, and moves `place` to its end. Returns `None` at the end of the
/// file.
///
/// # Errors
/// Returns the errors of [`read`].
pub(crate) fn read_next(
    source: &Source<'_>,
    place: &mut Place,
    species: &[String],
) -> Result<Option<InputParticles>, RunError> {
    let (_, size) =
        source.opened().map_err(|problem| Position { file: source.name, line: None }.error(problem))?;
    if place.at == size {
        return Ok(None);
    }
    let (particles, end) = read_after(source, *place, species, Some(place.number + 1))?;
    *place = end;
    Ok(Some(particles))
}

/// Reads this rank's particles of a frame after a place, and returns the end of the frame.
/// *Collective.*
fn read_after(
    source: &Source<'_>,
    place: Place,
    species: &[String],
    wanted: Option<u64>,
) -> Result<(InputParticles, Place), RunError> {
    let whole = Position { file: source.name, line: None };
    let read = || {
        let frames = Frames::open(source, place, wanted)?;
        let records = frames.records(source)?;
        Ok((frames, records))
    };
    let (frames, records) = source.agree(read().map_err(|problem| whole.error(problem)))?;
    let records = fields::sorted_by_id(source, records, None)?;
    let mut particles = fields::particles(source, &records, frames.wanted.particles)?;
    particles.lengths = frames.wanted.lengths.map(f64::from);
    particles.masses = vec![None; species.len()];
    (particles.lacks_types, particles.step) = (true, Some(frames.wanted.step.into()));
    particles.time = Some(frames.wanted.time);
    let Frames { number, count, .. } = frames;
    if number > 1 || count.is_some_and(|count| count > 1) {
        particles.frame = Some(number);
        let of_all = count.map_or_else(String::new, |count| format!(" of {count}"));
        particles.notes.push(format!("the particles are those of frame {number}{of_all}"));
    }
    Ok((particles, Place { number, at: frames.wanted.end }))
}

/// Returns the contents of a file, for `inspect`.
///
/// # Errors
/// Returns the fault of the file.
pub(crate) fn contents(source: &Source<'_>) -> Result<Contents, RunError> {
    let whole = Position { file: source.name, line: None };
    let Frames { number, wanted, .. } =
        Frames::open(source, Place::default(), None).map_err(|problem| whole.error(problem))?;
    Ok(Contents {
        format: "XTC",
        frames: number,
        particles: wanted.particles,
        step: Some(wanted.step.to_string()),
        time: Some(wanted.time.to_string()),
        units: None,
        origin: [0.0; 3],
        lengths: wanted.lengths.map(f64::from),
        columns: "positions".to_owned(),
    })
}

/// An open file, and its wanted frame.
struct Frames {
    file: File,
    /// Number of the frame, from 1.
    number: u64,
    /// Number of frames in the file, if all have been found.
    count: Option<u64>,
    wanted: Frame,
}

impl Frames {
    /// Finds a frame after a place, counted from 1, or the last one.
    fn open(source: &Source<'_>, place: Place, wanted: Option<u64>) -> Result<Self, Problem> {
        let (file, size) = source.opened()?;
        let Place { mut number, mut at } = place;
        let mut last = None;
        while at < size && wanted.is_none_or(|wanted| number < wanted) {
            let frame = Frame::read(&file, at, number + 1, size)?;
            (at, number, last) = (frame.end, number + 1, Some(frame));
        }
        let count = (at >= size).then_some(number);
        match last {
            Some(frame) if wanted.is_none_or(|wanted| wanted == number) => {
                Ok(Self { file, number, count, wanted: frame.checked()? })
            }
            None if size == 0 => Err(Problem::Empty),
            _ => Err(Problem::NoFrame { number: wanted.unwrap_or_default(), count: number }),
        }
    }

    /// Reads the particles of a rank. Every rank decodes all particles, because the position of one
    /// in the data depends on those before it.
    fn records(&self, source: &Source<'_>) -> Result<Vec<Record>, Problem> {
        let Frame { particles, body, .. } = self.wanted;
        let own = source.part(particles);
        let no_room = |_| Problem::Told("there is no room for its particles".to_owned());
        let mut records = Vec::new();
        records.try_reserve_exact((own.end - own.start) as usize).map_err(no_room)?;
        let mut keep = |id: u64, position: [f64; 3]| {
            if position.iter().any(|x| !x.is_finite()) {
                return Err(Problem::Particle { id, problem: format!("its position is {position:?}") });
            }
            if own.contains(&(id - 1)) {
                records.push(Record { id, kind: 1, position, ..Record::default() });
            }
            Ok(())
        };
        let mut bytes = Vec::new();
        let length = (self.wanted.end - body) as usize;
        bytes.try_reserve_exact(length).map_err(no_room)?;
        bytes.resize(length, 0);
        self.file.read_exact_at(&mut bytes, body).map_err(|error| Problem::Told(error.to_string()))?;
        if particles <= FEW {
            for (id, place) in (1..).zip(bytes.as_chunks::<12>().0) {
                let (words, _) = place.as_chunks::<4>();
                keep(id, [0, 1, 2].map(|dim| f32::from_be_bytes(words[dim]).into()))?;
            }
            return Ok(records);
        }
        let damaged = |what: String| Problem::Told(format!("it is damaged: frame {}: {what}", self.number));
        let (ranges, packed) =
            bytes.split_first_chunk::<RANGES>().ok_or_else(|| damaged("no ranges".to_owned()))?;
        let packed = packed.get(self.wanted.width as usize..).unwrap_or_default();
        let ranges = Ranges::from_bytes(ranges).map_err(damaged)?;
        let mut coordinates = Coordinates::new(ranges, packed);
        for id in 1..=particles {
            let place = coordinates.next().map_err(|what| damaged(format!("particle {id}: {what}")))?;
            keep(id, place)?;
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests;
