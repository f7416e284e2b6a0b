//! Forces: what a simulation asks of an interaction, and pair forces as the first of them.
//!
//! An interaction computes forces on the particles of a rank from owned particles and ghosts. It moves data between
//! ranks by two calls only, [`ForceContext::gather`] and [`ForceContext::scatter_add`], as often as it needs. Pair
//! forces use each once: positions out, forces to their owners. The embedded-atom method uses them twice more: electron
//! densities to their owners, derivatives of the embedding energy out (`tests/embedded_atom.rs`).

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
use crate::config::{NeighborConfig, Overlap, ParallelConfig};
use crate::error::EngineError;
use crate::halo::{Direction, Flight, Halo, HaloView};
use crate::near_pairs::NearPairs;
use crate::particle_shares::{energy, particle_shares, virial};
use crate::protocol::CellForces;
use crate::second_share::SecondShare;

const POSITIONS: &[Field] = &[Field::POSITION];
const FORCES: &[Field] = &[Field::FORCE];

/// Whether the ghosts hold the positions of this step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GhostPositions {
    /// Just copied with the border.
    Fresh,
    /// To be gathered.
    Stale,
}

/// One rank's part of the system during a force computation.
pub struct ForceContext<'a, 'w> {
    /// Owned particles and ghosts. Forces on all of them are zero at the start.
    pub particles: &'a mut Particles,
    /// Which particles are in which cell.
    pub cells: &'a mut LocalCells,
    /// The cells of the global box.
    pub grid: &'a CellGrid,
    /// The owned and ghost cells of this rank.
    pub plan: &'a HaloPlan,
    /// The pairs of cells that this rank computes.
    pub pairs: &'a mut PairWork,
    /// The global box.
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
    /// Fills ghosts with the owners' values of these fields. Positions alone are not sent again where a rebuild has
    /// just done so. *Collective.*
    ///
    /// # Errors
    /// Communication; [`EngineError::Exchange`].
    pub fn gather(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.start_gather(fields)?;
        self.finish_gather(fields)
    }

    /// The first part of [`Self::gather`]: returns while messages are in flight.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn start_gather(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        if self.is_there(fields) {
            return Ok(());
        }
        self.with_halo(|halo, view| halo.start(Direction::Gather, fields, view))
    }

    /// The second part of [`Self::gather`]: returns when all ghosts have their values.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn finish_gather(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        if self.is_there(fields) {
            return Ok(());
        }
        self.with_halo(|halo, view| halo.finish(Direction::Gather, fields, view))
    }

    /// Adds the ghosts' values of these fields to those of their owners, in a fixed order. Does nothing where the shell
    /// makes every rank compute all pairs of its own particles, whose values are complete then. *Collective.*
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn scatter_add(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.start_scatter_add(fields)?;
        self.finish_scatter_add(fields)
    }

    /// The first part of [`Self::scatter_add`]: returns while messages are in flight. The ghosts' values must be complete;
    /// owned particles' values may be added to until the second part.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn start_scatter_add(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.with_halo(|halo, view| halo.start(Direction::ScatterAdd, fields, view))
    }

    /// The second part of [`Self::scatter_add`].
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn finish_scatter_add(&mut self, fields: &[Field]) -> Result<(), EngineError> {
        self.with_halo(|halo, view| halo.finish(Direction::ScatterAdd, fields, view))
    }

    /// Moves what is in flight between the first and the second part of an exchange; to be called now and then from long
    /// computations, because most MPI libraries move long messages only while they are called.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn progress(&mut self) -> Result<Flight, EngineError> {
        self.with_halo(Halo::progress)
    }

    /// Does `work` and books its time as that of forces.
    pub fn compute<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = std::time::Instant::now();
        let result = work(self);
        self.clock.book_since(Phase::Force, start);
        result
    }

    fn is_there(&self, fields: &[Field]) -> bool {
        fields == POSITIONS && self.ghosts == GhostPositions::Fresh
    }

    /// The images of this rank's own cells, where there are some.
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

/// What copies to images read and write.
pub(crate) struct Carried<'a> {
    pub(crate) particles: &'a mut Particles,
    pub(crate) threads: &'a Threads,
}

/// What computes forces. All ranks call it together.
pub trait Interaction {
    /// Longest distance of two particles that interact, \[length\].
    fn cutoff(&self) -> f64;

    /// Registers the fields it needs beside positions and forces ([`Particles::register`]).
    fn register(&mut self, _particles: &mut Particles) {}

    /// Mean-field correction of energy and pressure for `counts[species]` particles in `volume`.
    fn tail(&self, _counts: &[u64], _volume: f64, _dimension: Dimension) -> Tail {
        Tail::default()
    }

    /// Prepares for the particles as they are now; called when cells are sorted and ghosts are laid out anew.
    ///
    /// # Errors
    /// Communication.
    fn rebuild(&mut self, _context: &mut ForceContext) -> Result<(), EngineError> {
        Ok(())
    }

    /// Work of a step by owned cell, in computed pairs and as it is since the last [`Self::rebuild`], where that is known: by it the work
    /// is divided among ranks. Elsewhere it is estimated from the numbers of particles.
    fn pairs_by_cell(&self, _cells: &LocalCells, _plan: &HaloPlan) -> Option<Vec<f64>> {
        None
    }

    /// The energy of each owned particle, so that their sum over ranks is the system's without tail correction; `None` where it is
    /// not known. Leaves the forces as they are.
    ///
    /// # Errors
    /// Communication.
    fn particle_energies(&mut self, _context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        Ok(None)
    }

    /// The diagonal of the virial of each owned particle, xx, yy and zz: their sums over ranks are the system's. `None` where it is not
    /// known. Leaves the forces as they are.
    ///
    /// # Errors
    /// Communication.
    fn particle_virials(
        &mut self,
        _context: &mut ForceContext,
    ) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        Ok(None)
    }

    /// Pairs of so many species by distance, as [`NearPairs::count`] has them.
    fn count_distances(&self, _near: &NearPairs, _species: usize, _bins: DistanceBins) -> Option<PairCounts> {
        None
    }

    /// Adds the forces on all owned particles. `evaluation` says whether energy and virial are wanted: of this rank's pairs,
    /// so that the sum over ranks is the system's.
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
    /// In place of the method, where forces do not come by ghosts.
    protocol: Option<CellForces>,
}

impl PairForces {
    /// Of a potential, by a method.
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

    /// Block by block as long as messages are in flight, the rest at once.
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

/// What methods read, and the particles they write to.
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

    /// Inner pairs while positions travel, boundary pairs, the other inner pairs while forces on ghosts travel to their owners. The
    /// order of the sums is the same with and without overlap, and so are the bits.
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
