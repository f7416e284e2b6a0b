//! What a list consists of: sections of rows of entries.

use super::accumulators::{AccumulatedForces, Accumulators};
use super::candidates::Candidates;
use super::words::{Entry, Left, MOST_ENTRIES, Rows, Stream};
use crate::halo::Newton;
use crate::simd::ClusterForces;
use std::ops::Range;

/// Rows that are swept together.
#[derive(Debug, Clone)]
pub(super) struct Section {
    words: Range<usize>,
    /// Of all its rows.
    pub entries: usize,
    pub newton: Newton,
}

/// So many clusters that only the cell before meets may lie between two that the next meets too.
const LOOK_AHEAD: usize = 16;

/// The row that was made last, as long as particles of the next cell may come in.
#[derive(Debug, Clone, Copy)]
struct LastRow {
    particle: usize,
    cluster: usize,
}

/// All rows and their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub stream: Stream,
    pub sections: Vec<Section>,
    accumulated: AccumulatedForces,
    accumulators: Accumulators,
    /// Whether the forces of the section being made add up in accumulators.
    has_accumulators: bool,
    last: Option<LastRow>,
    /// Of the cell whose rows are being made.
    pub candidates: Candidates,
    /// Entries of the rows being made, side by side.
    pub drafts: Vec<Entry>,
}

impl Lists {
    /// For so many clusters, of which rows meet those up to `ahead` after their own.
    pub(super) fn clear(&mut self, clusters: usize, ahead: usize) {
        self.accumulators.make_room(clusters, ahead);
        self.stream.clear();
        self.sections.clear();
    }

    /// Room for so many rows in the making, each with all candidates.
    pub(super) fn prepare_drafts(&mut self, rows: usize) {
        self.drafts.resize(rows * self.candidates.len(), Entry::default());
    }

    /// Rows of a new section follow.
    pub(super) fn begin_section(&mut self, newton: Newton, cluster_forces: ClusterForces) {
        let start = self.stream.words().len();
        self.sections.push(Section { words: start..start, entries: 0, newton });
        self.has_accumulators = cluster_forces == ClusterForces::InAccumulators && newton == Newton::On;
    }

    /// These drafts become the row of the particles from `particle` on, in `cluster`, if there are any; or part of it, if
    /// that is the last row already.
    #[inline(always)]
    pub(super) fn push_row(&mut self, (particle, cluster): (usize, usize), drafts: Range<usize>) {
        if drafts.is_empty() {
            return;
        }
        match self.last {
            Some(last) if last.particle == particle => self.add_to_row(drafts),
            _ => {
                self.end_last_row();
                self.last = Some(LastRow { particle, cluster });
                self.stream.begin_row(particle);
                self.stream.extend_row(&self.drafts[drafts]);
            }
        }
    }

    /// Where the section's last row begins.
    pub(super) fn last_row(&self) -> Option<usize> {
        self.last.map(|last| last.particle)
    }

    /// Entries of another cell's particles for the last row: most of their clusters are there already, in the same order. One
    /// that is not found may come twice, each time with its own lanes.
    fn add_to_row(&mut self, drafts: Range<usize>) {
        let mut next = 0;
        for &draft in &self.drafts[drafts] {
            let entries = &mut self.stream.row_mut()[next..];
            let is_same = |entry: &Entry| entry.cluster() == draft.cluster();
            match entries.iter().take(LOOK_AHEAD).position(is_same) {
                Some(place) => {
                    entries[place] = entries[place].with(draft.lanes());
                    next += place + 1;
                }
                None => self.stream.extend_row(&[draft]),
            }
        }
    }

    /// Nothing will be added to the last row.
    fn end_last_row(&mut self) {
        let Some(LastRow { cluster, .. }) = self.last.take() else { return };
        let Self { stream, accumulators, sections, .. } = self;
        if let Some(section) = sections.last_mut() {
            section.entries += stream.row().len();
        }
        loop {
            let entries = &stream.row()[..stream.row().len().min(MOST_ENTRIES)];
            let (entries, flushed) = if self.has_accumulators {
                accumulators.take(entries, cluster)
            } else {
                (entries.len(), &[][..])
            };
            if stream.end_row(entries, flushed) == Left::Nothing {
                break;
            }
        }
    }

    /// The section is complete; without rows there is none. An accumulator takes `accumulator_bytes` per dimension.
    pub(super) fn end_section(&mut self, accumulator_bytes: usize) {
        self.end_last_row();
        let Some(section) = self.sections.last_mut().filter(|section| section.entries > 0) else {
            self.sections.pop();
            return;
        };
        if self.has_accumulators {
            self.stream.begin_row(0);
            self.stream.end_row(0, self.accumulators.take_back());
            self.accumulated.make_room(self.accumulators.count() * accumulator_bytes);
        }
        section.words.end = self.stream.words().len();
    }

    /// The rows of a section.
    pub(super) fn rows(&self, section: &Section) -> Rows<'_> {
        Rows(&self.stream.words()[section.words.clone()])
    }

    /// The sections, and where forces add up.
    pub(super) fn views(&mut self) -> (impl Iterator<Item = View<'_>>, &mut AccumulatedForces) {
        let Self { stream, sections, accumulated, .. } = self;
        let words = stream.words();
        let views =
            sections.iter().map(|section| View { section, rows: Rows(&words[section.words.clone()]) });
        (views, accumulated)
    }
}

/// A section and what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub section: &'a Section,
    pub rows: Rows<'a>,
}
