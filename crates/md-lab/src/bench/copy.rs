//! Memory bandwidth of copies.

use std::time::Instant;

use md_comm::{CommError, Reduction, World};

use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage, block};
use crate::Problem;
use crate::sampling::sample_in_turn;

/// Bytes that are read: one size that fits into the caches, one that does not.
const SIZES: [usize; 2] = [32 << 10, 128 << 20];
/// Number of streams, as many as the populations of a lattice Boltzmann method (D3Q19).
const STREAMS: usize = 19;
/// Bytes of a turn, divided among the streams; they fit into the first-level cache.
const TURN: usize = STREAMS * 512;
/// Maximum bytes of a stream per turn: more is copied by stores that do not read the target first
/// (streaming stores, or `rep movsb`).
const LONGEST: usize = 2048;
/// Memory accesses per byte: source read, target read before it is written, target written.
const ACCESSES: usize = 3;
const PARTS: &[&str] = &[
    "1-stream",
    "19-streams",
    #[cfg(feature = "mpi")]
    STREAMING,
];
#[cfg(feature = "mpi")]
const STREAMING: &str = "streaming";

/// Copies on every rank: one stream, 19 in turn, and one with stores that bypass the caches.
pub(super) struct Copy;

impl Benchmark for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.once(super::ground::MEMORY, &SIZES)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (mut from, mut to) = (block(case.bytes, 0)?, block(case.bytes, 0)?);
        from.iter_mut().enumerate().for_each(|(place, byte)| *byte = place as u8);
        let samples_s = sample_in_turn(stage.world, PARTS.len(), stage.effort, |part, iterations| {
            for _ in 0..iterations {
                copy(part, std::hint::black_box(&from), &mut to);
                std::hint::black_box(&mut to);
            }
            Ok::<_, Problem>(())
        })?;
        if let Some(part) = first_wrong(copy, &from, &mut to) {
            return Err(Problem::wrong(format!("a copy is not its original: {part}")));
        }
        #[cfg_attr(not(feature = "mpi"), expect(unused_mut, reason = "all parts move the same"))]
        let mut series = parts(PARTS, samples_s, (ACCESSES * case.bytes) as f64);
        // Streaming stores do not read the target first.
        #[cfg(feature = "mpi")]
        series.iter_mut().filter(|part| part.part == STREAMING).for_each(|part| {
            part.bytes_moved -= case.bytes as f64;
        });
        Ok(series)
    }
}

/// Makes one copy as in part number `part`.
fn copy(part: usize, from: &[u8], to: &mut [u8]) {
    match part {
        0 => in_turn(to, from, 1),
        1 => in_turn(to, from, STREAMS),
        #[cfg(feature = "mpi")]
        _ => md_comm::mpi::copy_streaming(from, to),
        #[cfg(not(feature = "mpi"))]
        _ => (),
    }
}

/// Returns the first part that does not make a copy.
fn first_wrong(copy: impl Fn(usize, &[u8], &mut [u8]), from: &[u8], to: &mut [u8]) -> Option<&'static str> {
    let is_wrong = |part: &usize| {
        to.fill(0);
        copy(*part, from, to);
        to != from
    };
    (0..PARTS.len()).find(is_wrong).map(|part| PARTS[part])
}

/// Number of timed copies, after one that is not timed.
const COPIES: usize = 5;

/// Returns the bytes per second that copying `bytes` bytes in `streams` streams moves on this rank
/// while all ranks copy: the median of some copies, each byte counted as read, written, and read
/// before it is written. `None`, on all ranks, if one of them lacks the memory. *Collective.*
///
/// # Errors
/// Failed communication.
pub fn copy_bytes_per_s(world: &dyn World, bytes: usize, streams: usize) -> Result<Option<f64>, CommError> {
    let blocks = block(bytes, 1).and_then(|from| Ok((from, block(bytes, 0)?)));
    let mut lacking = [u64::from(blocks.is_err())];
    world.reduce(&mut lacking, Reduction::Highest)?;
    let (Ok((from, mut to)), [0]) = (blocks, lacking) else { return Ok(None) };
    let mut samples_s = Vec::new();
    for _ in 0..=COPIES {
        world.barrier()?;
        let begun = Instant::now();
        in_turn(&mut to, std::hint::black_box(&from), streams);
        std::hint::black_box(&mut to);
        samples_s.push(begun.elapsed().as_secs_f64());
    }
    samples_s.remove(0);
    samples_s.sort_by(f64::total_cmp);
    Ok(Some((ACCESSES * bytes) as f64 / samples_s[COPIES / 2].max(f64::MIN_POSITIVE)))
}

/// Copies in `streams` streams, a block of each in turn.
fn in_turn(to: &mut [u8], from: &[u8], streams: usize) {
    let (each, length) = (from.len().div_ceil(streams).max(1), (TURN / streams).clamp(1, LONGEST));
    for block in (0..each).step_by(length) {
        for stream in 0..streams {
            let end = (stream * each + each.min(block + length)).min(from.len());
            let start = (stream * each + block).min(end);
            to[start..end].copy_from_slice(&from[start..end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_looked_at() {
        let from: Vec<u8> = (1..=200).collect();
        let mut to = vec![0; 200];
        assert_eq!(first_wrong(copy, &from, &mut to), None);
        for (number, name) in PARTS.iter().enumerate() {
            let broken = |part: usize, from: &[u8], to: &mut [u8]| {
                if part != number {
                    copy(part, from, to);
                }
            };
            assert_eq!(first_wrong(broken, &from, &mut to), Some(*name));
        }
    }
}
