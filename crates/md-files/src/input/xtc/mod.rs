//! XTC of GROMACS: positions of particles, with the precision that the file contains, and no other
//! data.
//!
//! The last of several frames is read, unless another is requested. Particles have the ids 1, 2,
//! ... in the order of the file, and belong to the scenario's first species. The box must be
//! orthogonal; its lower corner is the origin. Numbers are taken as reduced units.

mod coordinates;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::error::{Position, Problem};
use super::fields::{self, AXES, Record};
use super::source::Source;
use super::{Contents, FrameTime, InputParticles};
use coordinates::{Coordinates, Ranges};
use md_scenario::failure::RunError;

/// Magic numbers of the format, each with the number of bytes that contain the length of a frame's
/// particles.
const KINDS: [(u32, u64); 2] = [(1995, 4), (2023, 8)];

/// Number of bytes of a frame before its particles.
const HEAD: usize = 56;

/// Largest number of particles that are not compressed.
const FEW: u64 = 9;

/// Number of bytes between the head of a frame and the length of its particles. They contain the
/// precision and the ranges of the coordinates.
const RANGES: usize = 32;

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

/// Reader of one frame.
struct FrameReader<'f> {
    file: &'f File,
    /// Size of the file.
    size: u64,
    /// Number of the frame, from 1.
    number: u64,
}

impl FrameReader<'_> {
    fn read(&self, bytes: &mut [u8], at: u64) -> Result<(), Problem> {
        self.file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.cut(at + bytes.len() as u64),
            _ => Problem::Told(error.to_string()),
        })
    }

    /// Returns the end of packed particles, whose length is in the `width` bytes at `at`.
    fn end_of_packed(&self, particles: u64, at: u64, width: u64) -> Result<u64, Problem> {
        let mut length = [0; 8];
        self.read(&mut length[8 - width as usize..], at)?;
        let bytes = u64::from_be_bytes(length);
        // A particle takes at least one bit.
        if particles > bytes.saturating_mul(8) {
            return Err(self.damaged(&format!("has {particles} particles in {bytes} bytes")));
        }
        let end = bytes.checked_next_multiple_of(4).and_then(|bytes| (at + width).checked_add(bytes));
        end.ok_or_else(|| self.damaged("is longer than any file"))
    }

    fn cut(&self, end: u64) -> Problem {
        let Self { size, number, .. } = *self;
        Problem::CutAt { size, what: format!("frame {number}"), end, whole: number - 1 }
    }

    fn damaged(&self, what: &str) -> Problem {
        Problem::Told(format!("it is damaged: frame {} {what}", self.number))
    }
}

struct Frame {
    particles: u64,
    step: u32,
    time: FrameTime,
    lengths: [f32; 3],
    /// First number of the box vectors that is off the diagonal and not zero.
    tilt: Option<f32>,
    /// Number of bytes that contain the length of the packed particles.
    width: u64,
    /// Position of the particles in the file.
    body: u64,
    /// Position of the next frame.
    end: u64,
}

impl Frame {
    fn read(file: &File, at: u64, number: u64, size: u64) -> Result<Self, Problem> {
        let reader = FrameReader { file, size, number };
        let mut head = [0; HEAD];
        reader.read(&mut head, at)?;
        let (words, _) = head.as_chunks::<4>();
        let word = |index: usize| words.get(index).map_or(0, |word| u32::from_be_bytes(*word));
        let number_of = |index: usize| f32::from_bits(word(index));
        let Some(&(_, width)) = KINDS.iter().find(|(magic, _)| *magic == word(0)) else {
            let what = word(0);
            return Err(Problem::Told(format!(
                "frame {number} (byte {at}) does not begin with a magic number of XTC, but with {what}"
            )));
        };
        let particles = u64::from(word(1));
        if word(13) != word(1) {
            return Err(reader.damaged(&format!("has {} and {} particles", word(1), word(13))));
        }
        let body = at + HEAD as u64;
        let end = match particles {
            0..=FEW => body + 12 * particles,
            _ => reader.end_of_packed(particles, body + RANGES as u64, width)?,
        };
        if end > size {
            return Err(reader.cut(end));
        }
        let tilt = [5, 6, 7, 9, 10, 11].map(number_of).into_iter().find(|&beside| beside != 0.0);
        let lengths = [number_of(4), number_of(8), number_of(12)];
        let time = FrameTime::Single(number_of(3).into());
        Ok(Self { particles, step: word(2), time, lengths, tilt, width, body, end })
    }

    /// Checks that the frame is a possible system.
    fn checked(self) -> Result<Self, Problem> {
        if self.particles == 0 {
            return Err(Problem::Told("its frame has 0 particles".to_owned()));
        }
        if let Some(number) = self.lengths.iter().chain(&self.tilt).find(|number| !number.is_finite()) {
            return Err(Problem::NotFinite { text: number.to_string(), place: "the box of the frame" });
        }
        if !self.time.value().is_finite() {
            return Err(Problem::NotFinite { text: self.time.to_string(), place: "the time of the frame" });
        }
        if let Some(tilt) = self.tilt {
            let supported = format!("its vectors must lie along the axes, found {tilt:?} beside one");
            return Err(Problem::Unsupported { what: "the triclinic box".to_owned(), supported });
        }
        match AXES.into_iter().zip(self.lengths).find(|(_, length)| *length <= 0.0) {
            Some((axis, length)) => Err(Problem::Box { axis, length: length.into() }),
            None => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests;
