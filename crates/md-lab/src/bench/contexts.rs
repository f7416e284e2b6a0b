//! Costs of a context: opening and closing it, and a rebuild where no message has grown.

use md_comm::Buffering;

use super::line::{Line, spec, verified};
use super::series::{Series, parts};
use super::torus::{NEIGHBOURS, Torus};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_one;

/// Bytes of one message of 26.
const SIZES: [usize; 3] = [8, 8_000, 800_000];

/// Cost of contexts with 26 neighbours on a torus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contexts {
    /// Opening and closing.
    Creation,
    /// Negotiation of the message lengths.
    Negotiation,
}

impl Benchmark for Contexts {
    fn name(&self) -> &'static str {
        if *self == Self::Creation { "creation" } else { "negotiation" }
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&SIZES, ground.distance(), 0)
    }

    fn messages(&self, _: &Case) -> usize {
        NEIGHBOURS
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let spec = spec(Torus::Three.edges(world.rank(), world.ranks(), case.bytes), Buffering::Double);
        let samples_s = match self {
            Self::Creation => sample_one(world, effort, || Line::open(world, spec.clone())?.finalise())?,
            Self::Negotiation => verified(world, [Line::open(world, spec)?], |[line]| {
                Ok(sample_one(world, effort, || line.negotiate(&[case.bytes; NEIGHBOURS]))?)
            })?,
        };
        Ok(parts(&[""], samples_s, 0.0))
    }
}
