//! Shift of messages around a ring.

use md_comm::{Buffering, Flow};

use super::line::{Handling, Line, spec, verified};
use super::overlap::ring;
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_in_turn;

const SIZES: [usize; 6] = [8, 512, 8 << 10, 128 << 10, 1 << 20, 8 << 20];

/// Messages to the next rank, and to both neighbours, with copies.
pub(super) struct Ringshift;

impl Benchmark for Ringshift {
    fn name(&self) -> &'static str {
        "ringshift"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&SIZES, ground.distance(), 0)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let both = ring(world, case.bytes);
        let mut one = both.clone();
        (one[0].flow, one[1].flow) = (Flow::SendOnly, Flow::ReceiveOnly);
        let open = |edges| Line::open(world, spec(edges, Buffering::Double));
        let samples_s = verified(world, [open(one)?, open(both)?], |lines| {
            sample_in_turn(world, lines.len(), effort, |kind, iterations| {
                (0..iterations).try_for_each(|_| lines[kind].exchange(Handling::Copied, |_| Ok(())))?;
                Ok(())
            })
        })?;
        let mut series = parts(&["", "both"], samples_s, case.bytes as f64);
        series[1].bytes_moved *= 2.0;
        Ok(series)
    }
}
