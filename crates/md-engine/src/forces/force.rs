//! The interface of a force, and what is computed at which moment.
//!
//! A simulation has a list of forces ([`super::ForceList`]), which are added up. The list exchanges
//! what all of them need, and calls each at four moments of a step:
//!
//! ```text
//! fields of ghosts leave   ->  add_inner_forces       particles that need no ghosts, first part
//! fields of ghosts are here -> add_forces             everything that needs ghosts
//! forces on ghosts leave   ->  add_remaining_forces   particles that need no ghosts, second part
//! forces are complete      ->  add_external_forces    forces on single particles
//! ```
//!
//! Only [`Force::cutoff`] and one of the four must be written. A force that does not care about the
//! time of messages writes `add_forces` alone. Within it, it may exchange more fields by
//! [`ForceContext::gather`] and [`ForceContext::scatter_add`]: the embedded-atom method returns
//! electron densities to their owners, and sends derivatives of the embedding energy to ghosts
//! (`sutton_chen.rs`).
//!
//! In a reproducible run ([`ForceContext::summation`] is [`Summation::Exact`]), positions are
//! multiples of [`POSITION_QUANTUM`], and differences of coordinates are exact. A force keeps the
//! bits independent of ranks if it is a function of such differences and adds only terms that have
//! passed through [`Summation::term`], with sizes below [`LARGEST_FORCE`].
//!
//! [`POSITION_QUANTUM`]: md_core::quantum::POSITION_QUANTUM
//! [`LARGEST_FORCE`]: md_core::quantum::LARGEST_FORCE
//! [`Summation::Exact`]: md_core::force::Summation::Exact
//! [`Summation::term`]: md_core::force::Summation::term

use std::fmt;

use md_core::analysis::{DistanceBins, PairCounts};
use md_core::force::PairWork;
use md_core::potential::Tail;
use md_core::{
    CellGrid, Dimension, Evaluation, Field, HaloPlan, LocalCells, PairSums, Particles, SimdLevel, Threads,
};

use super::context::{ForceContext, POSITIONS};
use crate::error::EngineError;

/// Part of the forces of a simulation. All ranks call each method together.
///
/// The methods that add forces return energy and virial of this rank's part if `evaluation`
/// requests them; the sums over ranks are those of the system.
///
/// ```
/// use md_core::{Evaluation, Field, PairSums};
/// use md_engine::{EngineError, Force, ForceContext};
///
/// /// Gravity along z: the force on each particle, its mass times the acceleration.
/// struct Gravity {
///     weight: f64,
/// }
///
/// impl Force for Gravity {
///     fn cutoff(&self) -> f64 {
///         0.0
///     }
///
///     /// Ghosts are not needed.
///     fn ghost_fields(&self) -> &[Field] {
///         &[]
///     }
///
///     fn add_external_forces(
///         &mut self,
///         context: &mut ForceContext,
///         _: Evaluation,
///     ) -> Result<PairSums, EngineError> {
///         let owned = context.particles.owned();
///         let [_, _, z] = &mut context.particles.force;
///         z[..owned].iter_mut().for_each(|force| *force -= self.weight);
///         let height: f64 = context.particles.position[2][..owned].iter().sum();
///         Ok(PairSums { energy: self.weight * height, ..PairSums::default() })
///     }
/// }
/// ```
pub trait Force {
    /// Returns the largest distance of two particles that interact, \[length\]; zero if particles
    /// do not interact.
    fn cutoff(&self) -> f64;

    /// Registers fields needed in addition to positions and forces ([`Particles::register`]).
    fn register(&mut self, _particles: &mut Particles) {}

    /// Returns the fields that ghosts must have in [`Self::add_forces`]. If all forces return none,
    /// positions are not sent, and forces on ghosts are not returned.
    fn ghost_fields(&self) -> &[Field] {
        POSITIONS
    }

    /// Returns the mean-field correction of energy and pressure for `counts[species]` particles in
    /// `volume`.
    fn tail(&self, _counts: &[u64], _volume: f64, _dimension: Dimension) -> Tail {
        Tail::default()
    }

    /// Prepares for the present particles; called after cells are sorted and ghosts are assigned.
    /// Positions are those of reference: what is prepared must hold as long as no particle is
    /// further than half the skin from there. True positions come later, with the ghosts' ones.
    ///
    /// # Errors
    /// Communication.
    fn rebuild(&mut self, _context: &mut ForceContext) -> Result<(), EngineError> {
        Ok(())
    }

    /// Returns the work per step of each owned cell since the last [`Self::rebuild`], in computed
    /// pairs, or `None` if it is unknown. The work is divided among ranks according to it.
    fn pairs_by_cell(&self, _cells: &LocalCells, _plan: &HaloPlan) -> Option<Vec<f64>> {
        None
    }

    /// Returns the skin of the pruned lists that this rank uses between rebuilds, if it uses any.
    fn inner_skin(&self) -> Option<f64> {
        None
    }

    /// Returns the energy of each owned particle, or `None` if it is not available. The sum over
    /// ranks is the energy of this force without tail correction. Does not change the forces.
    ///
    /// # Errors
    /// Communication.
    fn particle_energies(&mut self, _context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        Ok(None)
    }

    /// Returns the diagonal of the virial of each owned particle, xx, yy and zz, or `None` if it is
    /// not available. The sums over ranks are those of this force. Does not change the forces.
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

    /// Adds forces that need no ghosts, while fields travel to ghosts.
    ///
    /// # Errors
    /// Communication.
    fn add_inner_forces(
        &mut self,
        _context: &mut ForceContext,
        _evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        Ok(PairSums::default())
    }

    /// Adds forces between particles, on ghosts too. Ghosts have the fields of
    /// [`Self::ghost_fields`]. Afterwards the forces on ghosts must be complete.
    ///
    /// # Errors
    /// Communication.
    fn add_forces(
        &mut self,
        _context: &mut ForceContext,
        _evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        Ok(PairSums::default())
    }

    /// Adds forces that need no ghosts, while forces on ghosts travel to the owners.
    ///
    /// # Errors
    /// Communication.
    fn add_remaining_forces(
        &mut self,
        _context: &mut ForceContext,
        _evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        Ok(PairSums::default())
    }

    /// Adds forces on single owned particles, of walls and fields, when the forces between
    /// particles are complete.
    ///
    /// # Errors
    /// Communication.
    fn add_external_forces(
        &mut self,
        _context: &mut ForceContext,
        _evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        Ok(PairSums::default())
    }
}

/// Pairs of one rank that a force has already found, for observers. Ghosts are at their
/// present positions, those at which the forces of this step were computed.
#[derive(Clone, Copy)]
pub struct NearPairs<'a> {
    pub(crate) forces: &'a [Box<dyn Force + 'a>],
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
    /// system once. Returns `None`, on all ranks, if no force has all pairs at these
    /// distances.
    pub fn count(&self, species: usize, bins: DistanceBins) -> Option<PairCounts> {
        self.forces.iter().find_map(|force| force.count_distances(self, species, bins))
    }
}

impl fmt::Debug for NearPairs<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NearPairs").finish_non_exhaustive()
    }
}
