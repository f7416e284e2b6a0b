//! An entry of a pair list, and the word that stands for it in the stream (`words`).

/// A cluster and its lanes, where bit k stands for lane k. It is one number, because lists are made
/// by copying entries repeatedly.
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

    /// Returns the entry with only those lanes that are also in `lanes`.
    #[inline(always)]
    pub(super) fn within(self, lanes: u16) -> Self {
        Self::new(self.cluster(), self.lanes() & lanes)
    }

    /// Returns the entry with `lanes` added.
    pub(super) fn with(self, lanes: u16) -> Self {
        Self::new(self.cluster(), self.lanes() | lanes)
    }
}

/// A word of the stream: an entry, a cluster to be flushed, or half of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Word(pub u32);

impl Word {
    const CLUSTER_BITS: u32 = u32::BITS - u8::BITS;
    /// Number of words of a head.
    pub(super) const HEAD: usize = 2;

    #[inline(always)]
    pub(super) fn entry(cluster: usize, code: u8) -> Self {
        debug_assert!(cluster < MOST_CLUSTERS);
        Self(u32::from(code) << Self::CLUSTER_BITS | cluster as u32)
    }

    /// Returns the cluster of an entry or of a flush.
    #[inline(always)]
    pub(super) fn cluster(self) -> usize {
        self.0 as usize & (MOST_CLUSTERS - 1)
    }

    /// Returns the code of an entry's lanes.
    #[inline(always)]
    pub(super) fn code(self) -> u8 {
        (self.0 >> Self::CLUSTER_BITS) as u8
    }

    /// Returns the entry, given the lanes by code.
    #[cfg(test)]
    pub(super) fn decoded(self, lanes: &[u16]) -> Entry {
        Entry::new(self.cluster(), lanes[usize::from(self.code())])
    }

    #[inline(always)]
    pub(super) fn head(particle: usize, flushed: usize, entries: usize) -> [Self; Self::HEAD] {
        debug_assert!(flushed <= MOST_WORDS && entries <= MOST_WORDS);
        [Self(particle as u32), Self((flushed as u32) << u16::BITS | entries as u32)]
    }
}

/// Largest number of clusters of a list: 67 million particles in clusters of four.
pub(super) const MOST_CLUSTERS: usize = 1 << Word::CLUSTER_BITS;

/// Largest number of words of an i-cluster's entries, and of clusters flushed before it.
pub(super) const MOST_WORDS: usize = u16::MAX as usize;
