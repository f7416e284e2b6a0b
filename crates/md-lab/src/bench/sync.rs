//! Halo exchange as in two or three dimensions.

use md_comm::{Backend, Buffering};

use super::line::{Handling, Line, exchanged, spec};
use super::series::{Series, parts};
use super::torus::Torus;
use super::{Benchmark, Case, Ground, Mechanism, Stage};
use crate::Problem;

/// 1, 10^3 and 10^6 numbers (Schmelz 2019).
const SIZES: [usize; 3] = [8, 8_000, 8_000_000];

/// Messages from every rank to all its neighbours on a torus, with copies.
pub(super) struct Sync(pub(super) Torus);

impl Benchmark for Sync {
    fn name(&self) -> &'static str {
        match self.0 {
            Torus::Two => "sync8",
            Torus::Three => "sync26",
        }
    }

    /// Adds flags that are read by MPI calls if MPI's own calls are measured.
    fn cases(&self, ground: &Ground) -> Vec<Case> {
        let mut cases = ground.each(&SIZES, ground.distance(), 0);
        if ground.has_calls {
            let notify = Mechanism::Context(Backend::RmaNotify);
            let fast: Vec<Case> = cases.iter().filter(|case| case.mechanism == notify).copied().collect();
            cases.extend(fast.into_iter().map(|case| Case { mechanism: Mechanism::StrictNotify, ..case }));
        }
        cases
    }

    fn messages(&self, _: &Case) -> usize {
        self.0.neighbours()
    }

    fn least_s(&self, case: &Case) -> f64 {
        /// Warm-up, samples and checks.
        const EXCHANGES: usize = 9;
        /// Assumed bandwidth of copying in, moving and copying out.
        const BYTES_PER_S: f64 = 5e8;
        let bytes = EXCHANGES * self.messages(case) * case.bytes;
        bytes as f64 / BYTES_PER_S
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let edges = self.0.edges(world.rank(), world.ranks(), case.bytes);
        let line = Line::open(world, spec(edges, Buffering::Double))?;
        let samples_s = exchanged(world, [line], effort, &[Handling::Copied])?;
        Ok(parts(&[""], samples_s, (self.messages(case) * case.bytes) as f64))
    }
}
