//! A partition as a table with the owner of every cell and the cells of every rank.

use super::{Ownership, Partition};
use crate::grid::{Cell, CellGrid};
use crate::memory;

/// A partition stored as a table. Memory grows with the number of cells of the whole box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Owner of each cell, indexed by [`CellGrid::linear`].
    owners: Vec<u32>,
    /// Cells sorted by rank, in storage order.
    cells: Vec<u32>,
    /// Start of each rank's cells in `cells`.
    first: Vec<u32>,
}

impl Table {
    /// Creates the table from the owner of every cell, indexed by [`CellGrid::linear`].
    pub fn new(owners: Vec<u32>, ranks: usize) -> Self {
        let mut first = Vec::new();
        memory::resize(&mut first, ranks + 1, 0);
        for &owner in &owners {
            first[owner as usize + 1] += 1;
        }
        for rank in 0..ranks {
            first[rank + 1] += first[rank];
        }
        let (mut next, mut cells) = (first.clone(), Vec::new());
        memory::resize(&mut cells, owners.len(), 0);
        for (number, &owner) in (0..).zip(&owners) {
            let place = &mut next[owner as usize];
            cells[*place as usize] = number;
            *place += 1;
        }
        Self { owners, cells, first }
    }

    /// Creates the table of another partition.
    pub fn of(partition: &Partition, grid: &CellGrid, ranks: usize) -> Self {
        let mut owners = memory::with_capacity(grid.len());
        owners.extend(partition.owners(grid).into_iter().map(|owner| owner as u32));
        Self::new(owners, ranks)
    }

    /// Returns the owner of each cell, indexed by [`CellGrid::linear`].
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }
}

impl Ownership for Table {
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
        self.owners[grid.linear(cell)] as usize
    }

    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        let own = self.first[rank] as usize..self.first[rank + 1] as usize;
        self.cells[own].iter().map(|&number| grid.at(number as usize)).collect()
    }
}
