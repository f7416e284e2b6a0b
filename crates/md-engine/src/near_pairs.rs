//! The pairs that the interaction knows, for observers: found already, and not searched again.

use std::fmt;

use md_core::analysis::{DistanceBins, PairCounts};
use md_core::{CellGrid, HaloPlan, LocalCells, Particles, SimdLevel, Threads, force::PairWork};

use crate::interaction::Interaction;

/// One rank's pairs. Ghosts are where they were when the forces of this step were computed, which is where they are.
#[derive(Clone, Copy)]
pub struct NearPairs<'a> {
    pub(crate) interaction: &'a dyn Interaction,
    /// Owned particles and ghosts.
    pub particles: &'a Particles,
    /// Which particles are in which cell.
    pub cells: &'a LocalCells,
    /// The cells of the global box.
    pub grid: &'a CellGrid,
    /// The owned and ghost cells of this rank.
    pub plan: &'a HaloPlan,
    /// The pairs of cells that this rank computes.
    pub pairs: &'a PairWork,
    /// Threads of this rank.
    pub threads: &'a Threads,
    /// Instruction set of the kernels.
    pub simd: SimdLevel,
}

impl NearPairs<'_> {
    /// Pairs of so many species by distance: the sum over ranks has each pair of the system once. `None`, on all ranks, where the interaction
    /// does not know all pairs of these distances.
    pub fn count(&self, species: usize, bins: DistanceBins) -> Option<PairCounts> {
        self.interaction.count_distances(self, species, bins)
    }
}

impl fmt::Debug for NearPairs<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NearPairs").finish_non_exhaustive()
    }
}
