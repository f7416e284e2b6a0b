//! All ranks wait for each other.

use md_comm::World;

use super::series::{Series, parts};
use super::{Benchmark, Case, Ground};
use crate::compare::Problem;
use crate::sampling::sample_in_turn;

/// The world's barrier.
pub(super) struct Barrier;

impl Benchmark for Barrier {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn mechanism(&self, _: &Case) -> &'static str {
        super::COLLECTIVE
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.once(&[0])
    }

    fn run(&self, _: &Case, world: &dyn World, budget_s: f64) -> Result<Vec<Series>, Problem> {
        let samples_s = sample_in_turn(world, 1, budget_s, |_, iterations| {
            (0..iterations).try_for_each(|_| world.barrier()).map_err(Problem::from)
        })?;
        Ok(parts(&[""], samples_s, 0.0))
    }
}
