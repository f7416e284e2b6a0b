//! What a list consists of: sections of rows of entries.

use super::candidates::Candidates;
use crate::halo::Reach;
use std::ops::Range;

/// One particle i and how many entries it has; they follow those of the row before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub particle: u32,
    pub entries: u32,
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
    /// Of all its rows.
    pub entries: Range<usize>,
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
    /// Entries of the rows being made, side by side.
    pub drafts: Vec<Entry>,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.rows.clear();
        self.sections.clear();
    }

    /// Room for so many rows in the making, each with all candidates.
    pub(super) fn prepare_drafts(&mut self, rows: usize) {
        self.drafts.resize(rows * self.candidates.len(), Entry::default());
    }

    /// These drafts become the row of a particle, if there are any.
    #[inline(always)]
    pub(super) fn push_row(&mut self, particle: usize, drafts: Range<usize>) {
        if !drafts.is_empty() {
            self.rows.push(Row { particle: particle as u32, entries: drafts.len() as u32 });
            self.entries.extend_from_slice(&self.drafts[drafts]);
        }
    }

    /// The rows since the last section become one, if there are any.
    pub(super) fn end_section(&mut self, reach: Reach) {
        let (first_row, first_entry) =
            self.sections.last().map_or((0, 0), |last| (last.rows.end, last.entries.end));
        let (rows, entries) = (first_row..self.rows.len(), first_entry..self.entries.len());
        if !rows.is_empty() {
            self.sections.push(Section { rows, entries, reach });
        }
    }
}
