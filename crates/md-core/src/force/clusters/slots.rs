//! Where the forces of clusters add up, when they are of another type than the particles' or have a lane per pair.
//!
//! ```text
//! slot           a vector per dimension: that of cluster c is c modulo their number
//! batch          a few rows; before it slots are emptied, their sums go to the particles: those of clusters that no later
//!                row meets, and of those whose slot another cluster needs
//! ```
//!
//! What is emptied when is decided with the lists, so a sweep only does what it is told. A sweep passes through the cells in
//! order, so with slots for about a layer of cells every cluster is emptied once, soon after its own rows have been swept.
//!
//! Advantage: the sums stay in the second-level cache however many particles there are, they reach the particles' forces
//! while these are in a cache too, and nothing has to be cleared or gathered in a pass of its own. Slots in the order of
//! clusters are read like a column (handed out as they come free, they cost more than they saved). Disadvantage: where two
//! clusters that need one slot are met by turns, they are emptied more often.

use super::lists::{Entry, Row};
use crate::aligned::Column;

/// Slots, at most: a power of two. In f32 with 16 lanes 3 MiB, of which a sweep uses at a time what a layer of cells needs.
const MOST_SLOTS: usize = 16_384;

/// Entries after which a batch ends.
const ENTRIES_PER_BATCH: usize = 256;

/// No cluster.
const NONE: u32 = u32::MAX;

/// Rows with the number of clusters whose slots are to be emptied before them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Batch {
    pub rows: u32,
    pub emptied: u32,
}

/// Rows in batches, and the clusters whose slots are emptied, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    pub rows: Vec<Row>,
    pub batches: Vec<Batch>,
    pub emptied: Vec<u32>,
}

impl Schedule {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.batches.clear();
        self.emptied.clear();
    }
}

/// Which cluster has each slot, while lists are made.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    /// By slot.
    holders: Vec<u32>,
    /// By slot: the last batch that meets its cluster.
    batches: Vec<u32>,
    /// By cluster: its last entry.
    last: Vec<u32>,
    /// Clusters that no row after this batch meets.
    done: Vec<u32>,
    /// The batch at hand, counted from the last rebuild.
    batch: u32,
}

impl Slots {
    /// For so many clusters.
    pub(super) fn make_room(&mut self, clusters: usize) {
        let count = clusters.next_power_of_two().min(MOST_SLOTS);
        self.holders.clear();
        self.holders.resize(count, NONE);
        self.batches.clear();
        self.batches.resize(count, 0);
        self.last.resize(clusters, 0);
        self.batch = 0;
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.holders.len()
    }

    /// Divides the rows of a section into batches. A row is cut where it meets a cluster whose slot another one has that is
    /// met in the same batch.
    pub(super) fn schedule(&mut self, rows: &[Row], entries: &[Entry], schedule: &mut Schedule) {
        for (number, entry) in entries.iter().enumerate() {
            self.last[entry.cluster()] = number as u32;
        }
        let (mut left, mut next) = (0, 0);
        for &Row { particle, entries: count } in rows {
            if left == 0 {
                self.begin_batch(schedule);
                left = ENTRIES_PER_BATCH;
            }
            let (mut begun, end) = (next, next + count as usize);
            for entry in &entries[next..end] {
                let cluster = entry.cluster() as u32;
                let slot = cluster as usize & (self.holders.len() - 1);
                let holder = self.holders[slot];
                if holder != cluster {
                    if holder != NONE && self.batches[slot] == self.batch {
                        schedule.push_row(particle, next - begun);
                        self.begin_batch(schedule);
                        (left, begun) = (ENTRIES_PER_BATCH, next);
                    }
                    schedule.empty(std::mem::replace(&mut self.holders[slot], cluster));
                }
                self.batches[slot] = self.batch;
                if self.last[cluster as usize] == next as u32 {
                    self.done.push(cluster);
                }
                next += 1;
            }
            schedule.push_row(particle, end - begun);
            left = left.saturating_sub(count as usize);
        }
        self.begin_batch(schedule);
    }

    /// Begins the batch after this one: clusters that are done are emptied before it.
    fn begin_batch(&mut self, schedule: &mut Schedule) {
        self.batch += 1;
        schedule.batches.push(Batch::default());
        for cluster in self.done.drain(..) {
            let slot = cluster as usize & (self.holders.len() - 1);
            schedule.empty(std::mem::replace(&mut self.holders[slot], NONE));
        }
    }
}

impl Schedule {
    /// Appends a row, or what is left of it, to the last batch.
    fn push_row(&mut self, particle: u32, entries: usize) {
        if let (1.., Some(batch)) = (entries, self.batches.last_mut()) {
            self.rows.push(Row { particle, entries: entries as u32 });
            batch.rows += 1;
        }
    }

    /// A cluster is emptied before the last batch.
    fn empty(&mut self, cluster: u32) {
        if let (true, Some(batch)) = (cluster != NONE, self.batches.last_mut()) {
            self.emptied.push(cluster);
            batch.emptied += 1;
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
        Self { columns: Column::three_from_place(3) }
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
    use crate::random;

    const CLUSTERS: usize = 3 * MOST_SLOTS + 100;

    /// Rows of up to so many entries, which keep meeting clusters that want the same slots.
    fn rows(count: u64, longest: u64) -> (Vec<Row>, Vec<Entry>) {
        let (mut rows, mut entries) = (Vec::new(), Vec::new());
        for row in 0..count {
            let number = |entry: u64| random::normal_vector(row, entry).map(|x| (x.abs() * 1e6) as usize);
            let length = 1 + number(0)[0] as u64 % longest;
            let first = entries.len();
            for entry in 1..=length {
                let [place, turn, _] = number(entry);
                let cluster = (place % 40 + row as usize + turn % 3 * MOST_SLOTS).min(CLUSTERS - 1);
                if !entries[first..].iter().any(|other: &Entry| other.cluster() == cluster) {
                    entries.push(Entry::new(cluster, 1));
                }
            }
            rows.push(Row { particle: row as u32, entries: (entries.len() - first) as u32 });
        }
        (rows, entries)
    }

    /// Plays a sweep in which every entry adds 1 to its cluster: no slot may hold the sums of two, all must be empty at last.
    fn check(rows: &[Row], entries: &[Entry], slots: &mut Slots) -> Schedule {
        let mut schedule = Schedule::default();
        slots.make_room(CLUSTERS);
        slots.schedule(rows, entries, &mut schedule);
        let (mut held, mut totals) = (vec![(NONE, 0); slots.count()], vec![0; CLUSTERS]);
        let (mut emptied, mut scheduled, mut rest) = (schedule.emptied.iter(), schedule.rows.iter(), entries);
        for batch in &schedule.batches {
            for &cluster in emptied.by_ref().take(batch.emptied as usize) {
                let (holder, sum) = std::mem::replace(&mut held[cluster as usize % slots.count()], (NONE, 0));
                assert_eq!(holder, cluster, "emptied for another cluster");
                totals[cluster as usize] += sum;
            }
            for row in scheduled.by_ref().take(batch.rows as usize) {
                let (own, others) = rest.split_at(row.entries as usize);
                for cluster in own.iter().map(|entry| entry.cluster() as u32) {
                    let (holder, sum) = &mut held[cluster as usize % slots.count()];
                    assert!(*holder == NONE || *holder == cluster, "two clusters in a slot");
                    (*holder, *sum) = (cluster, *sum + 1);
                }
                rest = others;
            }
        }
        assert!(rest.is_empty() && emptied.next().is_none() && scheduled.next().is_none());
        assert!(held.iter().all(|&(holder, _)| holder == NONE), "not all emptied");
        for entry in entries {
            totals[entry.cluster()] -= 1;
        }
        assert!(totals.iter().all(|&rest| rest == 0));
        schedule
    }

    fn entries_by_particle(rows: &[Row]) -> Vec<(u32, u32)> {
        let mut sums: Vec<(u32, u32)> = Vec::new();
        for row in rows {
            match sums.last_mut() {
                Some((particle, entries)) if *particle == row.particle => *entries += row.entries,
                _ => sums.push((row.particle, row.entries)),
            }
        }
        sums
    }

    #[test]
    fn every_sum_arrives_and_no_two_clusters_share_a_slot() {
        let mut slots = Slots::default();
        for (count, longest) in [(1, 1), (300, 30), (40, 100), (2000, 9)] {
            let (rows, entries) = rows(count, longest);
            let schedule = check(&rows, &entries, &mut slots);
            assert_eq!(entries_by_particle(&schedule.rows), entries_by_particle(&rows));
            let is_cut = schedule.rows.len() > rows.len();
            assert_eq!(is_cut, longest > 1, "rows that want a slot twice are cut");
        }
    }

    #[test]
    fn in_order_every_cluster_is_emptied_once() {
        let row = |row: u32| Row { particle: row, entries: 20 };
        let entries = (0..1000).flat_map(|row| (row..row + 20).map(|cluster| Entry::new(cluster, 1)));
        let schedule = check(
            &(0..1000).map(row).collect::<Vec<_>>(),
            &entries.collect::<Vec<_>>(),
            &mut Slots::default(),
        );
        assert_eq!(schedule.emptied.len(), 1019);
        assert_eq!(schedule.rows.len(), 1000);
        assert!(schedule.batches.len() > 70, "{} batches", schedule.batches.len());
    }
}
