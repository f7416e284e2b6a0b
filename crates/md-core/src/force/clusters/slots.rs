//! Where the forces of clusters add up, when they are of another type than the particles' or have a lane per pair.
//!
//! ```text
//! slot           a vector per dimension: that of cluster c is c modulo their number
//! emptying       moves its sums to the particles: every few rows for clusters whose own rows have been swept; before a
//!                row for clusters whose slots it needs; at the section's end for all
//! ```
//!
//! What is emptied when is decided with the lists, so a sweep only does what it is told. With the half shell it passes through
//! the cells in order and meets a cluster for the last time in its own rows. With slots for all clusters from a row to the
//! last that it meets, about a layer of cells, every cluster is emptied once. It is emptied a few times if it is met
//! later again, if it is a ghost, or if a layer has more clusters than there are slots at most (131,072 particles in
//! clusters of four).
//!
//! Advantage: the sums take a cache's room for a layer of cells, however many particles there are; they reach the
//! particles' forces while these are in a cache too, and nothing has to be cleared or gathered in a pass of its own. Slots in the
//! order of clusters are read like a column (handed out as they come free, they cost more than they saved). Disadvantage:
//! where two clusters that need one slot are met by turns, they are emptied more often.

use super::words::{Entry, MOST_ENTRIES};
use crate::aligned::{Column, Place};

/// Slots, at most: a power of two. In f32 with 16 lanes 6 MiB.
const MOST_SLOTS: usize = 32_768;

/// Slots where more clusters than that are met, at least: for ghosts, which are met in another order than they have in memory.
const FEWEST_SLOTS: usize = 4096;

// So many may be emptied before one row.
const _: () = assert!(MOST_SLOTS <= MOST_ENTRIES);

/// Clusters whose own rows have been swept are emptied together, after so many entries.
const ENTRIES_BETWEEN: usize = 256;

/// No cluster.
const NONE: u32 = u32::MAX;

/// Whose a slot is, and the last row that meets that cluster.
#[derive(Debug, Clone, Copy)]
struct Slot {
    holder: u32,
    row: u32,
}

impl Slot {
    const FREE: Self = Self { holder: NONE, row: 0 };
}

/// Which cluster has each slot, while lists are made.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// Clusters that have got slots in this section.
    holders: Vec<u32>,
    /// Those before it, from the section's first row on, have been emptied after their own rows.
    swept: usize,
    /// The row at hand, counted from the last rebuild.
    row: u32,
    /// Entries until clusters whose own rows have been swept are emptied.
    left: usize,
    /// Clusters to be emptied before the row at hand.
    emptied: Vec<u32>,
}

impl Slots {
    /// For so many clusters, of which rows meet those up to `ahead` after their own. A quarter more slots leaves room for
    /// ghosts; with many more the sums would be spread over more memory than they need.
    pub(super) fn make_room(&mut self, clusters: usize, ahead: usize) {
        let wanted = (ahead + ahead / 4).max(FEWEST_SLOTS);
        let count = clusters.min(wanted).next_power_of_two().min(MOST_SLOTS);
        self.slots.clear();
        self.slots.resize(count, Slot::FREE);
        self.row = 0;
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Gives the clusters of a row slots, in order, until two want the same: how many entries have slots, and which clusters
    /// are to be emptied first. The row's particles are in `cluster`.
    pub(super) fn take(&mut self, entries: &[Entry], cluster: usize) -> (usize, &[u32]) {
        self.begin_row();
        if self.left == 0 {
            self.empty_before(cluster);
            self.left = ENTRIES_BETWEEN;
        }
        let mask = self.slots.len() - 1;
        let mut taken = 0;
        for entry in entries {
            let cluster = entry.cluster();
            let slot = &mut self.slots[cluster & mask];
            if slot.holder as usize != cluster {
                if slot.holder != NONE && slot.row == self.row {
                    break;
                }
                self.change_holder(cluster);
            } else {
                slot.row = self.row;
            }
            taken += 1;
        }
        self.left = self.left.saturating_sub(taken);
        (taken, &self.emptied)
    }

    fn begin_row(&mut self) {
        self.row += 1;
        self.emptied.clear();
    }

    /// The slot is this cluster's now, for the row at hand.
    #[inline(never)]
    fn change_holder(&mut self, cluster: usize) {
        let mask = self.slots.len() - 1;
        let new = Slot { holder: cluster as u32, row: self.row };
        let old = std::mem::replace(&mut self.slots[cluster & mask], new);
        if old.holder != NONE {
            self.emptied.push(old.holder);
        }
        self.holders.push(cluster as u32);
    }

    /// Empties the clusters from the section's first row on and before this one, once.
    fn empty_before(&mut self, cluster: usize) {
        if self.holders.is_empty() {
            self.swept = cluster;
        }
        for swept in self.swept..cluster {
            self.empty(swept);
        }
        self.swept = self.swept.max(cluster);
    }

    /// The clusters that are to be emptied at the section's end: all that still have slots.
    pub(super) fn take_back(&mut self) -> &[u32] {
        self.begin_row();
        while let Some(cluster) = self.holders.pop() {
            self.empty(cluster as usize);
        }
        self.left = 0;
        &self.emptied
    }

    fn empty(&mut self, cluster: usize) {
        let mask = self.slots.len() - 1;
        let slot = &mut self.slots[cluster & mask];
        if slot.holder as usize == cluster {
            *slot = Slot::FREE;
            self.emptied.push(cluster as u32);
        }
    }
}

/// The sums of all slots; zero between sweeps.
#[derive(Debug, Clone)]
pub(super) struct SlotForces {
    columns: [Column<u64>; 3],
}

impl Default for SlotForces {
    fn default() -> Self {
        Self { columns: Column::three_from(Place::Velocity) }
    }
}

impl SlotForces {
    pub(super) fn make_room(&mut self, bytes: usize) {
        for column in &mut self.columns {
            column.set_len(bytes.div_ceil(size_of::<u64>()));
        }
    }

    /// Vectors by slot.
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
    use crate::force::clusters::words::{Left, Rows, Stream};
    use crate::random;

    const CLUSTERS: usize = 3 * MOST_SLOTS + 100;

    /// The entries of rows, up to so many each, which keep meeting clusters that want the same slots.
    fn rows(count: u64, longest: u64) -> Vec<Vec<Entry>> {
        let row = |row: u64| {
            let number = |entry: u64| random::normal_vector(row, entry).map(|x| (x.abs() * 1e6) as usize);
            let mut entries: Vec<Entry> = Vec::new();
            for entry in 1..=1 + number(0)[0] as u64 % longest {
                let [place, turn, _] = number(entry);
                let cluster = (place % 40 + row as usize + turn % 3 * MOST_SLOTS).min(CLUSTERS - 1);
                if !entries.iter().any(|other| other.cluster() == cluster) {
                    entries.push(Entry::new(cluster, 1));
                }
            }
            entries
        };
        (0..count).map(row).collect()
    }

    /// Row k is that of particle k. Plays what is written, with counts for sums: no slot has two clusters, every sum arrives.
    fn check(rows: &[Vec<Entry>], slots: &mut Slots, ahead: usize) -> Stream {
        let mut stream = Stream::default();
        slots.make_room(CLUSTERS, ahead);
        for (row, entries) in rows.iter().enumerate() {
            stream.begin_row(row);
            stream.extend_row(entries);
            loop {
                let (taken, emptied) = slots.take(stream.row(), row);
                if stream.end_row(taken, emptied) == Left::Nothing {
                    break;
                }
            }
        }
        stream.begin_row(0);
        stream.end_row(0, slots.take_back());
        let (mut held, mut totals) = (vec![(usize::MAX, 0); slots.count()], vec![0; CLUSTERS]);
        for row in Rows(stream.words()) {
            for cluster in row.emptied.iter().map(|entry| entry.cluster()) {
                let (holder, sum) = std::mem::replace(&mut held[cluster % slots.count()], (usize::MAX, 0));
                assert_eq!(holder, cluster, "emptied for another cluster");
                totals[cluster] += sum;
            }
            for cluster in row.entries.iter().map(|entry| entry.cluster()) {
                let (holder, sum) = &mut held[cluster % slots.count()];
                assert!(*holder == usize::MAX || *holder == cluster, "two clusters in a slot");
                (*holder, *sum) = (cluster, *sum + 1);
            }
        }
        assert!(held.iter().all(|&(holder, _)| holder == usize::MAX), "not all emptied");
        for entry in rows.iter().flatten() {
            totals[entry.cluster()] -= 1;
        }
        assert!(totals.iter().all(|&rest| rest == 0));
        stream
    }

    fn entries_by_particle(stream: &Stream, particles: usize) -> Vec<Vec<Entry>> {
        let mut entries = vec![Vec::new(); particles];
        for row in Rows(stream.words()) {
            entries[row.particle].extend(row.entries);
        }
        entries
    }

    #[test]
    fn every_sum_arrives_and_no_two_clusters_share_a_slot() {
        let mut slots = Slots::default();
        for (count, longest) in [(1, 1), (300, 30), (40, 100), (2000, 9)] {
            for (ahead, slots_wanted) in [(0, FEWEST_SLOTS), (5000, 8192), (CLUSTERS, MOST_SLOTS)] {
                let rows = rows(count, longest);
                let stream = check(&rows, &mut slots, ahead);
                assert_eq!(slots.count(), slots_wanted);
                assert_eq!(entries_by_particle(&stream, rows.len()), rows);
                let written = Rows(stream.words()).filter(|row| !row.entries.is_empty()).count();
                assert_eq!(written > rows.len(), longest > 1, "rows that want a slot twice are cut");
            }
        }
    }

    #[test]
    fn few_clusters_have_a_slot_each() {
        let mut slots = Slots::default();
        for (clusters, count) in [(0, 1), (1, 1), (3, 4), (4096, 4096)] {
            slots.make_room(clusters, 0);
            assert_eq!(slots.count(), count);
        }
    }

    #[test]
    fn in_order_every_cluster_is_emptied_once() {
        let rows: Vec<Vec<Entry>> =
            (0..1000).map(|row| (row..row + 20).map(|cluster| Entry::new(cluster, 1)).collect()).collect();
        let stream = check(&rows, &mut Slots::default(), 0);
        assert_eq!(Rows(stream.words()).map(|row| row.emptied.len()).sum::<usize>(), 1019);
        assert_eq!(Rows(stream.words()).filter(|row| !row.entries.is_empty()).count(), rows.len());
        let emptying = Rows(stream.words()).filter(|row| !row.emptied.is_empty()).count();
        assert!((70..100).contains(&emptying), "before {emptying} rows");
    }
}
