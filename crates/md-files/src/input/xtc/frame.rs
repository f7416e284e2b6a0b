//! Heads of the frames of XTC: the box, the time, and the place of the particles in the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::input::FrameTime;
use crate::input::error::Problem;
use crate::input::fields::AXES;

/// Magic numbers of the format, each with the number of bytes that contain the length of a frame's
/// particles.
const KINDS: [(u32, u64); 2] = [(1995, 4), (2023, 8)];

/// Number of bytes of a frame before its particles.
const HEAD: usize = 56;

/// Largest number of particles that are not compressed.
pub(super) const FEW: u64 = 9;

/// Number of bytes between the head of a frame and the length of its particles. They contain the
/// precision and the ranges of the coordinates.
pub(super) const RANGES: usize = 32;

/// A frame, without its particles.
pub(super) struct Frame {
    pub(super) particles: u64,
    pub(super) step: u32,
    pub(super) time: FrameTime,
    pub(super) lengths: [f32; 3],
    /// First number of the box vectors that is off the diagonal and not zero.
    tilt: Option<f32>,
    /// Number of bytes that contain the length of the packed particles.
    pub(super) width: u64,
    /// Position of the particles in the file.
    pub(super) body: u64,
    /// Position of the next frame.
    pub(super) end: u64,
}

impl Frame {
    pub(super) fn read(file: &File, at: u64, number: u64, size: u64) -> Result<Self, Problem> {
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
    pub(super) fn checked(self) -> Result<Self, Problem> {
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
