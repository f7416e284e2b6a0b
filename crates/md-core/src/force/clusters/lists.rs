//! A pair list: sections of i-clusters with their entries.

use super::accumulators::{AccumulatedForces, Accumulators};
use super::candidates::Candidates;
use super::words::{Entry, IClusters, Left, MOST_ENTRIES, Stream};
use crate::force::Newton;
use crate::memory;
use crate::simd::ClusterForces;
use std::ops::Range;

/// I-clusters that are swept together.
#[derive(Debug, Clone)]
pub(super) struct Section {
    words: Range<usize>,
    /// Of all its i-clusters.
    pub entries: usize,
    pub newton: Newton,
}

/// What a list's indices count: all particles, or those of a home.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// The first cluster.
    pub base: usize,
    /// Particles.
    pub len: usize,
}

/// So many clusters that only the cell before meets may lie between two that the next meets too.
const LOOK_AHEAD: usize = 16;

/// The i-cluster that was made last, as long as particles of the next cell may come in.
#[derive(Debug, Clone, Copy)]
struct LastICluster {
    particle: usize,
    cluster: usize,
}

/// All i-clusters and their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub extent: Extent,
    pub stream: Stream,
    pub sections: Vec<Section>,
    accumulated: AccumulatedForces,
    accumulators: Accumulators,
    /// Whether the forces of the section being made add up in accumulators.
    has_accumulators: bool,
    last: Option<LastICluster>,
    /// Of the cell whose i-clusters are being made.
    pub candidates: Candidates,
    /// Entries of the i-clusters being made, side by side.
    pub drafts: Vec<Entry>,
}

impl Lists {
    /// For so many clusters, of which i-clusters meet those up to `ahead` after their own.
    pub(super) fn clear(&mut self, extent: Extent, clusters: usize, ahead: usize) {
        self.extent = extent;
        self.accumulators.make_room(clusters, ahead);
        self.stream.clear();
        self.sections.clear();
    }

    /// Room for so many i-clusters in the making, each with all candidates.
    pub(super) fn prepare_drafts(&mut self, i_clusters: usize) {
        memory::resize(&mut self.drafts, i_clusters * self.candidates.len(), Entry::default());
    }

    /// I-clusters of a new section follow.
    pub(super) fn begin_section(&mut self, newton: Newton, cluster_forces: ClusterForces) {
        let start = self.stream.words().len();
        self.sections.push(Section { words: start..start, entries: 0, newton });
        self.has_accumulators = cluster_forces == ClusterForces::InAccumulators && newton == Newton::On;
    }

    /// These drafts become the i-cluster of the particles from `particle` on, in `cluster`, if there are any; or part of it, if
    /// that is the last i-cluster already.
    #[inline(always)]
    pub(super) fn push_i_cluster(&mut self, particle: usize, cluster: usize, drafts: Range<usize>) {
        if drafts.is_empty() {
            return;
        }
        match self.last {
            Some(last) if last.particle == particle => self.add_to_i_cluster(drafts),
            _ => {
                self.end_last_i_cluster();
                self.last = Some(LastICluster { particle, cluster });
                self.stream.reserve(drafts.len() + 1);
                self.stream.begin_i_cluster(particle);
                self.stream.extend_i_cluster(&self.drafts[drafts]);
            }
        }
    }

    /// Where the section's last i-cluster begins.
    pub(super) fn last_i_cluster(&self) -> Option<usize> {
        self.last.map(|last| last.particle)
    }

    /// Entries of another cell's particles for the last i-cluster: most of their clusters are there already, in the same order. One
    /// that is not found may come twice, each time with its own lanes.
    fn add_to_i_cluster(&mut self, drafts: Range<usize>) {
        let mut next = 0;
        for &draft in &self.drafts[drafts] {
            let entries = &mut self.stream.i_cluster_mut()[next..];
            let is_same = |entry: &Entry| entry.cluster() == draft.cluster();
            match entries.iter().take(LOOK_AHEAD).position(is_same) {
                Some(place) => {
                    entries[place] = entries[place].with(draft.lanes());
                    next += place + 1;
                }
                None => self.stream.extend_i_cluster(&[draft]),
            }
        }
    }

    /// Nothing will be added to the last i-cluster.
    fn end_last_i_cluster(&mut self) {
        let Some(LastICluster { cluster, .. }) = self.last.take() else { return };
        let Self { stream, accumulators, sections, .. } = self;
        if let Some(section) = sections.last_mut() {
            section.entries += stream.i_cluster().len();
        }
        loop {
            let entries = &stream.i_cluster()[..stream.i_cluster().len().min(MOST_ENTRIES)];
            let (entries, flushed) = if self.has_accumulators {
                accumulators.take(entries, cluster)
            } else {
                (entries.len(), &[][..])
            };
            if stream.end_i_cluster(entries, flushed) == Left::Nothing {
                break;
            }
        }
    }

    /// The section is complete; without i-clusters there is none. An accumulator takes `accumulator_bytes` per dimension.
    pub(super) fn end_section(&mut self, accumulator_bytes: usize) {
        self.end_last_i_cluster();
        let Some(section) = self.sections.last_mut().filter(|section| section.entries > 0) else {
            self.sections.pop();
            return;
        };
        if self.has_accumulators {
            self.stream.begin_i_cluster(0);
            self.stream.end_i_cluster(0, self.accumulators.take_back());
            self.accumulated.make_room(self.accumulators.count() * accumulator_bytes);
        }
        section.words.end = self.stream.words().len();
    }

    /// The sections, and where forces add up.
    pub(super) fn views(&mut self) -> (impl DoubleEndedIterator<Item = View<'_>>, &mut AccumulatedForces) {
        let Self { stream, sections, accumulated, .. } = self;
        let words = stream.words();
        let view = |section| View { section, i_clusters: IClusters(&words[section.words.clone()]) };
        (sections.iter().map(view), accumulated)
    }
}

/// A section and what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub section: &'a Section,
    pub i_clusters: IClusters<'a>,
}
