//! Pairs already found by the interaction, for observers.

use std::fmt;

use md_core::analysis::{DistanceBins, PairCounts};
use md_core::{CellGrid, HaloPlan, LocalCells, Particles, SimdLevel, Threads, force::PairWork};

use crate::forces::interaction::Interaction;

/// Pairs of one rank. Ghosts are at their present positions, those at which the forces of this step
/// were computed.
#[derive(Clone, Copy)]
pub struct NearPairs<'a> {
    pub(crate) interaction: &'a dyn Interaction,
    /// Owned particles and ghosts.
    pub particles: &'a Particles,
    /// Particles by cell.
    pub cells: &'a LocalCells,
    /// Cells of the global box.
    pub grid: &'a CellGrid,
    /// Owned and ghost cells of this rank.
    pub plan: &'a HaloPlan,
    /// Pairs of cells that this rank computes.
    pub pairs: &'a PairWork,
    /// Threads of this rank.
    pub threads: &'a Threads,
    /// Instruction set of the kernels.
    pub simd: SimdLevel,
}

impl NearPairs<'_> {
    /// Counts pairs of `species` species by distance; the sum over ranks contains each pair of the
    /// system once. Returns `None`, on all ranks, if the interaction does not have all pairs at
    /// these distances.
    pub fn count(&self, species: usize, bins: DistanceBins) -> Option<PairCounts> {
        self.interaction.count_distances(self, species, bins)
    }
}

impl fmt::Debug for NearPairs<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NearPairs").finish_non_exhaustive()
    }
}
