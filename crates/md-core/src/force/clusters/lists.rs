//! What a list consists of: sections of rows of entries.

use super::candidates::Candidates;
use super::slots::{Batch, Schedule, SlotForces, Slots};
use crate::halo::Reach;
use crate::simd::ClusterForces;
use std::ops::Range;

/// As many particles i as a row has, from one on, and how many entries they have; these follow those of the row before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub particle: u32,
    pub entries: u32,
}

/// A cluster near one of the row's particles at least, and the lanes of the pairs that count if within the cutoff. Bit k
/// stands for lane k. One word, because lists are made by copying entries over and over.
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
    pub batches: Range<usize>,
    /// Of all its batches.
    pub emptied: Range<usize>,
    pub reach: Reach,
}

/// So many clusters that only the cell before meets may lie between two that the next meets too.
const LOOK_AHEAD: usize = 16;

/// The row that was made last, as long as particles of the next cell may come in.
#[derive(Debug, Clone, Copy)]
struct LastRow {
    particle: usize,
    cluster: usize,
    first_entry: usize,
}

/// All rows and their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub entries: Vec<Entry>,
    pub schedule: Schedule,
    pub sections: Vec<Section>,
    slot_forces: SlotForces,
    slots: Slots,
    /// Whether the forces of the section being made add up in slots.
    has_slots: bool,
    last: Option<LastRow>,
    /// Of the cell whose rows are being made.
    pub candidates: Candidates,
    /// Entries of the rows being made, side by side.
    pub drafts: Vec<Entry>,
}

impl Lists {
    /// For so many clusters.
    pub(super) fn clear(&mut self, clusters: usize) {
        self.slots.make_room(clusters);
        self.entries.clear();
        self.schedule.clear();
        self.sections.clear();
    }

    /// Room for so many rows in the making, each with all candidates.
    pub(super) fn prepare_drafts(&mut self, rows: usize) {
        self.drafts.resize(rows * self.candidates.len(), Entry::default());
    }

    /// Rows of a new section follow.
    pub(super) fn begin_section(&mut self, reach: Reach, cluster_forces: ClusterForces) {
        let Schedule { rows, batches, emptied } = &mut self.schedule;
        self.sections.push(Section {
            rows: rows.len()..rows.len(),
            entries: self.entries.len()..self.entries.len(),
            batches: batches.len()..batches.len(),
            emptied: emptied.len()..emptied.len(),
            reach,
        });
        self.has_slots = cluster_forces == ClusterForces::InSlots && reach == Reach::Both;
        if !self.has_slots {
            batches.push(Batch::default());
        }
    }

    /// These drafts become the row of the particles from `particle` on, in `cluster`, if there are any; or part of it, if
    /// that is the last row already.
    #[inline(always)]
    pub(super) fn push_row(&mut self, (particle, cluster): (usize, usize), drafts: Range<usize>) {
        if drafts.is_empty() {
            return;
        }
        match self.last {
            Some(last) if last.particle == particle => self.add_to_row(last.first_entry, drafts),
            _ => {
                self.schedule_last();
                self.last = Some(LastRow { particle, cluster, first_entry: self.entries.len() });
                self.entries.extend_from_slice(&self.drafts[drafts]);
            }
        }
    }

    /// Where the section's last row begins.
    pub(super) fn last_row(&self) -> Option<usize> {
        self.last.map(|last| last.particle)
    }

    /// Entries of another cell's particles for the last row: most of their clusters are there already, in the same order. One
    /// that is not found may come twice, each time with its own lanes.
    fn add_to_row(&mut self, first_entry: usize, drafts: Range<usize>) {
        let mut next = first_entry;
        for &draft in &self.drafts[drafts] {
            let is_same = |entry: &Entry| entry.cluster() == draft.cluster();
            match self.entries[next..].iter().take(LOOK_AHEAD).position(is_same) {
                Some(place) => {
                    self.entries[next + place] = self.entries[next + place].with(draft.lanes());
                    next += place + 1;
                }
                None => self.entries.push(draft),
            }
        }
    }

    /// Nothing will be added to the last row.
    fn schedule_last(&mut self) {
        let Some(LastRow { particle, cluster, first_entry }) = self.last.take() else { return };
        let entries = &self.entries[first_entry..];
        if self.has_slots {
            self.slots.push_row(&mut self.schedule, (particle, cluster), entries);
        } else {
            self.schedule.push_row(particle, entries.len());
        }
    }

    /// The section is complete; without rows there is none. A slot takes `slot_bytes` per dimension.
    pub(super) fn end_section(&mut self, slot_bytes: usize) {
        self.schedule_last();
        if self.has_slots {
            self.slots.end_section(&mut self.schedule);
        }
        let Some(mut section) = self.sections.pop() else { return };
        section.rows.end = self.schedule.rows.len();
        section.entries.end = self.entries.len();
        section.batches.end = self.schedule.batches.len();
        section.emptied.end = self.schedule.emptied.len();
        if section.rows.is_empty() {
            self.schedule.batches.truncate(section.batches.start);
        } else {
            if self.has_slots {
                self.slot_forces.make_room(self.slots.count() * slot_bytes);
            }
            self.sections.push(section);
        }
    }

    /// The sections, and where forces add up.
    pub(super) fn views(&mut self) -> (impl Iterator<Item = View<'_>>, &mut SlotForces) {
        let Self { entries, schedule: Schedule { rows, batches, emptied }, sections, slot_forces, .. } = self;
        let views = sections.iter().map(|section| View {
            section,
            rows: &rows[section.rows.clone()],
            entries: &entries[section.entries.clone()],
            batches: &batches[section.batches.clone()],
            emptied: &emptied[section.emptied.clone()],
        });
        (views, slot_forces)
    }
}

/// A section and what belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub section: &'a Section,
    pub rows: &'a [Row],
    pub entries: &'a [Entry],
    pub batches: &'a [Batch],
    pub emptied: &'a [u32],
}
