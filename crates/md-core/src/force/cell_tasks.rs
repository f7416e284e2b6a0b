//! Pairs of cells in portions that can be computed in any order, for protocols that wait for cells
//! instead of messages.
//!
//! The arithmetic is that of the linked-cell method. The code that fills the portions decides which
//! of them can be computed when.

use super::cell_pairs::CellPairCounts;
use super::cell_spans::{CellItem, CellSpan};
use super::cells::Task;
use super::shares::Columns;
use super::{Evaluation, Newton, PairSums, System};
use crate::cells::LocalCells;
use crate::halo::HaloPlan;
use crate::memory;
use crate::particles::Particles;
use std::ops::Range;

/// Portions of work, recreated at each rebuild.
#[derive(Debug, Clone, Default)]
pub struct CellTasks {
    items: Vec<CellItem>,
    spans: Vec<CellSpan>,
    /// End of the items of each portion.
    ends: Vec<usize>,
    /// Pairs of the portion that is being filled.
    candidates: f64,
}

impl CellTasks {
    /// Removes all portions.
    pub fn clear(&mut self) {
        self.items.clear();
        self.spans.clear();
        self.ends.clear();
        self.candidates = 0.0;
    }

    /// Adds the pairs between two local cells, or those inside one, to the portion that is being
    /// filled. Both cells get forces.
    pub fn add(&mut self, cells: &LocalCells, a: u32, b: u32) {
        let [particles, partners] = [a, b].map(|cell| CellSpan::of(cells, &(cell..cell + 1)));
        if particles.len() == 0 || partners.len() == 0 {
            return;
        }
        let candidates = f64::from(particles.len()) * f64::from(partners.len());
        self.candidates += candidates;
        let begun = self.ends.last().map_or(0, |&end| end);
        let is_begun =
            self.items.len() > begun && self.items.last().is_some_and(|item| item.particles == particles);
        if !is_begun {
            let spans = self.spans.len()..self.spans.len();
            memory::push(&mut self.items, CellItem { particles, spans, newton: Newton::On, candidates: 0.0 });
        }
        let Some(item) = self.items.last_mut() else { return };
        item.candidates += candidates;
        // The kernel recognises pairs inside the cell by the start of their span.
        match self.spans[item.spans.clone()].last_mut() {
            Some(last) if last.end == partners.first && a != b => last.end = partners.end,
            _ => memory::push(&mut self.spans, partners),
        }
        item.spans.end = self.spans.len();
    }

    /// Ends the portion that is being filled and returns its index, or `None` if it is empty.
    pub fn end_portion(&mut self) -> Option<usize> {
        self.candidates = 0.0;
        if self.ends.last().map_or(0, |&end| end) == self.items.len() {
            return None;
        }
        memory::push(&mut self.ends, self.items.len());
        Some(self.ends.len() - 1)
    }

    /// Returns the number of pairs, computed or not, in the portion that is being filled.
    pub fn candidates(&self) -> f64 {
        self.candidates
    }

    /// Returns the number of portions.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no portions.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn items(&self, portion: usize) -> &[CellItem] {
        let range: Range<usize> =
            portion.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[portion];
        &self.items[range]
    }

    /// Adds the forces of a portion to those of its particles.
    pub fn add_forces(
        &self,
        portion: usize,
        system: System,
        particles: &mut Particles,
        evaluation: Evaluation,
    ) -> PairSums {
        let (items, columns) = (self.items(portion), Columns::of(particles));
        let cutoff = system.potential.cutoff();
        Task { items, spans: &self.spans, columns, cutoff, evaluation }.compute(system)
    }

    /// Returns the number of pairs whose distance this rank computes, by owned cell.
    pub fn pairs_by_cell(&self, cells: &LocalCells, plan: &HaloPlan) -> Vec<f64> {
        let mut counts = CellPairCounts::new(cells, plan);
        counts.add_items(&self.items, &self.spans);
        counts.pairs()
    }
}
