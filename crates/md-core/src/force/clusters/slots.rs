//! Where the forces of clusters add up, when they are of another type than the particles' or have a lane per pair.
//!
//! ```text
//! slot           a vector per dimension: that of cluster c is c modulo their number
//! batch          a few rows; before it slots are emptied, their sums go to the particles: those of clusters whose own rows
//!                have been swept, and of those whose slot another cluster needs
//! section's end  all are emptied
//! ```
//!
//! What is emptied when is decided with the lists, so a sweep only does what it is told. With the half shell it passes through
//! the cells in order and meets a cluster for the last time in its own rows. So with slots for a layer of cells (65,536
//! particles in clusters of four) every cluster is emptied once, and otherwise, as where it is met later or a ghost, a
//! few times.
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

impl Schedule {
    /// Appends a row to the last batch.
    pub(super) fn push_row(&mut self, particle: usize, entries: usize) {
        if let (1.., Some(batch)) = (entries, self.batches.last_mut()) {
            self.rows.push(Row { particle: particle as u32, entries: entries as u32 });
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

/// Whose a slot is, and the last batch that meets that cluster.
#[derive(Debug, Clone, Copy)]
struct Slot {
    holder: u32,
    batch: u32,
}

impl Slot {
    const FREE: Self = Self { holder: NONE, batch: 0 };
}

/// Which cluster has each slot, while lists are made.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// Clusters that have got slots in this section.
    holders: Vec<u32>,
    /// Those before it, from the section's first row on, have been emptied after their own rows.
    swept: u32,
    /// The batch at hand, counted from the last rebuild.
    batch: u32,
    /// Entries that it may still have.
    left: usize,
}

impl Slots {
    /// For so many clusters.
    pub(super) fn make_room(&mut self, clusters: usize) {
        self.slots.clear();
        self.slots.resize(clusters.next_power_of_two().min(MOST_SLOTS), Slot::FREE);
        self.batch = 0;
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// The next row, of the particles from `particle` on in `cluster`, in the batch at hand or a new one. It is cut where it
    /// meets a cluster whose slot another one has that is met in the same batch.
    pub(super) fn push_row(
        &mut self,
        schedule: &mut Schedule,
        (particle, cluster): (usize, usize),
        entries: &[Entry],
    ) {
        if self.left == 0 {
            self.begin_batch(schedule);
            self.empty_before(cluster as u32, schedule);
        }
        let (mask, mut begun) = (self.slots.len() - 1, 0);
        for (number, entry) in entries.iter().enumerate() {
            let cluster = entry.cluster() as u32;
            let slot = self.slots[cluster as usize & mask];
            if slot.holder != cluster {
                if slot.holder != NONE && slot.batch == self.batch {
                    schedule.push_row(particle, number - begun);
                    self.begin_batch(schedule);
                    begun = number;
                }
                schedule.empty(slot.holder);
                self.holders.push(cluster);
            }
            self.slots[cluster as usize & mask] = Slot { holder: cluster, batch: self.batch };
        }
        schedule.push_row(particle, entries.len() - begun);
        self.left = self.left.saturating_sub(entries.len());
    }

    fn begin_batch(&mut self, schedule: &mut Schedule) {
        self.batch += 1;
        self.left = ENTRIES_PER_BATCH;
        schedule.batches.push(Batch::default());
    }

    /// Empties the clusters from the section's first row on and before this one, once.
    fn empty_before(&mut self, cluster: u32, schedule: &mut Schedule) {
        if self.holders.is_empty() {
            self.swept = cluster;
        }
        for swept in self.swept..cluster {
            self.empty(swept, schedule);
        }
        self.swept = self.swept.max(cluster);
    }

    /// A last batch without rows.
    pub(super) fn end_section(&mut self, schedule: &mut Schedule) {
        self.begin_batch(schedule);
        while let Some(cluster) = self.holders.pop() {
            self.empty(cluster, schedule);
        }
        self.left = 0;
    }

    fn empty(&mut self, cluster: u32, schedule: &mut Schedule) {
        let mask = self.slots.len() - 1;
        let slot = &mut self.slots[cluster as usize & mask];
        if slot.holder == cluster {
            *slot = Slot::FREE;
            schedule.empty(cluster);
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
        let mut next = entries;
        for row in rows {
            let (own, others) = next.split_at(row.entries as usize);
            let particle = row.particle as usize;
            slots.push_row(&mut schedule, (particle, particle), own);
            next = others;
        }
        slots.end_section(&mut schedule);
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
