//! Many small puts compared with one large put.

use md_comm::mpi::{At, PlainWindow};

use super::plain::{Epochs, Ways, allocated, content, fill};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;

/// 1 to 10^5 numbers.
const SIZES: [usize; 4] = [8, 800, 8_000, 800_000];
const NUMBER: usize = size_of::<f64>();

/// Rank 0 to its partner: one put per number and one flush, or a single put of all numbers.
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
        let once = |window: &mut PlainWindow, way: usize| {
            if !is_source {
                return Ok(());
            }
            for offset in (0..bytes).step_by(pieces[way]) {
                window.put(offset..bytes.min(offset + pieces[way]), At { offset, ..to })?;
            }
            window.flush().map_err(Problem::from)
        };
        let ways = Ways {
            count: pieces.len(),
            epochs: Epochs::Locked,
            prepare: &|window| fill(window, world, bytes),
            once: &once,
            right: &|own| !is_target || content(0).first_wrong(&own[0]).is_none(),
        };
        let samples_s = ways.sample(stage, allocated(bytes))?;
        Ok(parts(&["", "whole"], samples_s, bytes as f64))
    }
}
