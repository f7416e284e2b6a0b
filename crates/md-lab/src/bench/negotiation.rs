//! Cost of a rebuild for contexts whose messages have not grown.

use md_comm::Buffering;

use super::line::{Line, spec, verified};
use super::series::{Series, parts};
use super::torus::{NEIGHBOURS, Torus};
use super::{Benchmark, Case, Ground, Stage, creation};
use crate::Problem;
use crate::sampling::sample_in_turn;

/// Negotiation of a context with 26 neighbours on a torus.
pub(super) struct Negotiation;

impl Benchmark for Negotiation {
    fn name(&self) -> &'static str {
        "negotiation"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&creation::SIZES, ground.distance(), 0)
    }

    fn messages(&self, _: &Case) -> usize {
        NEIGHBOURS
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let edges = Torus::Three.edges(world.rank(), world.ranks(), case.bytes);
        let line = Line::open(world, spec(edges, Buffering::Double))?;
        let samples_s = verified(world, [line], |[line]| {
            sample_in_turn(world, 1, effort, |_, iterations| {
                (0..iterations)
                    .try_for_each(|_| line.negotiate(&[case.bytes; NEIGHBOURS]))
                    .map_err(Problem::from)
            })
        })?;
        Ok(parts(&[""], samples_s, 0.0))
    }
}
