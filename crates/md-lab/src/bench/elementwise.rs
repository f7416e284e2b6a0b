//! Many small puts, or one.

use md_comm::mpi::{At, PlainWindow};

use super::plain::{allocated, content, fill, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::compare::Problem;
use crate::sampling::sample_in_turn;

/// 1 to 10^5 numbers.
const SIZES: [usize; 4] = [8, 800, 8_000, 800_000];
const NUMBER: usize = size_of::<f64>();

/// Rank 0 to its partner: a put of each number and one flush, and one put of all.
pub(super) struct Elementwise;

impl Benchmark for Elementwise {
    fn name(&self) -> &'static str {
        "elementwise"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.plain(&["put"], &SIZES)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (world, bytes, to) = (stage.world, case.bytes, At::start_of(case.peer));
        let (is_source, is_target) = (world.rank() == 0, world.rank() == case.peer);
        let pieces = [NUMBER, bytes.max(1)];
        let work = |window: &mut PlainWindow| {
            fill(window, world, bytes)?;
            window.lock_all()?;
            let samples_s = sample_in_turn(world, pieces.len(), stage.effort, |kind, iterations| {
                for _ in 0..if is_source { iterations } else { 0 } {
                    for offset in (0..bytes).step_by(pieces[kind]) {
                        let piece = offset..bytes.min(offset + pieces[kind]);
                        window.put(piece, At { offset, ..to })?;
                    }
                    window.flush()?;
                }
                Ok::<_, Problem>(())
            })?;
            window.unlock_all()?;
            Ok(samples_s)
        };
        let right = |_: &_, own: &[u8]| Ok(!is_target || content(0).first_wrong(own).is_none());
        let samples_s = verified(stage, allocated(bytes), work, right)?;
        Ok(parts(&["", "whole"], samples_s, bytes as f64))
    }
}
