//! Choice of the instruction set by measurement ([`SimdChoice::Measured`]).

use std::time::{Duration, Instant};

use md_core::{Evaluation, SimdLevel};

use super::Simulation;
use crate::config::SimdChoice;
use crate::error::EngineError;
use crate::forces::{ForceList, GhostPositions};

/// Levels that are compared; narrower vectors are slower.
const WIDE: [SimdLevel; 3] = [SimdLevel::Avx2, SimdLevel::Avx512Vl, SimdLevel::Avx512];

/// Number of force computations per level; the fastest counts.
const TURNS: usize = 3;

impl Simulation<'_> {
    /// Returns the instruction set of the kernels and how it was chosen. If there was only one to
    /// measure, the choice is [`SimdChoice::Cpu`].
    pub fn simd(&self) -> (SimdLevel, SimdChoice) {
        (self.setup.simd, self.setup.config.parallel.simd)
    }

    /// If so configured, selects the level at which the forces take the slowest rank the least
    /// time, among those that all ranks support. Must be called after a rebuild, before forces are
    /// computed. *Collective.*
    pub(super) fn measure_levels(&mut self) -> Result<(), EngineError> {
        let choice = &mut self.setup.config.parallel.simd;
        if *choice != SimdChoice::Measured {
            return Ok(());
        }
        let mut lacks = WIDE.map(|level| if level.is_available() { 0.0 } else { 1.0 });
        self.world.max(&mut lacks)?;
        let levels =
            || WIDE.into_iter().zip(lacks).filter(|&(_, lacks)| lacks == 0.0).map(|(level, _)| level);
        if levels().count() < 2 {
            *choice = SimdChoice::Cpu;
            return Ok(());
        }
        let mut best = (self.setup.simd, f64::INFINITY);
        for level in levels() {
            let mut seconds = [self.time_forces(level)?.as_secs_f64()];
            self.world.max(&mut seconds)?;
            if seconds[0] < best.1 {
                best = (level, seconds[0]);
            }
        }
        self.prepare_forces(best.0)
    }

    fn prepare_forces(&mut self, level: SimdLevel) -> Result<(), EngineError> {
        self.setup.simd = level;
        self.visit_forces(GhostPositions::Fresh, ForceList::rebuild)
    }

    fn time_forces(&mut self, level: SimdLevel) -> Result<Duration, EngineError> {
        self.prepare_forces(level)?;
        let mut fastest = Duration::MAX;
        for _ in 0..TURNS {
            let begun = Instant::now();
            self.compute_forces(GhostPositions::Fresh, Evaluation::ForcesOnly)?;
            fastest = fastest.min(begun.elapsed());
            self.state.particles.clear_forces(&self.threads);
        }
        Ok(fastest)
    }
}
