//! What a list consists of: sections of rows of entries.

use super::candidates::Candidates;
use crate::halo::Reach;
use std::ops::Range;

/// One particle i; its entries start where those of the row before end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub particle: u32,
    pub end: u32,
}

/// A cluster near the row's particle, and its lanes: those of its particles that are partners if within the cutoff. Bit k
/// stands for particle k. One word, because lists are made by copying entries over and over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    #[inline(always)]
    pub(super) fn new(cluster: usize, lanes: u16) -> Self {
        Self(u64::from(lanes) << u32::BITS | cluster as u64)
    }

    #[inline(always)]
    pub(super) fn cluster(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline(always)]
    pub(super) fn lanes(self) -> u16 {
        (self.0 >> u32::BITS) as u16
    }

    /// With those lanes only that are in `lanes` too.
    #[inline(always)]
    pub(super) fn within(self, lanes: u16) -> Self {
        Self::new(self.cluster(), self.lanes() & lanes)
    }

    /// With these lanes too.
    pub(super) fn with(self, lanes: u16) -> Self {
        Self::new(self.cluster(), self.lanes() | lanes)
    }
}

/// Rows that are swept together.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub rows: Range<usize>,
    pub reach: Reach,
}

/// All rows and their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub entries: Vec<Entry>,
    pub rows: Vec<Row>,
    pub sections: Vec<Section>,
    /// Of the cell whose rows are being made.
    pub candidates: Candidates,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.rows.clear();
        self.sections.clear();
    }

    /// Where the entries of a row start.
    pub(super) fn start(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |before| self.rows[before].end as usize)
    }

    /// The entries since the last row become the row of a particle, if there are any.
    pub(super) fn end_row(&mut self, particle: usize) {
        if self.start(self.rows.len()) != self.entries.len() {
            self.rows.push(Row { particle: particle as u32, end: self.entries.len() as u32 });
        }
    }

    /// The rows since `first` become a section, if there are any.
    pub(super) fn end_section(&mut self, first: usize, reach: Reach) {
        let rows = first..self.rows.len();
        if !rows.is_empty() {
            self.sections.push(Section { rows, reach });
        }
    }
}
