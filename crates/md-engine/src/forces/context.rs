//! Data for a force computation, and the exchanges that it may start.

use md_core::force::{PairWork, Summation, System};
use md_core::halo::Images;
use md_core::potential::PairPotential;
use md_core::{CellGrid, Domain, Field, HaloPlan, LocalCells, Particles, SimdLevel, Threads};

use crate::clock::{Phase, PhaseClock};
use crate::division::halo::{Direction, Flight, Halo, HaloView};
use crate::error::EngineError;

pub(super) const POSITIONS: &[Field] = &[Field::POSITION];
pub(super) const FORCES: &[Field] = &[Field::FORCE];

/// Whether the ghosts hold the positions of this step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GhostPositions {
    /// Copied with the border.
    Fresh,
    /// Still to be gathered.
    Stale,
}

/// Part of the system on one rank during a force computation.
pub struct ForceContext<'a, 'w> {
    /// Owned particles and ghosts. All forces are zero at the start.
    pub particles: &'a mut Particles,
    /// Particles by cell.
    pub cells: &'a mut LocalCells,
    /// Cells of the global box.
    pub grid: &'a CellGrid,
    /// Owned and ghost cells of this rank.
    pub plan: &'a HaloPlan,
    /// Pairs of cells that this rank computes.
    pub pairs: &'a mut PairWork,
    /// Global box.
    pub domain: &'a Domain,
    /// Threads of this rank.
    pub threads: &'a Threads,
    /// Instruction set of the kernels.
    pub simd: SimdLevel,
    /// How forces and energies are added up.
    pub summation: Summation,
    pub(crate) halo: &'a mut Halo<'w>,
    pub(crate) clock: &'a mut PhaseClock,
    pub(crate) ghosts: GhostPositions,
}

impl<'w> ForceContext<'_, 'w> {
    /// Copies the owners' values of these fields to ghosts. If only positions are requested and a
    /// rebuild has just sent them, they are not sent again. *Collective.*
    ///
    /// # Errors
    /// Communication; [`EngineError::Exchange`].
    pub fn gather(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.start_gather(fields)?;
        self.finish_gather(fields)
    }

    /// Starts a [`Self::gather`] and returns while messages are in flight.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn start_gather(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        if self.is_there(fields) {
            return Ok(());
        }
        self.with_halo(|halo, view| halo.start(Direction::Gather, fields, view))
    }

    /// Finishes a [`Self::gather`]: all ghosts then have their values.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn finish_gather(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        if self.is_there(fields) {
            return Ok(());
        }
        self.with_halo(|halo, view| halo.finish(Direction::Gather, fields, view))
    }

    /// Adds the ghosts' values of these fields to those of their owners, in a fixed order. Does
    /// nothing if the shell makes every rank compute all pairs of its own particles, because their
    /// values are already complete. *Collective.*
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn scatter_add(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.start_scatter_add(fields)?;
        self.finish_scatter_add(fields)
    }

    /// Starts a [`Self::scatter_add`] and returns while messages are in flight. The ghosts' values
    /// must be complete; values may be added to owned particles until the exchange is finished.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn start_scatter_add(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.with_halo(|halo, view| halo.start(Direction::ScatterAdd, fields, view))
    }

    /// Finishes a [`Self::scatter_add`].
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn finish_scatter_add(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.with_halo(|halo, view| halo.finish(Direction::ScatterAdd, fields, view))
    }

    /// Advances messages in flight between the start and the finish of an exchange. Long
    /// computations should call this repeatedly, because most MPI libraries move long messages only
    /// during calls.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn progress(&mut self) -> Result<Flight, EngineError> {
        self.with_halo(Halo::progress)
    }

    /// Runs `work` and books its time on [`Phase::Force`].
    pub fn compute<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = std::time::Instant::now();
        let result = work(self);
        self.clock.book_since(Phase::Force, start);
        result
    }

    fn is_there(&self, fields: &[Field]) -> bool {
        fields == POSITIONS && self.ghosts == GhostPositions::Fresh
    }

    /// Calls `work` with the images of this rank's own cells, if there are any.
    pub(crate) fn with_images(&mut self, work: impl FnOnce(Images, &mut Carried)) {
        let Self { particles, cells, plan, threads, halo, .. } = self;
        if let (Some(stage), Some(selection)) = (plan.stages.first(), halo.images()) {
            work(Images { stage, selection, cells }, &mut Carried { particles, threads });
        }
    }

    fn with_halo<R>(&mut self, work: impl FnOnce(&mut Halo<'w>, &mut HaloView) -> R) -> R {
        let Self { particles, cells, plan, domain, threads, halo, clock, .. } = self;
        work(halo, &mut HaloView { particles, cells, plan, domain, threads, clock })
    }
}

/// Data that copies to images read and write.
pub(crate) struct Carried<'a> {
    pub(crate) particles: &'a mut Particles,
    pub(crate) threads: &'a Threads,
}

/// Splits a context into the data that methods read and the particles to which they write.
pub(super) fn system<'s>(
    context: &'s mut ForceContext,
    potential: &'s dyn PairPotential,
) -> (System<'s>, &'s mut Particles) {
    let ForceContext { particles, cells, grid, plan, pairs, threads, simd, .. } = context;
    (System { grid, potential, plan, pairs, cells, simd: *simd, threads }, particles)
}
