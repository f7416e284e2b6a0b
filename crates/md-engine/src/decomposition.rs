//! How the system is divided among ranks: cells, their owners, what follows for this rank, and the contexts that
//! carry its halo. One value, which can be replaced in the course of a run
//! ([`crate::Simulation::replace_decomposition`]).

use md_comm::World;
use md_core::force::PairWork;
use md_core::{CellGrid, HaloPlan, Particles, Partition};

use crate::config::{Division, ParallelConfig};
use crate::error::EngineError;
use crate::halo::Halo;

/// The decomposition as seen from one rank.
pub struct Decomposition<'w> {
    /// The cells of the global box.
    pub grid: CellGrid,
    /// Who owns which.
    pub partition: Partition,
    /// This rank's cells, its ghost cells, and where those come from.
    pub plan: HaloPlan,
    /// The pairs of cells that this rank computes.
    pub pairs: PairWork,
    /// The contexts over the plan.
    pub halo: Halo<'w>,
}

impl<'w> Decomposition<'w> {
    /// Derives this rank's plan and opens its contexts; `particles` say which fields there are. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub(crate) fn open(
        world: &'w dyn World,
        Division { grid, partition }: Division,
        parallel: &ParallelConfig,
        particles: &Particles,
    ) -> Result<Self, EngineError> {
        let ParallelConfig { shell, exchange, buffering, .. } = *parallel;
        let offsets = shell.offsets(grid.is_flat());
        let plan = HaloPlan::new(&grid, &partition, &offsets, exchange, world.rank());
        let pairs = PairWork::new(&plan, &grid, shell);
        let halo = Halo::open(world, &plan, shell.force_return(), buffering, particles)?;
        Ok(Self { grid, partition, plan, pairs, halo })
    }
}
