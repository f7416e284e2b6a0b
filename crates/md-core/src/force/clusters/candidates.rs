//! The clusters in which the particles of one cell may have partners, listed once for all of these
//! particles.

use super::entry::Entry;
use crate::force::cell_spans::CellSpan;
use std::ops::Range;

/// The candidates of one cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    entries: Vec<Entry>,
    /// Number of entries, at the front, in the span of the cell itself. There, a particle is paired
    /// with the particles after it.
    own: usize,
}

impl Candidates {
    fn clear(&mut self) {
        self.entries.clear();
        self.own = 0;
    }

    /// Appends an entry. Spans that meet inside a cluster share one.
    fn push(&mut self, entry: Entry) {
        match self.entries[self.own..].last_mut() {
            Some(last) if last.cluster() == entry.cluster() => *last = last.with(entry.lanes()),
            _ => self.entries.push(entry),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the candidates in the cell's own span, and the others.
    pub(super) fn own_and_others(&self) -> (&[Entry], &[Entry]) {
        self.entries.split_at(self.own)
    }
}

/// Layout of the clusters.
#[derive(Debug, Clone)]
pub(super) struct Clusters {
    /// Number of particles in a cluster.
    pub width: usize,
    /// Number of particles of an i-cluster. Each has its own lanes for the pairs with a cluster.
    pub i_particles: usize,
    /// Clusters of the home.
    pub home: Range<usize>,
}

impl Clusters {
    /// Lists the clusters of the spans: those of the home in `local`, relative to its start, and
    /// the others in `cross`. The span that contains `own_particle` is the cell's own.
    pub(super) fn write_down(
        &self,
        local: &mut Candidates,
        cross: &mut Candidates,
        spans: &[CellSpan],
        own_particle: u32,
    ) {
        let is_own = |span: &CellSpan| (span.first..span.end).contains(&own_particle);
        local.clear();
        cross.clear();
        for &span in spans.iter().filter(|span| is_own(span)) {
            self.append(local, cross, span);
        }
        (local.own, cross.own) = (local.entries.len(), cross.entries.len());
        for &span in spans.iter().filter(|span| !is_own(span)) {
            self.append(local, cross, span);
        }
    }

    fn append(&self, local: &mut Candidates, cross: &mut Candidates, span: CellSpan) {
        let Range { start, end } = self.home;
        let (first, last) = (span.first as usize / self.width, (span.end as usize).div_ceil(self.width));
        self.append_run(cross, first..last.min(start), 0, span);
        self.append_run(local, first.max(start)..last.min(end), start, span);
        self.append_run(cross, first.max(end)..last, 0, span);
    }

    /// Appends consecutive clusters of a span, counted from `base`. Only the first and the last may
    /// be shared with other spans or have lanes that do not count.
    fn append_run(&self, candidates: &mut Candidates, run: Range<usize>, base: usize, span: CellSpan) {
        if run.is_empty() {
            return;
        }
        let entry = |cluster: usize| Entry::new(cluster - base, self.lanes(cluster, span));
        candidates.push(entry(run.start));
        if run.len() > 1 {
            let whole = self.all_lanes() as u16 * self.first_lanes();
            let between = run.start + 1..run.end - 1;
            candidates.entries.extend(between.map(|cluster| Entry::new(cluster - base, whole)));
            candidates.entries.push(entry(run.end - 1));
        }
    }

    /// Returns the lanes of a cluster's particles in the span, repeated for every particle of an
    /// i-cluster.
    fn lanes(&self, cluster: usize, span: CellSpan) -> u16 {
        let (start, all) = (cluster * self.width, self.all_lanes());
        let skipped = (span.first as usize).saturating_sub(start);
        let beyond = (start + self.width).saturating_sub(span.end as usize);
        (all >> beyond & all << skipped) as u16 * self.first_lanes()
    }

    /// Returns all lanes for one particle of an i-cluster.
    fn all_lanes(&self) -> u32 {
        (1 << self.width) - 1
    }

    /// Returns the first lane of every particle of an i-cluster. Multiplied by the lanes of a
    /// cluster, it repeats these for every particle.
    fn first_lanes(&self) -> u16 {
        (0..self.i_particles).map(|particle| 1 << (particle * self.width)).sum()
    }

    /// Returns the lanes in which the particles of an i-cluster are paired with particles after
    /// themselves, indexed by [`Self::ahead`].
    pub(super) fn lanes_after(&self) -> [u16; MOST_AHEAD] {
        std::array::from_fn(|ahead| {
            let lanes = |particle: usize| {
                // Number of the cluster's particles up to and including the i-cluster's particle.
                let before = (ahead + particle + 1).saturating_sub(self.i_particles).min(self.width);
                (self.all_lanes() << before & self.all_lanes()) << (particle * self.width)
            };
            (0..self.i_particles).map(lanes).sum::<u32>() as u16
        })
    }

    /// Returns the number of particles from the start of a cluster to the end of an i-cluster,
    /// clamped to the range from 0 to [`MOST_AHEAD`] - 1. Values beyond would have the same effect.
    #[inline(always)]
    pub(super) fn ahead(&self, first: usize, cluster: usize) -> usize {
        (first + self.i_particles).saturating_sub(cluster * self.width).min(MOST_AHEAD - 1)
    }
}

/// At least the length of the longest i-cluster plus that of the widest cluster.
pub(super) const MOST_AHEAD: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns cluster and lanes of every entry, and the number of entries in the cell's own span.
    fn written(candidates: &Candidates) -> (Vec<(usize, u16)>, usize) {
        let list = candidates.entries.iter().map(|entry| (entry.cluster(), entry.lanes())).collect();
        (list, candidates.own)
    }

    #[test]
    fn spans_become_clusters_with_the_lanes_that_count() {
        let clusters = Clusters { width: 4, i_particles: 1, home: 0..100 };
        let (mut local, mut cross) = (Candidates::default(), Candidates::default());
        let spans =
            [CellSpan { first: 2, end: 9 }, CellSpan { first: 13, end: 15 }, CellSpan { first: 15, end: 16 }];
        clusters.write_down(&mut local, &mut cross, &spans, 13);
        let expected = vec![(3, 0b0110), (0, 0b1100), (1, 0b1111), (2, 0b0001), (3, 0b1000)];
        assert_eq!(written(&local), (expected, 1));
        assert_eq!(written(&cross), (Vec::new(), 0));
    }

    #[test]
    fn spans_that_meet_in_a_cluster_share_it() {
        let clusters = Clusters { width: 8, i_particles: 1, home: 0..100 };
        let (mut local, mut cross) = (Candidates::default(), Candidates::default());
        let spans = [CellSpan { first: 3, end: 5 }, CellSpan { first: 6, end: 8 }];
        clusters.write_down(&mut local, &mut cross, &spans, 50);
        assert_eq!(written(&local), (vec![(0, 0b1101_1000)], 0));
    }

    #[test]
    fn clusters_of_other_homes_are_cross_thread() {
        let clusters = Clusters { width: 16, i_particles: 1, home: 2..3 };
        let (mut local, mut cross) = (Candidates::default(), Candidates::default());
        clusters.write_down(&mut local, &mut cross, &[CellSpan { first: 30, end: 50 }], 40);
        assert_eq!(written(&local), (vec![(0, 0xFFFF)], 1));
        assert_eq!(written(&cross), (vec![(1, 0xC000), (3, 0b11)], 2));
    }

    #[test]
    fn every_particle_of_an_i_cluster_has_lanes() {
        let clusters = Clusters { width: 4, i_particles: 4, home: 0..100 };
        let (mut local, mut cross) = (Candidates::default(), Candidates::default());
        clusters.write_down(&mut local, &mut cross, &[CellSpan { first: 6, end: 11 }], 50);
        assert_eq!(written(&local), (vec![(1, 0xCCCC), (2, 0x7777)], 0));
    }

    #[test]
    fn lanes_after_the_particles_of_an_i_cluster() {
        for (width, i_particles) in [(8, 1), (16, 1), (4, 4), (4, 2)] {
            let clusters = Clusters { width, i_particles, home: 0..100 };
            let (table, cluster) = (clusters.lanes_after(), 5);
            for first in 0..200 {
                let meets = |lane: usize| cluster * width + lane % width > first + lane / width;
                let expected: u32 =
                    (0..i_particles * width).filter(|&lane| meets(lane)).map(|lane| 1 << lane).sum();
                let lanes = table[clusters.ahead(first, cluster)];
                assert_eq!(u32::from(lanes), expected, "{i_particles} by {width}, from {first} on");
            }
        }
    }
}
