//! XTC of GROMACS: what a file holds. It is no file to start from: it has neither ids nor types nor velocities.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Contents;
use super::error::{Here, Problem};
use super::source::Source;
use crate::error::RunError;

/// Magic numbers of the format, and bytes of the length of a frame's particles in each.
const KINDS: [(u32, u64); 2] = [(1995, 4), (2023, 8)];

/// Bytes of a frame before its particles.
const HEAD: usize = 56;

/// So few particles are not compressed.
const FEW: u64 = 9;

/// Bytes between the head of a frame and the length of its particles.
const RANGES: u64 = 32;

/// What a file holds, for `inspect`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn contents(source: &Source<'_>) -> Result<Contents, RunError> {
    let whole = Here { file: source.name, line: None };
    let frames = || {
        let file = File::open(source.path()).map_err(|error| error.to_string())?;
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        let (mut at, mut count, mut last) = (0, 0, None);
        while at < size {
            let frame = Frame::read(&file, at, count + 1)?;
            (at, count) = (frame.end, count + 1);
            if at > size {
                return Err(format!("it is cut: it has {size} bytes, but frame {count} ends at byte {at}"));
            }
            last = Some(frame);
        }
        last.map(|frame| (count, frame)).ok_or_else(|| "it is empty".to_owned())
    };
    let (frames, last) = frames().map_err(|problem| whole.error(Problem::Told(problem)))?;
    Ok(Contents {
        format: "XTC",
        frames,
        particles: last.particles,
        step: Some(last.step.to_string()),
        time: Some(format!("{:?}", last.time)),
        origin: [0.0; 3],
        lengths: last.lengths.map(f64::from),
        columns: "positions".to_owned(),
    })
}

struct Frame {
    particles: u64,
    step: u32,
    time: f32,
    lengths: [f32; 3],
    /// Where the next one begins.
    end: u64,
}

impl Frame {
    fn read(file: &File, at: u64, number: u64) -> Result<Self, String> {
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("it is cut: it ends within frame {number}"),
            _ => error.to_string(),
        };
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, at).map_err(cut)?;
        let (words, _) = head.as_chunks::<4>();
        let word = |index: usize| words.get(index).map_or(0, |word| u32::from_be_bytes(*word));
        let number_of = |index: usize| f32::from_bits(word(index));
        let Some((_, width)) = KINDS.iter().find(|(magic, _)| *magic == word(0)) else {
            return Err(format!(
                "frame {number} (byte {at}) does not begin with a magic number of XTC, but with {}",
                word(0)
            ));
        };
        let particles = u64::from(word(1));
        if word(13) != word(1) {
            return Err(format!("it is damaged: frame {number} has {} and {} particles", word(1), word(13)));
        }
        let body = at + HEAD as u64;
        let end = if particles <= FEW {
            body + 12 * particles
        } else {
            let mut length = [0; 8];
            let place = &mut length[8 - *width as usize..];
            file.read_exact_at(place, body + RANGES).map_err(cut)?;
            let bytes = u64::from_be_bytes(length).checked_next_multiple_of(4);
            let end = bytes.and_then(|bytes| (body + RANGES + width).checked_add(bytes));
            end.ok_or_else(|| format!("it is damaged: the length of frame {number} is wrong"))?
        };
        let lengths = [number_of(4), number_of(8), number_of(12)];
        Ok(Self { particles, step: word(2), time: number_of(3), lengths, end })
    }
}
