//! Division of the system among ranks: cells and their owners, this rank's plan, and the contexts
//! that carry its halo. A [`Decomposition`] can be replaced during a run
//! ([`crate::Simulation::replace_decomposition`]).

use std::collections::BTreeSet;

use md_comm::World;
use md_core::force::PairWork;
use md_core::grid::{GridError, most_cells};
use md_core::partition::{CellLoads, DivisionRequest};
use md_core::{CellGrid, Domain, HaloPlan, Particles, Partition, PartitionKind};

use crate::division::halo::Halo;
use crate::error::EngineError;
use crate::settings::ParallelConfig;

/// Cells of the box and their owners.
#[derive(Debug, Clone)]
pub struct Division {
    /// Cells.
    pub grid: CellGrid,
    /// Owners of the cells.
    pub partition: Partition,
}

impl Division {
    /// Divides a box into cells of at least `list_radius` = cutoff + skin and assigns them to
    /// ranks. `atoms` limits the number of cells: in a huge, nearly empty box, larger cells are
    /// cheaper than empty ones.
    ///
    /// # Errors
    /// [`GridError`]: the box is too small for the cutoff, or has too few cells for the ranks.
    pub fn new(
        domain: Domain,
        list_radius: f64,
        atoms: u64,
        ranks: usize,
        kind: PartitionKind,
        rank_grid: Option<[usize; 3]>,
    ) -> Result<Self, GridError> {
        let most_cells = most_cells(&domain, list_radius, Self::most_cells(atoms, ranks))?;
        let (grid, partition) = kind.divide(&DivisionRequest { domain, most_cells, ranks, rank_grid })?;
        Ok(Self { grid, partition })
    }

    /// Returns the largest useful number of cells, enough to spread over the ranks. More would only
    /// cost memory: almost all of them would be empty.
    pub(crate) fn most_cells(atoms: u64, ranks: usize) -> u64 {
        const CELLS_PER_ATOM: u64 = 8;
        const CELLS_PER_RANK: u64 = 1000;
        CELLS_PER_ATOM.saturating_mul(atoms).max(CELLS_PER_RANK * ranks as u64)
    }

    /// Returns the owner rank of a position inside the box.
    pub(crate) fn owner(&self, position: [f64; 3]) -> usize {
        self.partition.owner(&self.grid, self.grid.cell_of(position))
    }
}

impl Division {
    /// Returns the same cells with owners derived from the cost of the cells, if the kind of
    /// partition supports this.
    ///
    /// # Errors
    /// [`GridError`].
    pub fn weighted(
        &self,
        kind: PartitionKind,
        ranks: usize,
        loads: &CellLoads,
    ) -> Result<Option<Self>, GridError> {
        let partition = kind.weighted(&self.grid, ranks, loads)?;
        Ok(partition.map(|partition| Self { grid: self.grid.clone(), partition }))
    }
}

/// Decomposition as seen from one rank.
pub struct Decomposition<'w> {
    /// Cells of the global box.
    pub grid: CellGrid,
    /// Owners of the cells.
    pub partition: Partition,
    /// Owned cells and ghost cells of this rank, and the sources of the ghosts.
    pub plan: HaloPlan,
    /// Pairs of cells that this rank computes.
    pub pairs: PairWork,
    /// Contexts for the exchanges of the plan.
    pub halo: Halo<'w>,
}

impl<'w> Decomposition<'w> {
    /// Derives this rank's plan and opens its contexts; `particles` determines the fields.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub(crate) fn open(
        world: &'w dyn World,
        Division { grid, partition }: Division,
        parallel: &ParallelConfig,
        particles: &Particles,
    ) -> Result<Self, EngineError> {
        let ParallelConfig { shell, exchange, second_share, .. } = *parallel;
        let offsets = shell.offsets(grid.domain().dimension);
        let plan = HaloPlan::new(&grid, &partition, &offsets, exchange, world.rank());
        let pairs = PairWork::new(&plan, &grid, shell, second_share.at_first());
        let halo = Halo::open(world, &plan, parallel, particles)?;
        Ok(Self { grid, partition, plan, pairs, halo })
    }

    /// Returns the ranks, in ascending order, with which this one may exchange particles when `new`
    /// replaces this decomposition: new owners of its present cells, previous owners of its new
    /// cells, and owners of the cells around both, since no particle has moved further than one
    /// cell. If the cells themselves change, returns all other ranks.
    pub(crate) fn peers_to(&self, new: &Self, rank: usize, ranks: usize) -> Vec<usize> {
        if self.grid != new.grid {
            return (0..ranks).filter(|&other| other != rank).collect();
        }
        let mut peers = BTreeSet::new();
        for (plan, partition) in [(&self.plan, &new.partition), (&new.plan, &self.partition)] {
            let cells = plan.owned.iter().chain(&plan.around);
            peers.extend(cells.map(|&cell| partition.owner(&self.grid, cell)));
        }
        peers.remove(&rank);
        peers.into_iter().collect()
    }
}
