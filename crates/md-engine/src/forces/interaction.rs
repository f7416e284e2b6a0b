//! Forces: the interface of an interaction, and pair forces as the first implementation.
//!
//! An interaction computes forces on the particles of a rank from owned particles and ghosts. It
//! moves data between ranks only by [`ForceContext::gather`] and [`ForceContext::scatter_add`], as
//! often as necessary. Pair forces use each once: positions to ghosts, forces to owners. The
//! embedded-atom method uses each once more: electron densities to owners, derivatives of the
//! embedding energy to ghosts (`tests/embedded_atom.rs`).

use std::sync::Arc;

use md_core::analysis::{DistanceBins, PairCounts};
use md_core::force::{Method, PairWork, Part, System};
use md_core::halo::Images;
use md_core::potential::{PairPotential, Tail};
use md_core::{
    CellGrid, Dimension, Domain, Evaluation, Field, HaloPlan, LocalCells, PairSums, Particles, Region,
    SimdLevel, Threads,
};

use crate::clock::{Phase, PhaseClock};
use crate::config::SecondShare;
use crate::config::{NeighborConfig, Overlap, ParallelConfig};
use crate::division::halo::{Direction, Flight, Halo, HaloView};
use crate::error::EngineError;
use crate::forces::near_pairs::NearPairs;
use crate::forces::particle_shares::{energy, particle_shares, virial};
use crate::forces::protocol::CellForces;

const POSITIONS: &[Field] = &[Field::POSITION];
const FORCES: &[Field] = &[Field::FORCE];

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

/// Forces from a pair potential.
#[derive(Debug)]
pub struct PairForces {
    potential: Arc<dyn PairPotential>,
    method: Method,
    overlap: Overlap,
    second_share: SecondShare,
    /// Replaces the method if forces are not computed with ghosts.
    protocol: Option<CellForces>,
}

impl PairForces {
    /// Creates the forces of a potential.
    pub fn new(
        potential: Arc<dyn PairPotential>,
        neighbor: NeighborConfig,
        parallel: &ParallelConfig,
    ) -> Self {
        let NeighborConfig { method, skin, precision, .. } = neighbor;
        let ParallelConfig { overlap, second_share, protocol, .. } = *parallel;
        let (method, protocol) = (Method::new(method, skin, precision), CellForces::new(protocol));
        Self { potential, method, overlap, second_share, protocol }
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

/// Splits a context into the data that methods read and the particles to which they write.
pub(crate) fn system<'s>(
    context: &'s mut ForceContext,
    potential: &'s dyn PairPotential,
) -> (System<'s>, &'s mut Particles) {
    let ForceContext { particles, cells, grid, plan, pairs, threads, simd, .. } = context;
    (System { grid, potential, plan, pairs, cells, simd: *simd, threads }, particles)
}

impl Interaction for PairForces {
    fn cutoff(&self) -> f64 {
        self.potential.cutoff()
    }

    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        self.potential.tail(counts, volume, dimension)
    }

    fn rebuild(&mut self, context: &mut ForceContext) -> Result<(), EngineError> {
        if let Some(protocol) = &mut self.protocol {
            return protocol.rebuild(context);
        }
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
        match &self.protocol {
            Some(protocol) => Some(protocol.pairs_by_cell(cells, plan)),
            None => self.method.pairs_by_cell(cells, plan),
        }
    }

    fn particle_energies(&mut self, context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        let [energies] = particle_shares(&*self.potential, context, energy)?;
        Ok(Some(energies))
    }

    fn particle_virials(&mut self, context: &mut ForceContext) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        particle_shares(&*self.potential, context, virial).map(Some)
    }

    fn count_distances(&self, near: &NearPairs, species: usize, bins: DistanceBins) -> Option<PairCounts> {
        let NearPairs { particles, cells, grid, plan, pairs, threads, simd, .. } = *near;
        let system = System { grid, potential: &*self.potential, plan, pairs, cells, simd, threads };
        self.method.count_distances(system, particles, species, bins)
    }

    /// Computes inner pairs while positions are in flight, then boundary pairs, then the other
    /// inner pairs while forces on ghosts are sent to their owners. The order of the sums, and
    /// therefore all bits, are the same with and without overlap.
    fn add_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        if let Some(protocol) = &mut self.protocol {
            return protocol.add_forces(context, &*self.potential, evaluation);
        }
        context.start_gather(POSITIONS)?;
        if self.overlap == Overlap::Off {
            context.finish_gather(POSITIONS)?;
        }
        context.particles.clear_ghost_forces(context.threads);
        let mut total = self.add_region(context, Region::InnerFirst, evaluation)?;
        if self.overlap == Overlap::On {
            context.finish_gather(POSITIONS)?;
        }
        total += self.add_region(context, Region::Boundary, evaluation)?;
        if self.overlap == Overlap::On {
            context.start_scatter_add(FORCES)?;
        }
        total += self.add_region(context, Region::InnerSecond, evaluation)?;
        if self.overlap == Overlap::Off {
            context.start_scatter_add(FORCES)?;
        }
        context.finish_scatter_add(FORCES)?;
        Ok(total)
    }
}
