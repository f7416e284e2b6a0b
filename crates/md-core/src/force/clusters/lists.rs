//! A pair list: sections of i-clusters with their entries, cut into blocks.

use super::accumulators::{AccumulatedForces, Accumulators};
use super::candidates::Candidates;
use super::words::{Entry, IClusters, Left, MOST_ENTRIES, Stream};
use crate::force::Newton;
use crate::force::shares::Blocks;
use crate::memory;
use crate::simd::ClusterForces;
use std::ops::Range;

/// I-clusters of a section that are swept together.
#[derive(Debug, Clone)]
pub(super) struct Block {
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

/// What an entry stands for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EntryShape {
    /// Particles of a j-cluster.
    pub width: usize,
    /// Pairs whose distance is computed.
    pub pairs: usize,
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
    /// Particles of a j-cluster, and pairs of an entry.
    pub shape: EntryShape,
    pub stream: Stream,
    /// Of all sections; one takes up accumulators where the one before has left them.
    pub blocks: Vec<Block>,
    /// The first of the section being made.
    first_block: usize,
    /// Entries after which a block ends.
    block_entries: usize,
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
    /// For so many clusters, of which i-clusters meet those up to `ahead` after their own. Blocks end after so many entries.
    pub(super) fn clear(&mut self, extent: Extent, clusters: usize, ahead: usize, block_entries: usize) {
        self.extent = extent;
        self.block_entries = block_entries;
        self.accumulators.make_room(clusters, ahead);
        self.stream.clear();
        self.blocks.clear();
    }

    /// Room for so many i-clusters in the making, each with all candidates.
    pub(super) fn prepare_drafts(&mut self, i_clusters: usize) {
        memory::resize(&mut self.drafts, i_clusters * self.candidates.len(), Entry::default());
    }

    /// I-clusters of a new section follow.
    pub(super) fn begin_section(&mut self, newton: Newton, cluster_forces: ClusterForces) {
        self.first_block = self.blocks.len();
        self.begin_block(newton);
        self.has_accumulators = cluster_forces == ClusterForces::InAccumulators && newton == Newton::On;
    }

    fn begin_block(&mut self, newton: Newton) {
        let start = self.stream.words().len();
        self.blocks.push(Block { words: start..start, entries: 0, newton });
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
        let Self { stream, accumulators, blocks, .. } = self;
        let Some(block) = blocks.last_mut() else { return };
        block.entries += stream.i_cluster().len();
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
        block.words.end = stream.words().len();
        if block.entries >= self.block_entries {
            let newton = block.newton;
            self.begin_block(newton);
        }
    }

    /// The section is complete; without i-clusters there is none. An accumulator takes `accumulator_bytes` per dimension.
    pub(super) fn end_section(&mut self, accumulator_bytes: usize) {
        self.end_last_i_cluster();
        self.blocks.pop_if(|block| block.entries == 0);
        let Some(block) = self.blocks[self.first_block..].last_mut() else { return };
        if self.has_accumulators {
            self.stream.begin_i_cluster(0);
            self.stream.end_i_cluster(0, self.accumulators.take_back());
            self.accumulated.make_room(self.accumulators.count() * accumulator_bytes);
            block.words.end = self.stream.words().len();
        }
    }

    /// Index of the first particle of an entry's j-cluster, counted as the list does.
    pub(super) fn first_particle(&self, entry: Entry) -> usize {
        entry.cluster() * self.shape.width
    }

    /// Computed pairs of so many entries.
    pub(super) fn pairs_in(&self, entries: usize) -> f64 {
        (entries * self.shape.pairs) as f64
    }

    /// A block, and where forces add up.
    pub(super) fn view(&mut self, block: usize) -> (View<'_>, &mut AccumulatedForces) {
        let Self { stream, blocks, accumulated, .. } = self;
        (View::new(&blocks[block], stream), accumulated)
    }

    /// All blocks.
    pub(super) fn views(&self) -> impl DoubleEndedIterator<Item = View<'_>> {
        self.blocks.iter().map(|block| View::new(block, &self.stream))
    }
}

impl Blocks for Lists {
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// A block and what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub block: &'a Block,
    pub i_clusters: IClusters<'a>,
}

impl<'a> View<'a> {
    fn new(block: &'a Block, stream: &'a Stream) -> Self {
        Self { block, i_clusters: IClusters(&stream.words()[block.words.clone()]) }
    }
}
