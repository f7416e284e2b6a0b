//! The pair list in the form that a sweep reads: one stream of words of four bytes.
//!
//! ```text
//! i-cluster      head (two words), clusters to be flushed before it is swept (`accumulators`),
//!                entries
//! head           first particle of the i-cluster; number of flushes and number of entries
//! entry          a j-cluster near at least one of the i-particles, and a code (`lane_codes`) of
//!                the lanes of the pairs that count if they are within the cutoff
//! ```
//!
//! With a single stream, access is sequential and the hardware prefetcher works. If heads and
//! flushes were in separate arrays, they would be read a few words at a time and miss the cache.
//! For the same reason the flushes come before the entries. Four bytes instead of eight halve the
//! memory of a list, which is the largest part of a rank's memory.

use super::entry::{Entry, MOST_WORDS, Word};
use super::lane_codes::{LaneCodes, LanesByCode};
use crate::memory;

/// Consecutive i-clusters. The last one is being written until it is ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    words: Vec<Word>,
    codes: LaneCodes,
    /// Position of the head of the last i-cluster.
    head: usize,
}

impl Stream {
    /// Removes everything, and prepares for entries of `lanes` lanes.
    pub(super) fn clear(&mut self, lanes: usize) {
        self.words.clear();
        self.codes.clear(lanes);
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns the lanes by code.
    pub(super) fn lanes(&self) -> &LanesByCode {
        self.codes.lanes()
    }

    /// Returns the first particle of every i-cluster and its entries.
    #[cfg(test)]
    pub(super) fn entries(&self) -> Vec<(usize, Vec<Entry>)> {
        let decoded = |words: &[Word]| words.iter().map(|word| word.decoded(self.lanes())).collect();
        let i_clusters = IClusters(self.words());
        i_clusters.map(|i_cluster| (i_cluster.particle, decoded(i_cluster.entries))).collect()
    }

    /// Begins the i-cluster of the particles from `particle` on, with these entries.
    #[inline(always)]
    pub(super) fn begin_i_cluster(&mut self, particle: usize, entries: &[Entry]) {
        self.head = self.words.len();
        memory::reserve(&mut self.words, Word::HEAD + entries.len());
        self.words.extend(Word::head(particle, 0, 0));
        self.codes.append(entries, &mut self.words);
    }

    /// Adds the lanes of an entry to one of the next `range` entries from `next` on of the last
    /// i-cluster that has the same cluster, or else appends the entry. Returns the number of the
    /// next entry to look at.
    pub(super) fn join(&mut self, next: usize, range: usize, entry: Entry) -> usize {
        let start = self.head + Word::HEAD + next;
        let place = self.words[start..].iter().take(range).position(|word| word.cluster() == entry.cluster());
        match place.and_then(|place| Some((place, self.codes.joined(self.words[start + place], entry)?))) {
            Some((place, joined)) => {
                self.words[start + place] = joined;
                next + place + 1
            }
            None => {
                self.codes.append(&[entry], &mut self.words);
                next
            }
        }
    }

    /// Returns the entries of the last i-cluster that fit in one.
    #[inline(always)]
    pub(super) fn i_cluster(&self) -> &[Word] {
        let entries = &self.words[self.head + Word::HEAD..];
        &entries[..entries.len().min(MOST_WORDS)]
    }

    /// Ends the last i-cluster after `entries` of its entries, at most [`MOST_WORDS`], and inserts
    /// the clusters to be flushed before it. Remaining entries become those of a new i-cluster of
    /// the same particles.
    #[inline(always)]
    pub(super) fn end_i_cluster(&mut self, entries: usize, flushed: &[u32]) -> Left {
        let particle = self.words[self.head].0 as usize;
        let start = self.head + Word::HEAD;
        self.words[self.head..start].copy_from_slice(&Word::head(particle, flushed.len(), entries));
        let is_whole = start + entries == self.words.len();
        if is_whole && flushed.is_empty() {
            return Left::Nothing;
        }
        self.insert(particle, start, entries, flushed)
    }

    /// Inserts flushes at `start`, and begins a new i-cluster with the words after `entries`.
    #[inline(never)]
    fn insert(&mut self, particle: usize, start: usize, entries: usize, flushed: &[u32]) -> Left {
        let left = self.words.split_off(start + entries);
        self.words.splice(start..start, flushed.iter().map(|&cluster| Word(cluster)));
        if left.is_empty() {
            return Left::Nothing;
        }
        self.begin_i_cluster(particle, &[]);
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
#[derive(Debug, Clone)]
pub(super) struct IClusterList<'a> {
    pub particle: usize,
    /// Clusters to be flushed first.
    pub flushed: &'a [Word],
    pub entries: &'a [Word],
}

/// An iterator over i-clusters.
#[derive(Debug, Clone)]
pub(super) struct IClusters<'a>(pub &'a [Word]);

impl<'a> Iterator for IClusters<'a> {
    type Item = IClusterList<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<IClusterList<'a>> {
        let (&[Word(particle), Word(counts)], words) = self.0.split_first_chunk()?;
        let (flushed, words) = words.split_at((counts >> u16::BITS) as usize);
        let (entries, words) = words.split_at(counts as u16 as usize);
        self.0 = words;
        Some(IClusterList { particle: particle as usize, flushed, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::clusters::entry::MOST_CLUSTERS;

    #[test]
    fn i_clusters_are_read_as_written() {
        let all: Vec<Entry> = (0..MOST_WORDS).map(|n| Entry::new(n * 5, n as u16 % 60 + 1)).collect();
        let flushed: Vec<u32> = (1000..).take(MOST_WORDS).collect();
        let i_clusters = [(u32::MAX as usize, 3, 1), (7, 0, MOST_WORDS), (0, MOST_WORDS, 0), (9, 2, 1)];
        let mut stream = Stream::default();
        stream.clear(16);
        for (particle, count, clusters) in i_clusters {
            stream.begin_i_cluster(particle, &all[..count]);
            assert_eq!(stream.end_i_cluster(count, &flushed[..clusters]), Left::Nothing);
        }
        let expected = i_clusters.map(|(particle, count, _)| (particle, all[..count].to_vec()));
        assert_eq!(stream.entries(), expected);
        for (i_cluster, (_, _, clusters)) in IClusters(stream.words()).zip(i_clusters) {
            assert!(i_cluster.flushed.iter().map(|word| word.cluster()).eq(1000..1000 + clusters));
        }
    }

    #[test]
    fn an_i_cluster_may_be_cut() {
        let all: Vec<Entry> = (0..10).map(|n| Entry::new(n, 1)).collect();
        let mut stream = Stream::default();
        stream.clear(16);
        stream.begin_i_cluster(5, &all);
        assert_eq!(stream.end_i_cluster(4, &[77]), Left::Entries);
        assert_eq!(stream.end_i_cluster(6, &[]), Left::Nothing);
        assert_eq!(stream.entries(), [(5, all[..4].to_vec()), (5, all[4..].to_vec())]);
        let flushed = IClusters(stream.words()).map(|i_cluster| i_cluster.flushed.len());
        assert!(flushed.eq([1, 0]));
    }

    #[test]
    fn the_last_cluster_of_a_list_is_kept() {
        let entry = Entry::new(MOST_CLUSTERS - 1, u16::MAX);
        let mut stream = Stream::default();
        stream.clear(16);
        stream.begin_i_cluster(0, &[entry]);
        assert_eq!(stream.end_i_cluster(1, &[]), Left::Nothing);
        assert_eq!(stream.entries(), [(0, vec![entry])]);
    }

    #[test]
    fn entries_of_a_cluster_are_joined_within_the_range() {
        let entry = |cluster, lanes| Entry::new(cluster, lanes);
        let mut stream = Stream::default();
        stream.clear(16);
        stream.begin_i_cluster(0, &[entry(3, 1), entry(5, 2), entry(9, 4)]);
        let mut next = stream.join(0, 2, entry(5, 8));
        assert_eq!(next, 2);
        // Beyond the range, and not there at all.
        assert_eq!(stream.join(0, 2, entry(9, 16)), 0);
        next = stream.join(next, 2, entry(7, 1));
        assert_eq!(next, 2);
        assert_eq!(stream.end_i_cluster(5, &[]), Left::Nothing);
        let expected = vec![entry(3, 1), entry(5, 10), entry(9, 4), entry(9, 16), entry(7, 1)];
        assert_eq!(stream.entries(), [(0, expected)]);
    }
}
