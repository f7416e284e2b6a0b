//! A halo as in three dimensions.

use md_comm::Buffering;

use super::line::{Handling, Line, spec, verified};
use super::series::{Series, parts};
use super::torus::{self, NEIGHBOURS};
use super::{Benchmark, Case, Ground, Stage};
use crate::compare::Problem;
use crate::sampling::sample_in_turn;

/// 1, 10^3 and 10^5 numbers.
const SIZES: [usize; 3] = [8, 8_000, 800_000];

/// Every rank to its 26 neighbours on a torus, with copies.
pub(super) struct Sync26;

impl Benchmark for Sync26 {
    fn name(&self) -> &'static str {
        "sync26"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&SIZES, ground.distance(), 0)
    }

    fn messages(&self, _: &Case) -> usize {
        NEIGHBOURS
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let edges = torus::edges(world.rank(), world.ranks(), case.bytes);
        let line = Line::open(world, spec(edges, Buffering::Double))?;
        let samples_s = verified(world, [line], |[line]| {
            sample_in_turn(world, 1, effort, |_, iterations| {
                (0..iterations).try_for_each(|_| line.exchange(Handling::Copied, |_| Ok(())))?;
                Ok(())
            })
        })?;
        Ok(parts(&[""], samples_s, (NEIGHBOURS * case.bytes) as f64))
    }
}
