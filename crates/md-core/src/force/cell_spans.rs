//! Cells and their partners as ranges of particles.

use super::Newton;
use crate::cells::LocalCells;
use std::ops::Range;

/// A range of particle indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSpan {
    /// First index.
    pub first: u32,
    /// One past the last.
    pub end: u32,
}

impl CellSpan {
    /// Returns the particles of consecutive local cells.
    pub(super) fn of(cells: &LocalCells, run: &Range<u32>) -> Self {
        let Range { start, end } = cells.run(run);
        Self { first: start, end }
    }

    pub(super) fn len(self) -> u32 {
        self.end - self.first
    }

    /// Returns the part of the span that lies in `run`, relative to `base`.
    pub(super) fn part(self, run: &Range<usize>, base: usize) -> Option<Self> {
        let first = (self.first as usize).max(run.start);
        let end = (self.end as usize).min(run.end);
        (first < end).then(|| Self { first: (first - base) as u32, end: (end - base) as u32 })
    }
}

/// One cell's particles and the spans with which they are paired. A span that contains the cell
/// itself stands for its inner pairs, each counted once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellItem {
    pub particles: CellSpan,
    pub spans: Range<usize>,
    pub newton: Newton,
    /// Number of pairs whose distance must be computed.
    pub candidates: f64,
}
