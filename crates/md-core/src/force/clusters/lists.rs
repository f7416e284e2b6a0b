//! A pair list: sections of i-clusters with their entries, divided into blocks.

use super::accumulators::{AccumulatedForces, Accumulators};
use super::candidates::Candidates;
use super::entry::{Entry, MOST_CLUSTERS, Word};
use super::lane_codes::LanesByCode;
use super::pruning::ListKind;
use super::shape::ClusterShape;
use super::words::{IClusterList, IClusters, Left, Stream};
use crate::force::Newton;
use crate::force::shares::Blocks;
use crate::memory;
use crate::simd::ClusterForces;
use std::ops::Range;

/// I-clusters of a section that are swept together.
#[derive(Debug, Clone)]
pub(super) struct Block {
    outer: Words,
    inner: Words,
    pub newton: Newton,
}

/// The words of a block and the number of entries of all its i-clusters.
#[derive(Debug, Clone, Default)]
struct Words {
    range: Range<usize>,
    entries: usize,
}

/// Range to which a list's indices refer: all particles, or those of a home.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// The first cluster.
    pub base: usize,
    /// Number of particles.
    pub len: usize,
}

/// Number of words by which an inner list is extended at a time, at least.
const PAGE: usize = 1024;

/// Largest number of clusters, paired only with the previous cell, that are skipped in the search
/// for one that is also paired with the current cell.
const LOOK_AHEAD: usize = 16;

/// The i-cluster that was made last, as long as particles of the next cell may be added.
#[derive(Debug, Clone, Copy)]
struct LastICluster {
    particle: usize,
    cluster: usize,
}

/// All i-clusters and their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub extent: Extent,
    pub shape: ClusterShape,
    pub stream: Stream,
    /// The words of the inner list.
    inner: Vec<Word>,
    /// Blocks of all sections. A section continues with the accumulators of the previous one.
    pub blocks: Vec<Block>,
    /// The first block of the section under construction.
    first_block: usize,
    /// Number of entries after which a block ends.
    block_entries: usize,
    accumulated: AccumulatedForces,
    accumulators: Accumulators,
    /// Whether the forces of the section under construction are added up in accumulators.
    has_accumulators: bool,
    last: Option<LastICluster>,
    /// Candidates of the cell whose i-clusters are under construction.
    pub candidates: Candidates,
    /// Entries of the i-clusters under construction, side by side.
    pub drafts: Vec<Entry>,
}

impl Lists {
    /// Clears the lists and prepares them for `clusters` clusters, where i-clusters are paired with
    /// those up to `ahead` after their own. Blocks end after `block_entries` entries.
    pub(super) fn clear(&mut self, extent: Extent, clusters: usize, ahead: usize, block_entries: usize) {
        assert!(
            clusters <= MOST_CLUSTERS,
            "a rank has {clusters} clusters of particles and ghosts, and a list holds {MOST_CLUSTERS}: use more ranks"
        );
        self.extent = extent;
        self.block_entries = block_entries;
        self.accumulators.make_room(clusters, ahead);
        self.stream.clear(self.shape.lanes());
        self.blocks.clear();
    }

    /// Makes room for the drafts of `i_clusters` i-clusters, each with all candidates.
    pub(super) fn prepare_drafts(&mut self, i_clusters: usize) {
        memory::resize(&mut self.drafts, i_clusters * self.candidates.len(), Entry::default());
    }

    /// Begins a new section of i-clusters.
    pub(super) fn begin_section(&mut self, newton: Newton, cluster_forces: ClusterForces) {
        self.first_block = self.blocks.len();
        self.begin_block(newton);
        self.has_accumulators = cluster_forces == ClusterForces::InAccumulators && newton == Newton::On;
    }

    fn begin_block(&mut self, newton: Newton) {
        let start = self.stream.words().len();
        let outer = Words { range: start..start, entries: 0 };
        self.blocks.push(Block { outer, inner: Words::default(), newton });
    }

    /// Appends an i-cluster of the particles from `particle` on, which lie in `cluster`, with the
    /// entries in `drafts`, if there are any. If that is already the last i-cluster, adds the
    /// entries to it.
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
                self.stream.begin_i_cluster(particle, &self.drafts[drafts]);
            }
        }
    }

    /// Returns the first particle of the section's last i-cluster.
    pub(super) fn last_i_cluster(&self) -> Option<usize> {
        self.last.map(|last| last.particle)
    }

    /// Adds entries of another cell's particles to the last i-cluster. Most of their clusters are
    /// already there, in the same order. A cluster that is not found in the search range may occur
    /// twice, each time with different lanes.
    fn add_to_i_cluster(&mut self, drafts: Range<usize>) {
        let mut next = 0;
        for &draft in &self.drafts[drafts] {
            next = self.stream.join(next, LOOK_AHEAD, draft);
        }
    }

    /// Completes the last i-cluster.
    #[inline(always)]
    fn end_last_i_cluster(&mut self) {
        let Some(LastICluster { cluster, .. }) = self.last.take() else { return };
        let Self { stream, accumulators, blocks, .. } = self;
        let Some(block) = blocks.last_mut() else { return };
        loop {
            let entries = stream.i_cluster();
            let (entries, flushed) = if self.has_accumulators {
                accumulators.take(entries, cluster)
            } else {
                (entries.len(), &[][..])
            };
            block.outer.entries += entries;
            if stream.end_i_cluster(entries, flushed) == Left::Nothing {
                break;
            }
        }
        block.outer.range.end = stream.words().len();
        if block.outer.entries >= self.block_entries {
            let newton = block.newton;
            self.begin_block(newton);
        }
    }

    /// Completes the section. A section without i-clusters is dropped. An accumulator takes
    /// `accumulator_bytes` per dimension.
    pub(super) fn end_section(&mut self, accumulator_bytes: usize) {
        self.end_last_i_cluster();
        self.blocks.pop_if(|block| block.outer.entries == 0);
        let Some(block) = self.blocks[self.first_block..].last_mut() else { return };
        if self.has_accumulators {
            self.stream.begin_i_cluster(0, &[]);
            self.stream.end_i_cluster(0, self.accumulators.take_back());
            self.accumulated.make_room(self.accumulators.count() * accumulator_bytes);
            block.outer.range.end = self.stream.words().len();
        }
    }

    /// Returns the index of the first particle of an entry's j-cluster, in the numbering of the
    /// list.
    pub(super) fn first_particle(&self, entry: Word) -> usize {
        entry.cluster() * self.shape.width
    }

    /// Returns the number of computed pairs of `entries` entries.
    pub(super) fn pairs_in(&self, entries: usize) -> f64 {
        (entries * self.shape.lanes()) as f64
    }

    /// Gives back the memory of the inner list.
    pub(super) fn drop_inner(&mut self) {
        self.inner = Vec::new();
    }

    /// Makes the inner list. `select(particle, entries, to)` copies entries of the i-cluster of
    /// `particle` and returns their number.
    #[inline(always)]
    pub(super) fn prune(&mut self, select: impl Fn(usize, &[Word], &mut [Word]) -> usize) {
        let Self { stream, inner, blocks, .. } = self;
        // Room for the whole list, of which the system only provides what is written.
        memory::reserve(inner, stream.words().len().saturating_sub(inner.len()));
        let mut end = 0;
        for block in blocks {
            let start = end;
            block.inner.entries = 0;
            for IClusterList { particle, flushed, entries } in
                IClusters(&stream.words()[block.outer.range.clone()])
            {
                let first = end + Word::HEAD + flushed.len();
                let needed = first + entries.len();
                if needed > inner.len() {
                    inner.resize((needed + PAGE).min(inner.capacity()), Word::default());
                }
                let selected = select(particle, entries, &mut inner[first..needed]);
                if selected + flushed.len() > 0 {
                    let head = Word::head(particle, flushed.len(), selected);
                    inner[end..end + Word::HEAD].copy_from_slice(&head);
                    inner[end + Word::HEAD..first].copy_from_slice(flushed);
                    end = first + selected;
                    block.inner.entries += selected;
                }
            }
            block.inner.range = start..end;
        }
    }

    /// Returns a block and the accumulators of its forces.
    pub(super) fn view(&mut self, block: usize, kind: ListKind) -> (View<'_>, &mut AccumulatedForces) {
        let Self { stream, inner, blocks, accumulated, .. } = self;
        let block = &blocks[block];
        let view = match kind {
            ListKind::Outer => View::new(block.newton, &block.outer, stream.words(), stream.lanes()),
            ListKind::Inner => View::new(block.newton, &block.inner, inner, stream.lanes()),
        };
        (view, accumulated)
    }

    /// Returns all blocks.
    pub(super) fn views(&self) -> impl DoubleEndedIterator<Item = View<'_>> {
        let (words, lanes) = (self.stream.words(), self.stream.lanes());
        self.blocks.iter().map(move |block| View::new(block.newton, &block.outer, words, lanes))
    }
}

impl Blocks for Lists {
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// A block and its i-clusters.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub newton: Newton,
    /// Number of entries of all i-clusters.
    pub entries: usize,
    pub i_clusters: IClusters<'a>,
    /// The lanes of entries by code.
    pub lanes: &'a LanesByCode,
}

impl<'a> View<'a> {
    fn new(newton: Newton, words: &Words, stream: &'a [Word], lanes: &'a LanesByCode) -> Self {
        let i_clusters = IClusters(&stream[words.range.clone()]);
        Self { newton, entries: words.entries, i_clusters, lanes }
    }
}
