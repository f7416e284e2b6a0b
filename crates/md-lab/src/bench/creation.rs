//! Cost of opening and closing a context.

use md_comm::Buffering;

use super::line::{Line, spec};
use super::series::{Series, parts};
use super::torus::{NEIGHBOURS, Torus};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_in_turn;

/// Bytes of one message of 26.
pub(super) const SIZES: [usize; 3] = [8, 8_000, 800_000];

/// Opening and closing of contexts with 26 neighbours on a torus.
pub(super) struct Creation;

impl Benchmark for Creation {
    fn name(&self) -> &'static str {
        "creation"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&SIZES, ground.distance(), 0)
    }

    fn messages(&self, _: &Case) -> usize {
        NEIGHBOURS
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let edges = Torus::Three.edges(world.rank(), world.ranks(), case.bytes);
        let spec = spec(edges, Buffering::Double);
        let samples_s = sample_in_turn(world, 1, effort, |_, iterations| {
            (0..iterations)
                .try_for_each(|_| Line::open(world, spec.clone())?.finalise())
                .map_err(Problem::from)
        })?;
        Ok(parts(&[""], samples_s, 0.0))
    }
}
