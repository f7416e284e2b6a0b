//! Many messages one way.

use md_comm::Buffering;

use super::line::{Handling, Line, one_way, spec, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage, powers_of_two};
use crate::compare::Problem;
use crate::sampling::sample_in_turn;

/// Messages at a time, unless they are large.
const MESSAGES: usize = 64;
/// Bytes at a time, at most.
const MOST_BYTES: usize = 64 << 20;

/// Rank 0 to its partner, all messages under way at once.
pub(super) struct Bandwidth;

impl Benchmark for Bandwidth {
    fn name(&self) -> &'static str {
        "bandwidth"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        let cases = |(peer, distance)| ground.each(&powers_of_two()[1..], distance, peer);
        ground.partners().into_iter().flat_map(cases).collect()
    }

    fn messages(&self, case: &Case) -> usize {
        (MOST_BYTES / case.bytes.max(1)).clamp(1, MESSAGES)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let messages = self.messages(case);
        let edges = one_way(world.rank(), [0, case.peer], messages as u16, case.bytes);
        let line = Line::open(world, spec(edges, Buffering::Single))?;
        let handling = [Handling::InPlace, Handling::Copied];
        let samples_s = verified(world, [line], |[line]| {
            sample_in_turn(world, handling.len(), effort, |kind, iterations| {
                (0..iterations).try_for_each(|_| line.exchange(handling[kind], |_| Ok(())))?;
                Ok(())
            })
        })?;
        Ok(parts(&["", "copied"], samples_s, (messages * case.bytes) as f64))
    }
}
