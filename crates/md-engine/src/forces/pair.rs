//! Forces from a pair potential, with ghosts.

use std::sync::Arc;

use md_core::analysis::{DistanceBins, PairCounts};
use md_core::force::{Method, Part, System};
use md_core::potential::{PairPotential, Tail};
use md_core::{Dimension, Evaluation, HaloPlan, LocalCells, PairSums, Region};

use super::context::{ForceContext, system};
use super::force::{Force, NearPairs};
use super::particle_shares::{energy, pair_shares, virial};
use crate::division::Flight;
use crate::error::EngineError;
use crate::settings::{NeighborConfig, Overlap, ParallelConfig, SecondShare};

/// Forces from a pair potential.
#[derive(Debug)]
pub struct PairForces {
    potential: Arc<dyn PairPotential>,
    method: Method,
    overlap: Overlap,
    second_share: SecondShare,
}

impl PairForces {
    /// Creates the forces of a potential.
    pub fn new(
        potential: Arc<dyn PairPotential>,
        neighbor: NeighborConfig,
        parallel: &ParallelConfig,
    ) -> Self {
        let NeighborConfig { method, skin, precision, summation, .. } = neighbor;
        let ParallelConfig { overlap, second_share, .. } = *parallel;
        Self { potential, method: Method::new(method, skin, precision, summation), overlap, second_share }
    }

    pub(super) fn potential(&self) -> &dyn PairPotential {
        &*self.potential
    }

    /// Adds the forces of a region: block by block as long as messages are in flight, the rest at
    /// once.
    fn add_region(
        &mut self,
        context: &mut ForceContext,
        region: Region,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        let Self { potential, method, .. } = self;
        let (mut done, all) = (0, method.blocks(region));
        let mut total = PairSums::default();
        while done < all {
            let blocks = match context.progress()? {
                Flight::UnderWay => done..done + 1,
                Flight::Over => done..all,
            };
            done = blocks.end;
            total += context.compute(|context| {
                let (system, particles) = system(context, &**potential);
                method.add_forces(system, particles, &Part { region, blocks }, evaluation)
            });
        }
        Ok(total)
    }
}

impl Force for PairForces {
    fn cutoff(&self) -> f64 {
        self.potential.cutoff()
    }

    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        self.potential.tail(counts, volume, dimension)
    }

    fn rebuild(&mut self, context: &mut ForceContext) -> Result<(), EngineError> {
        let flights = context.halo.take_flights();
        if self.overlap == Overlap::On
            && let Some(share) = self.second_share.choose(context.pairs.second_share(), flights)
        {
            context.pairs.set_second_share(share, context.plan);
        }
        let (system, particles) = system(context, &*self.potential);
        self.method.rebuild(system, particles);
        Ok(())
    }

    fn pairs_by_cell(&self, cells: &LocalCells, plan: &HaloPlan) -> Option<Vec<f64>> {
        self.method.pairs_by_cell(cells, plan)
    }

    fn inner_skin(&self) -> Option<f64> {
        self.method.inner_skin()
    }

    fn particle_energies(&mut self, context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        let [energies] = pair_shares(&*self.potential, context, energy)?;
        Ok(Some(energies))
    }

    fn particle_virials(&mut self, context: &mut ForceContext) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        pair_shares(&*self.potential, context, virial).map(Some)
    }

    fn count_distances(&self, near: &NearPairs, species: usize, bins: DistanceBins) -> Option<PairCounts> {
        let NearPairs { particles, cells, grid, plan, pairs, threads, simd, .. } = *near;
        let system = System { grid, potential: &*self.potential, plan, pairs, cells, simd, threads };
        self.method.count_distances(system, particles, species, bins)
    }

    fn add_inner_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        self.add_region(context, Region::InnerFirst, evaluation)
    }

    fn add_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        self.add_region(context, Region::Boundary, evaluation)
    }

    fn add_remaining_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        self.add_region(context, Region::InnerSecond, evaluation)
    }
}
