//! Computed pairs per cell, exactly as the method has them: the weights of a division of the work.

use super::Method;
use super::cells::{CellItem, CellSpan};
use crate::cells::LocalCells;
use crate::grid::Cell;
use crate::halo::HaloPlan;
use crate::memory;

/// Pairs by owned cell, in the making.
pub(super) struct CellPairCounts<'a> {
    cells: &'a LocalCells,
    plan: &'a HaloPlan,
    pairs: Vec<f64>,
    /// The cell that was found last: the next particle is mostly there too.
    last: usize,
}

impl<'a> CellPairCounts<'a> {
    /// None as yet.
    pub(super) fn new(cells: &'a LocalCells, plan: &'a HaloPlan) -> Self {
        let mut pairs = Vec::new();
        memory::resize(&mut pairs, plan.owned.len(), 0.0);
        Self { cells, plan, pairs, last: 0 }
    }

    /// By owned cell.
    pub(super) fn pairs(self) -> Vec<f64> {
        self.pairs
    }

    /// Those of the linked-cell method.
    pub(super) fn add_items(&mut self, items: &[CellItem], spans: &[CellSpan]) {
        for item in items {
            let CellSpan { first, end } = item.particles;
            for span in &spans[item.spans.clone()] {
                // Inside its own cell a particle meets those after itself, and what follows in memory.
                let pairs = if span.first == first {
                    let own = f64::from(end - first);
                    own * f64::from(span.len()) - 0.5 * own * (own + 1.0)
                } else {
                    f64::from(end - first) * f64::from(span.len())
                };
                self.add(first as usize, span.first as usize, pairs);
            }
        }
    }

    /// So many pairs of particles from `i` on with particles from `j` on. They count for the cell of the first ones; where that
    /// is a ghost, for the owned cell around which a shell has this rank compute them.
    pub(super) fn add(&mut self, i: usize, j: usize, pairs: f64) {
        if !self.cells.range(self.last).contains(&i) {
            self.last = self.cells.cell_with(i);
        }
        let mut cell = self.last;
        if cell >= self.plan.owned.len() {
            let [a, b]: [Cell; 2] = [cell, self.cells.cell_with(j)].map(|local| self.plan.cell_at(local));
            let anchor = self.plan.local_cell([0, 1, 2].map(|dim| a[dim].min(b[dim])));
            // An i-cluster may hold particles of two cells, whose anchors differ: then any owned cell will do.
            cell = anchor.map_or(0, |anchor| anchor as usize);
        }
        let place = if cell < self.pairs.len() { cell } else { 0 };
        self.pairs[place] += pairs;
    }
}

impl Method {
    /// Pairs whose distance this rank computes, by owned cell, for a method that has lists of them. They add up to
    /// [`super::PairSums::computed_pairs`].
    pub fn pairs_by_cell(&self, cells: &LocalCells, plan: &HaloPlan) -> Option<Vec<f64>> {
        let mut counts = CellPairCounts::new(cells, plan);
        match self {
            Self::Cells(work) => work.count_pairs(&mut counts),
            Self::Clusters(work) => work.count_pairs(&mut counts),
            Self::DirectSum => return None,
        }
        Some(counts.pairs())
    }
}
