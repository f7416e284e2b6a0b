//! Barrier of all ranks.

use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_one;

/// Barrier of the world.
pub(super) struct Barrier;

impl Benchmark for Barrier {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground
            .once(super::ground::COLLECTIVE, &[0])
            .into_iter()
            .take(1)
            .map(|case| Case { bytes: 0, ..case })
            .collect()
    }

    fn run(&self, _: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let samples_s = sample_one(world, effort, || world.barrier())?;
        Ok(parts(&[""], samples_s, 0.0))
    }
}
