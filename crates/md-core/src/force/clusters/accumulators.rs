//! Accumulators for forces on j-clusters that cannot be added directly to the particles' forces
//! because they are in f32 or have one lane per pair.
//!
//! ```text
//! accumulator    a vector per dimension; cluster c uses number c modulo their count, a power of two
//! flush          add its sums to the particles' f64 forces and clear it:
//!                - every few i-clusters, for clusters whose own i-cluster has been swept
//!                - before an i-cluster that needs the accumulator for another cluster
//!                - at the end of a section
//! ```
//!
//! The flushes are determined when the list is made and are stored in it. With the half shell, a
//! sweep passes through the cells in order and processes a cluster for the last time when it is an
//! i-cluster. With accumulators for about a layer of cells, every cluster is flushed once. It is
//! flushed several times only if it is a ghost, if it occurs again later, or if a layer has more
//! clusters than the largest number of accumulators (131,072 particles in clusters of four).
//!
//! Advantage: the working set is one layer of cells for any size of the system; sums are added to
//! the particles' forces while these are in cache, and no separate pass clears or gathers. Indexing
//! by cluster keeps access sequential (assigning free accumulators dynamically cost more than it
//! saved). Disadvantage: clusters that share an accumulator and occur alternately are flushed
//! often.

use super::entry::{MOST_WORDS, Word};
use crate::aligned::{Column, Place};

/// Largest number of accumulators, a power of two: 6 MiB in f32 with 16 lanes.
const MOST_ACCUMULATORS: usize = 32_768;

/// Smallest number if there are more clusters than that, because ghosts do not occur in the order
/// of memory.
const FEWEST_ACCUMULATORS: usize = 4096;

// All of them may be flushed before one i-cluster.
const _: () = assert!(MOST_ACCUMULATORS <= MOST_WORDS);

/// Number of entries after which the clusters whose own i-clusters have been swept are flushed
/// together.
const ENTRIES_BETWEEN: usize = 256;

/// Stands for no cluster.
const NONE: u32 = u32::MAX;

/// The cluster that uses an accumulator and the last i-cluster that is paired with it.
#[derive(Debug, Clone, Copy)]
struct Accumulator {
    holder: u32,
    i_cluster: u32,
}

impl Accumulator {
    const FREE: Self = Self { holder: NONE, i_cluster: 0 };
}

/// The cluster that uses each accumulator, while lists are made.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulators {
    accumulators: Vec<Accumulator>,
    /// Clusters that have been given accumulators in this section.
    holders: Vec<u32>,
    /// The clusters from the section's first i-cluster up to this one have been flushed after their
    /// own i-clusters.
    swept: usize,
    /// The current i-cluster, counted from the last rebuild.
    i_cluster: u32,
    /// Entries left until the clusters whose own i-clusters have been swept are flushed.
    left: usize,
    /// Clusters to be flushed before the current i-cluster.
    flushed: Vec<u32>,
}

impl Accumulators {
    /// Prepares for `clusters` clusters, where i-clusters are paired with those up to `ahead` after
    /// their own. The number of accumulators is a quarter larger than `ahead`, to leave room for
    /// ghosts. Many more would spread the sums over more memory than necessary.
    pub(super) fn make_room(&mut self, clusters: usize, ahead: usize) {
        let wanted = (ahead + ahead / 4).max(FEWEST_ACCUMULATORS);
        let count = clusters.min(wanted).next_power_of_two().min(MOST_ACCUMULATORS);
        self.accumulators.clear();
        self.accumulators.resize(count, Accumulator::FREE);
        self.i_cluster = 0;
    }

    /// Returns the number of accumulators.
    pub(super) fn count(&self) -> usize {
        self.accumulators.len()
    }

    /// Assigns accumulators to the clusters of an i-cluster, in order, until two need the same one.
    /// Returns the number of entries that have accumulators, and the clusters to be flushed first.
    /// The i-cluster's particles are in `cluster`.
    pub(super) fn take(&mut self, entries: &[Word], cluster: usize) -> (usize, &[u32]) {
        self.begin_i_cluster();
        if self.left == 0 {
            self.flush_before(cluster);
            self.left = ENTRIES_BETWEEN;
        }
        let mask = self.accumulators.len() - 1;
        let mut taken = 0;
        for entry in entries {
            let cluster = entry.cluster();
            let accumulator = &mut self.accumulators[cluster & mask];
            if accumulator.holder as usize != cluster {
                if accumulator.holder != NONE && accumulator.i_cluster == self.i_cluster {
                    break;
                }
                self.change_holder(cluster);
            } else {
                accumulator.i_cluster = self.i_cluster;
            }
            taken += 1;
        }
        self.left = self.left.saturating_sub(taken);
        (taken, &self.flushed)
    }

    fn begin_i_cluster(&mut self) {
        self.i_cluster += 1;
        self.flushed.clear();
    }

    /// Assigns the accumulator to `cluster`, for the current i-cluster.
    #[inline(never)]
    fn change_holder(&mut self, cluster: usize) {
        let mask = self.accumulators.len() - 1;
        let new = Accumulator { holder: cluster as u32, i_cluster: self.i_cluster };
        let old = std::mem::replace(&mut self.accumulators[cluster & mask], new);
        if old.holder != NONE {
            self.flushed.push(old.holder);
        }
        self.holders.push(cluster as u32);
    }

    /// Flushes the clusters from the section's first i-cluster up to `cluster`, each once.
    fn flush_before(&mut self, cluster: usize) {
        if self.holders.is_empty() {
            self.swept = cluster;
        }
        for swept in self.swept..cluster {
            self.flush(swept);
        }
        self.swept = self.swept.max(cluster);
    }

    /// Returns the clusters to be flushed at the end of the section: all that still have
    /// accumulators.
    pub(super) fn take_back(&mut self) -> &[u32] {
        self.begin_i_cluster();
        while let Some(cluster) = self.holders.pop() {
            self.flush(cluster as usize);
        }
        self.left = 0;
        &self.flushed
    }

    fn flush(&mut self, cluster: usize) {
        let mask = self.accumulators.len() - 1;
        let accumulator = &mut self.accumulators[cluster & mask];
        if accumulator.holder as usize == cluster {
            *accumulator = Accumulator::FREE;
            self.flushed.push(cluster as u32);
        }
    }
}

/// The sums in all accumulators; zero between sweeps.
#[derive(Debug, Clone)]
pub(super) struct AccumulatedForces {
    columns: [Column<u64>; 3],
}

impl Default for AccumulatedForces {
    fn default() -> Self {
        Self { columns: Column::three_from(Place::Velocity) }
    }
}

impl AccumulatedForces {
    pub(super) fn make_room(&mut self, bytes: usize) {
        for column in &mut self.columns {
            column.set_len(bytes.div_ceil(size_of::<u64>()));
        }
    }

    /// Returns the vectors by accumulator.
    #[inline(always)]
    pub(super) fn vectors<V: bytemuck::Pod>(&mut self) -> [&mut [V]; 3] {
        let [x, y, z] = &mut self.columns;
        [
            bytemuck::cast_slice_mut(x.padded_mut()),
            bytemuck::cast_slice_mut(y.padded_mut()),
            bytemuck::cast_slice_mut(z.padded_mut()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::clusters::entry::Entry;
    use crate::force::clusters::words::{IClusters, Left, Stream};
    use crate::random;

    const LANES: usize = 16;
    const CLUSTERS: usize = 3 * MOST_ACCUMULATORS + 100;

    /// Returns the entries of i-clusters, up to `longest` each, many of which need the same
    /// accumulators.
    fn i_clusters(count: u64, longest: u64) -> Vec<Vec<Entry>> {
        let i_cluster = |i_cluster: u64| {
            let number =
                |entry: u64| random::normal_vector(i_cluster, entry).map(|x| (x.abs() * 1e6) as usize);
            let mut entries: Vec<Entry> = Vec::new();
            for entry in 1..=1 + number(0)[0] as u64 % longest {
                let [place, turn, _] = number(entry);
                let cluster =
                    (place % 40 + i_cluster as usize + turn % 3 * MOST_ACCUMULATORS).min(CLUSTERS - 1);
                if !entries.iter().any(|other| other.cluster() == cluster) {
                    entries.push(Entry::new(cluster, 1));
                }
            }
            entries
        };
        (0..count).map(i_cluster).collect()
    }

    /// Replays the list with counts instead of sums. Checks that no accumulator has two clusters
    /// and that every sum arrives. I-cluster k belongs to particle k.
    fn check(i_clusters: &[Vec<Entry>], accumulators: &mut Accumulators, ahead: usize) -> Stream {
        let mut stream = Stream::default();
        stream.clear(LANES);
        accumulators.make_room(CLUSTERS, ahead);
        for (i_cluster, entries) in i_clusters.iter().enumerate() {
            stream.begin_i_cluster(i_cluster, entries);
            loop {
                let (taken, flushed) = accumulators.take(stream.i_cluster(), i_cluster);
                if stream.end_i_cluster(taken, flushed) == Left::Nothing {
                    break;
                }
            }
        }
        stream.begin_i_cluster(0, &[]);
        stream.end_i_cluster(0, accumulators.take_back());
        let (mut held, mut totals) = (vec![(usize::MAX, 0); accumulators.count()], vec![0; CLUSTERS]);
        for i_cluster in IClusters(stream.words()) {
            for cluster in i_cluster.flushed.iter().map(|word| word.cluster()) {
                let (holder, sum) =
                    std::mem::replace(&mut held[cluster % accumulators.count()], (usize::MAX, 0));
                assert_eq!(holder, cluster, "flushed for another cluster");
                totals[cluster] += sum;
            }
            for cluster in i_cluster.entries.iter().map(|word| word.cluster()) {
                let (holder, sum) = &mut held[cluster % accumulators.count()];
                assert!(*holder == usize::MAX || *holder == cluster, "two clusters in an accumulator");
                (*holder, *sum) = (cluster, *sum + 1);
            }
        }
        assert!(held.iter().all(|&(holder, _)| holder == usize::MAX), "not all flushed");
        for entry in i_clusters.iter().flatten() {
            totals[entry.cluster()] -= 1;
        }
        assert!(totals.iter().all(|&rest| rest == 0));
        stream
    }

    fn entries_by_particle(stream: &Stream, particles: usize) -> Vec<Vec<Entry>> {
        let mut entries = vec![Vec::new(); particles];
        for (particle, of_i_cluster) in stream.entries() {
            entries[particle].extend(of_i_cluster);
        }
        entries
    }

    #[test]
    fn every_sum_arrives_and_no_two_clusters_share_an_accumulator() {
        let mut accumulators = Accumulators::default();
        for (count, longest) in [(1, 1), (300, 30), (40, 100), (2000, 9)] {
            for (ahead, wanted) in [(0, FEWEST_ACCUMULATORS), (5000, 8192), (CLUSTERS, MOST_ACCUMULATORS)] {
                let i_clusters = i_clusters(count, longest);
                let stream = check(&i_clusters, &mut accumulators, ahead);
                assert_eq!(accumulators.count(), wanted);
                assert_eq!(entries_by_particle(&stream, i_clusters.len()), i_clusters);
                let written =
                    IClusters(stream.words()).filter(|i_cluster| !i_cluster.entries.is_empty()).count();
                assert_eq!(
                    written > i_clusters.len(),
                    longest > 1,
                    "i_clusters that want an accumulator twice are cut"
                );
            }
        }
    }

    #[test]
    fn few_clusters_have_an_accumulator_each() {
        let mut accumulators = Accumulators::default();
        for (clusters, count) in [(0, 1), (1, 1), (3, 4), (4096, 4096)] {
            accumulators.make_room(clusters, 0);
            assert_eq!(accumulators.count(), count);
        }
    }

    #[test]
    fn in_order_every_cluster_is_flushed_once() {
        let i_clusters: Vec<Vec<Entry>> = (0..1000)
            .map(|i_cluster| (i_cluster..i_cluster + 20).map(|cluster| Entry::new(cluster, 1)).collect())
            .collect();
        let stream = check(&i_clusters, &mut Accumulators::default(), 0);
        assert_eq!(IClusters(stream.words()).map(|i_cluster| i_cluster.flushed.len()).sum::<usize>(), 1019);
        assert_eq!(
            IClusters(stream.words()).filter(|i_cluster| !i_cluster.entries.is_empty()).count(),
            i_clusters.len()
        );
        let flushing = IClusters(stream.words()).filter(|i_cluster| !i_cluster.flushed.is_empty()).count();
        assert!((70..100).contains(&flushing), "before {flushing} i_clusters");
    }
}
