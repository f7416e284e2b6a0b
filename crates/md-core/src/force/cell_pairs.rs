//! The number of computed pairs per cell, counted exactly from the method's lists: the weights for
//! dividing the work.

use super::Method;
use super::cell_spans::{CellItem, CellSpan};
use crate::cells::LocalCells;
use crate::grid::Cell;
use crate::halo::HaloPlan;
use crate::memory;

/// Pairs by owned cell, while they are counted.
pub(super) struct CellPairCounts<'a> {
    cells: &'a LocalCells,
    plan: &'a HaloPlan,
    pairs: Vec<f64>,
    /// The cell that was found last, which mostly contains the next particle too.
    last: usize,
}

impl<'a> CellPairCounts<'a> {
    /// Creates counts of zero.
    pub(super) fn new(cells: &'a LocalCells, plan: &'a HaloPlan) -> Self {
        let mut pairs = Vec::new();
        memory::resize(&mut pairs, plan.owned.len(), 0.0);
        Self { cells, plan, pairs, last: 0 }
    }

    /// Returns the counts by owned cell.
    pub(super) fn pairs(self) -> Vec<f64> {
        self.pairs
    }

    /// Adds the pairs of the linked-cell method.
    pub(super) fn add_items(&mut self, items: &[CellItem], spans: &[CellSpan]) {
        for item in items {
            let CellSpan { first, end } = item.particles;
            for span in &spans[item.spans.clone()] {
                // Inside its own cell, a particle is paired with the particles after it and with
                // what follows in the span.
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

    /// Adds `pairs` pairs of particles from `i` on with particles from `j` on. They count for the
    /// cell of `i`. If that is a ghost, they count for the owned cell around which the shell lets
    /// this rank compute them.
    pub(super) fn add(&mut self, i: usize, j: usize, pairs: f64) {
        if !self.cells.range(self.last).contains(&i) {
            self.last = self.cells.cell_with(i);
        }
        let mut cell = self.last;
        if cell >= self.plan.owned.len() {
            let [a, b]: [Cell; 2] = [cell, self.cells.cell_with(j)].map(|local| self.plan.cell_at(local));
            let anchor = self.plan.local_cell([0, 1, 2].map(|dim| a[dim].min(b[dim])));
            // An i-cluster may contain particles of two cells with different anchors. In that case
            // any owned cell is acceptable.
            cell = anchor.map_or(0, |anchor| anchor as usize);
        }
        let place = if cell < self.pairs.len() { cell } else { 0 };
        self.pairs[place] += pairs;
    }
}

impl Method {
    /// Returns the number of pairs whose distance this rank computes, by owned cell, or `None` for
    /// a method without lists of them. Their sum is [`super::PairSums::computed_pairs`].
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
