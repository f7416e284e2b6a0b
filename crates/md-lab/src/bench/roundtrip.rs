//! A message there and back.

use md_comm::{Buffering, World};

use super::line::{Handling, Line, one_way, spec, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, powers_of_two};
use crate::compare::Problem;
use crate::sampling::sample_in_turn;

/// Rank 0 to its partner and back, with messages as they are and with copies.
pub(super) struct Roundtrip;

impl Benchmark for Roundtrip {
    fn name(&self) -> &'static str {
        "roundtrip"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        let cases = |(peer, distance)| ground.each(&powers_of_two(), distance, peer);
        ground.partners().into_iter().flat_map(cases).collect()
    }

    fn run(&self, case: &Case, world: &dyn World, budget_s: f64) -> Result<Vec<Series>, Problem> {
        let edges = one_way(world.rank(), [0, case.peer], 1, case.bytes);
        let there = Line::open(world, spec(edges, Buffering::Double))?;
        let back = there.reverse()?;
        let handling = [Handling::InPlace, Handling::Copied];
        let samples_s = verified(world, [there, back], |lines| {
            sample_in_turn(world, handling.len(), budget_s, |kind, iterations| {
                for _ in 0..iterations {
                    lines.iter_mut().try_for_each(|line| line.exchange(handling[kind], |_| Ok(())))?;
                }
                Ok(())
            })
        })?;
        Ok(parts(&["", "copied"], samples_s, 2.0 * case.bytes as f64))
    }
}
