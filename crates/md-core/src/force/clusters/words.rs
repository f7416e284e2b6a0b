//! The pair list in the form that a sweep reads: one stream of words of eight bytes.
//!
//! ```text
//! i-cluster      head, clusters to be flushed before it is swept (`accumulators`), entries
//! head           first particle of the i-cluster, number of flushes, number of entries
//! entry          a j-cluster near at least one of the i-particles, and the lanes of the pairs that
//!                count if they are within the cutoff
//! ```
//!
//! With a single stream, access is sequential and the hardware prefetcher works. If heads and
//! flushes were in separate arrays, they would be read a few words at a time and miss the cache.
//! For the same reason the flushes come before the entries.

use crate::memory;

/// A cluster and its lanes, where bit k stands for lane k. It is one word, because lists are made
/// by copying entries repeatedly. The other words of the stream have the same type, so that copying
/// is sufficient: a cluster to be flushed has no lanes, and a head is read by [`IClusters`].
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

    /// Returns the lanes from `first` on, in the low bits.
    #[inline(always)]
    pub(super) fn lanes_from(self, first: usize) -> usize {
        (self.0 >> (u32::BITS as usize + first)) as usize
    }

    /// Returns the entry with only those lanes that are also in `lanes`.
    #[inline(always)]
    pub(super) fn within(self, lanes: u16) -> Self {
        Self::new(self.cluster(), self.lanes() & lanes)
    }

    /// Returns the entry with `lanes` added.
    pub(super) fn with(self, lanes: u16) -> Self {
        Self::new(self.cluster(), self.lanes() | lanes)
    }

    pub(super) fn head(particle: usize, flushed: usize, entries: usize) -> Self {
        debug_assert!(flushed <= MOST_ENTRIES && entries <= MOST_ENTRIES);
        Self((flushed as u64) << 48 | (entries as u64) << 32 | particle as u64)
    }
}

/// Largest number of entries of an i-cluster, and of clusters flushed before it.
pub(super) const MOST_ENTRIES: usize = u16::MAX as usize;

/// Consecutive i-clusters. The last one is being written until it is ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    words: Vec<Entry>,
    /// Position of the head of the last i-cluster.
    head: usize,
}

impl Stream {
    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    pub(super) fn words(&self) -> &[Entry] {
        &self.words
    }

    /// Makes room for `words` more words.
    #[inline]
    pub(super) fn reserve(&mut self, words: usize) {
        memory::reserve(&mut self.words, words);
    }

    /// Begins the i-cluster of the particles from `particle` on.
    pub(super) fn begin_i_cluster(&mut self, particle: usize) {
        self.head = self.words.len();
        self.words.push(Entry::head(particle, 0, 0));
    }

    /// Appends entries to the last i-cluster.
    #[inline(always)]
    pub(super) fn extend_i_cluster(&mut self, entries: &[Entry]) {
        self.words.extend_from_slice(entries);
    }

    /// Returns the entries of the last i-cluster.
    pub(super) fn i_cluster(&self) -> &[Entry] {
        &self.words[self.head + 1..]
    }

    pub(super) fn i_cluster_mut(&mut self) -> &mut [Entry] {
        &mut self.words[self.head + 1..]
    }

    /// Ends the last i-cluster after `entries` of its entries, at most [`MOST_ENTRIES`], and
    /// inserts the clusters to be flushed before it. Remaining entries become those of a new
    /// i-cluster of the same particles.
    pub(super) fn end_i_cluster(&mut self, entries: usize, flushed: &[u32]) -> Left {
        let particle = self.words[self.head].0 as u32 as usize;
        self.words[self.head] = Entry::head(particle, flushed.len(), entries);
        let start = self.head + 1;
        let left = if start + entries < self.words.len() {
            self.words.split_off(start + entries)
        } else {
            Vec::new()
        };
        if !flushed.is_empty() {
            self.words.splice(start..start, flushed.iter().map(|&cluster| Entry(cluster.into())));
        }
        if left.is_empty() {
            return Left::Nothing;
        }
        self.begin_i_cluster(particle);
        self.words.extend(left);
        Left::Entries
    }
}

/// Remainder of an i-cluster after it has been ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    Entries,
}

/// The particles of an i-cluster, from `particle` on, and their entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct IClusterList<'a> {
    pub particle: usize,
    /// Clusters to be flushed first.
    pub flushed: &'a [Entry],
    pub entries: &'a [Entry],
}

/// An iterator over i-clusters.
#[derive(Debug, Clone)]
pub(super) struct IClusters<'a>(pub &'a [Entry]);

impl<'a> Iterator for IClusters<'a> {
    type Item = IClusterList<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<IClusterList<'a>> {
        let (&Entry(head), words) = self.0.split_first()?;
        let (flushed, words) = words.split_at((head >> 48) as usize);
        let (entries, words) = words.split_at((head >> 32) as u16 as usize);
        self.0 = words;
        Some(IClusterList { particle: head as u32 as usize, flushed, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i_clusters_are_read_as_written() {
        let all: Vec<Entry> = (0..MOST_ENTRIES).map(|n| Entry::new(n * 5, n as u16)).collect();
        let flushed: Vec<u32> = (1000..).take(MOST_ENTRIES).collect();
        let i_clusters = [(u32::MAX as usize, 3, 1), (7, 0, MOST_ENTRIES), (0, MOST_ENTRIES, 0), (9, 2, 1)];
        let mut stream = Stream::default();
        for (particle, count, clusters) in i_clusters {
            stream.begin_i_cluster(particle);
            stream.extend_i_cluster(&all[..count]);
            assert_eq!(stream.end_i_cluster(count, &flushed[..clusters]), Left::Nothing);
        }
        assert_eq!(IClusters(stream.words()).count(), i_clusters.len());
        for (i_cluster, (particle, count, clusters)) in IClusters(stream.words()).zip(i_clusters) {
            assert_eq!(i_cluster.particle, particle);
            assert_eq!(i_cluster.entries, &all[..count]);
            assert!(i_cluster.flushed.iter().map(|entry| entry.cluster()).eq(1000..1000 + clusters));
        }
    }

    #[test]
    fn an_i_cluster_may_be_cut() {
        let all: Vec<Entry> = (0..10).map(|n| Entry::new(n, 1)).collect();
        let mut stream = Stream::default();
        stream.begin_i_cluster(5);
        stream.extend_i_cluster(&all);
        assert_eq!(stream.end_i_cluster(4, &[77]), Left::Entries);
        assert_eq!(stream.end_i_cluster(6, &[]), Left::Nothing);
        let i_clusters: Vec<IClusterList> = IClusters(stream.words()).collect();
        assert_eq!(
            i_clusters
                .iter()
                .map(|i_cluster| (i_cluster.particle, i_cluster.flushed.len()))
                .collect::<Vec<_>>(),
            [(5, 1), (5, 0)]
        );
        assert_eq!(
            i_clusters.into_iter().flat_map(|i_cluster| i_cluster.entries).copied().collect::<Vec<_>>(),
            all
        );
    }
}
