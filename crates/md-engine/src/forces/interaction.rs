//! The interface of an interaction.
//!
//! An interaction computes forces on the particles of a rank from owned particles and ghosts. It
//! moves data between ranks only by [`ForceContext::gather`] and [`ForceContext::scatter_add`], as
//! often as necessary. Pair forces use each once: positions to ghosts, forces to owners. The
//! embedded-atom method uses each once more: electron densities to owners, derivatives of the
//! embedding energy to ghosts (`tests/embedded_atom.rs`).

use std::fmt;

use md_core::analysis::{DistanceBins, PairCounts};
use md_core::force::PairWork;
use md_core::potential::Tail;
use md_core::{
    CellGrid, Dimension, Evaluation, HaloPlan, LocalCells, PairSums, Particles, SimdLevel, Threads,
};

use super::ForceContext;
use crate::error::EngineError;

/// Computation of forces. All ranks call each method together.
pub trait Interaction {
    /// Returns the largest distance of two particles that interact, \[length\].
    fn cutoff(&self) -> f64;

    /// Registers fields needed in addition to positions and forces ([`Particles::register`]).
    fn register(&mut self, _particles: &mut Particles) {}

    /// Returns the mean-field correction of energy and pressure for `counts[species]` particles in
    /// `volume`.
    fn tail(&self, _counts: &[u64], _volume: f64, _dimension: Dimension) -> Tail {
        Tail::default()
    }

    /// Prepares for the present particles; called after cells are sorted and ghosts are assigned.
    ///
    /// # Errors
    /// Communication.
    fn rebuild(&mut self, _context: &mut ForceContext) -> Result<(), EngineError> {
        Ok(())
    }

    /// Returns the work per step of each owned cell since the last [`Self::rebuild`], in computed
    /// pairs. The work is divided among ranks according to it. If `None`, it is estimated from the
    /// numbers of particles.
    fn pairs_by_cell(&self, _cells: &LocalCells, _plan: &HaloPlan) -> Option<Vec<f64>> {
        None
    }

    /// Returns the energy of each owned particle, or `None` if it is not available. The sum over
    /// ranks is the energy of the system without tail correction. Does not change the forces.
    ///
    /// # Errors
    /// Communication.
    fn particle_energies(&mut self, _context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        Ok(None)
    }

    /// Returns the diagonal of the virial of each owned particle, xx, yy and zz, or `None` if it is
    /// not available. The sums over ranks are those of the system. Does not change the forces.
    ///
    /// # Errors
    /// Communication.
    fn particle_virials(
        &mut self,
        _context: &mut ForceContext,
    ) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        Ok(None)
    }

    /// Counts pairs of `species` species by distance, as [`NearPairs::count`].
    fn count_distances(&self, _near: &NearPairs, _species: usize, _bins: DistanceBins) -> Option<PairCounts> {
        None
    }

    /// Adds the forces on all owned particles. `evaluation` determines whether energy and virial of
    /// this rank's pairs are computed; their sums over ranks are those of the system.
    ///
    /// # Errors
    /// Communication.
    fn add_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError>;
}

/// Pairs of one rank that the interaction has already found, for observers. Ghosts are at their
/// present positions, those at which the forces of this step were computed.
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
