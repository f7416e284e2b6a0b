//! Search for the j-clusters of several i-clusters of a cell at a time.
//!
//! ```text
//! candidate      loaded once, tested against every i-cluster, written to the draft of each
//! draft          room for all candidates; the next entry overwrites one beyond the list radius
//! ```
//!
//! Drafts replace a branch that could not be predicted. The position of the next entry depends on
//! the result of the test, which has a long latency; the tests of several i-clusters overlap.

use super::candidates::{Clusters, MOST_AHEAD};
use super::entry::Entry;
use super::lists::{Extent, Lists};
use super::near::{Near, Spread};
use pulp::Simd;
use std::ops::Range;

/// Number of i-clusters that are made side by side. With two it takes up to 1.3 times as long, with
/// one about twice as long (f64, AVX-512).
pub(super) const TOGETHER: usize = 4;

/// Search for clusters near particles.
pub(super) struct Finder<'a, S, const I: usize, const WIDTH: usize, const LANES: usize> {
    pub near: Near<'a, S, I, WIDTH, LANES>,
    pub clusters: Clusters,
    /// See [`Clusters::lanes_after`].
    pub lanes_after: [u16; MOST_AHEAD],
}

/// I-clusters under construction.
struct Drafts<'a, const I_CLUSTERS: usize> {
    /// Entries of one i-cluster after the other, each with room for all candidates.
    entries: &'a mut [Entry],
    /// Position of each i-cluster's next entry.
    ends: [usize; I_CLUSTERS],
}

/// The particles of an i-cluster.
#[derive(Clone, Copy)]
struct IParticles<const LANES: usize> {
    /// The first particle, chosen such that none of the others lies beyond the last particle.
    first: usize,
    place: Spread<LANES>,
    /// The lanes of the particles for which the i-cluster is made.
    lanes: u16,
}

impl<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize> Finder<'_, S, I, WIDTH, LANES> {
    /// Appends the i-clusters of `particles`, which are numbered as in the list.
    #[inline(always)]
    pub(super) fn append_i_clusters(&self, lists: &mut Lists, particles: Range<usize>) {
        if lists.candidates.is_empty() {
            return;
        }
        lists.prepare_drafts(TOGETHER);
        // The last i-cluster of the previous cell may have room left.
        let mut first = match lists.last_i_cluster() {
            Some(last) if (last..last + I).contains(&particles.start) => last,
            _ => particles.start,
        };
        while first < particles.end {
            match (particles.end - first).div_ceil(I) {
                1 => self.append::<1>(lists, first, &particles),
                2 => self.append::<2>(lists, first, &particles),
                3 => self.append::<3>(lists, first, &particles),
                _ => self.append::<TOGETHER>(lists, first, &particles),
            }
            first += TOGETHER * I;
        }
    }

    /// Appends `I_CLUSTERS` i-clusters with the nearby candidates for a cell's particles. The first
    /// one begins at `first`.
    #[inline(always)]
    fn append<const I_CLUSTERS: usize>(&self, lists: &mut Lists, first: usize, particles: &Range<usize>) {
        let Lists { candidates, drafts, extent, .. } = lists;
        let (extent, length) = (*extent, candidates.len());
        let mut drafts =
            Drafts { entries: drafts, ends: std::array::from_fn(|i_cluster| i_cluster * length) };
        let mut i_clusters = [self.i_cluster(first, particles, extent); I_CLUSTERS];
        let mut start = first;
        for i_cluster in &mut i_clusters {
            *i_cluster = self.i_cluster(start, particles, extent);
            start += I;
        }
        let (own, others) = candidates.own_and_others();
        for &entry in own {
            let mut entries = [entry; I_CLUSTERS];
            for i_cluster in 0..I_CLUSTERS {
                let ahead = self.clusters.ahead(i_clusters[i_cluster].first, entry.cluster());
                entries[i_cluster] = entry.within(self.lanes_after[ahead] & i_clusters[i_cluster].lanes);
            }
            self.write(&mut drafts, entries, &i_clusters, self.near.load(extent.base + entry.cluster()));
        }
        for &entry in others {
            let mut entries = [entry; I_CLUSTERS];
            // Only the first and the last may contain particles of other cells.
            entries[0] = entry.within(i_clusters[0].lanes);
            entries[I_CLUSTERS - 1] = entry.within(i_clusters[I_CLUSTERS - 1].lanes);
            self.write(&mut drafts, entries, &i_clusters, self.near.load(extent.base + entry.cluster()));
        }
        for (i_cluster, end) in drafts.ends.into_iter().enumerate() {
            let particle = i_clusters[i_cluster].first;
            lists.push_i_cluster(particle, particle / self.clusters.width, i_cluster * length..end);
        }
    }

    /// Writes each i-cluster's entry for a cluster to the end of its draft. The end advances only
    /// if any lane is within the list radius.
    #[inline(always)]
    fn write<const I_CLUSTERS: usize>(
        &self,
        drafts: &mut Drafts<I_CLUSTERS>,
        entries: [Entry; I_CLUSTERS],
        i_clusters: &[IParticles<LANES>; I_CLUSTERS],
        cluster: Spread<LANES>,
    ) {
        for i_cluster in 0..I_CLUSTERS {
            drafts.entries[drafts.ends[i_cluster]] = entries[i_cluster];
            drafts.ends[i_cluster] += usize::from(self.near.is_near(
                i_clusters[i_cluster].place,
                cluster,
                entries[i_cluster].lanes(),
            ));
        }
    }

    /// Returns the i-cluster that begins at `first`, with the lanes of those of its particles that
    /// are in `particles`.
    #[inline(always)]
    fn i_cluster(&self, first: usize, particles: &Range<usize>, extent: Extent) -> IParticles<LANES> {
        let own = first.max(particles.start)..particles.end.min(first + I);
        let first = first.min(extent.len - I);
        let place = self.near.spread(extent.base * WIDTH + first);
        let lanes = (1_u32 << ((own.end - first) * WIDTH)) - (1_u32 << ((own.start - first) * WIDTH));
        IParticles { first, place, lanes: lanes as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::Newton;
    use crate::force::cell_spans::CellSpan;
    use crate::force::clusters::shape::{ClusterShape, ShapeKernel};
    use crate::random;
    use crate::simd::{Arithmetic, ClusterForces, Double, Quads, SimdLevel, Single};
    use std::collections::BTreeSet;

    const PARTICLES: usize = 64;
    const HOME: Range<usize> = 16..48;
    const LIST_RADIUS: f64 = 1.2;

    /// The particles of a cell and of those with which it is paired.
    type Cell = [Range<usize>; 4];

    /// Consecutive cells: two that share an i-cluster, one with many i-clusters, and one that
    /// extends beyond the end of the home.
    const CELLS: [&[Cell]; 3] = [
        &[[18..24, 24..37, 52..61, 3..9], [24..37, 38..45, 57..61, 9..12]],
        &[[20..41, 41..45, 52..61, 3..9]],
        &[[43..55, 10..20, 57..61, 0..9]],
    ];

    /// Makes the i-clusters and adds, for each entry, the pairs of particles that it contains.
    struct Made<'a> {
        positions: [&'a [f32]; 3],
        cells: &'a [Cell],
        pairs: &'a mut Vec<Vec<(usize, usize)>>,
    }

    impl ShapeKernel for Made<'_> {
        fn run<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize>(self, simd: S) {
            let clusters =
                Clusters { width: WIDTH, i_particles: I, home: HOME.start / WIDTH..HOME.end / WIDTH };
            let extents =
                [Extent { base: clusters.home.start, len: HOME.len() }, Extent { base: 0, len: HOME.end }];
            let finder = Finder::<S, I, WIDTH, LANES> {
                near: Near::new(simd, self.positions, LIST_RADIUS),
                lanes_after: clusters.lanes_after(),
                clusters,
            };
            let lists = finder.lists_of(self.cells, extents);
            for list in &lists {
                let i_clusters = list.stream.entries();
                let starts: BTreeSet<usize> = i_clusters.iter().map(|&(particle, _)| particle).collect();
                assert_eq!(starts.len(), i_clusters.len(), "two i-clusters of the same particles");
                assert!(starts.iter().all(|start| start + I <= list.extent.len));
                for (particle, entry) in i_clusters
                    .iter()
                    .flat_map(|(particle, entries)| entries.iter().map(move |e| (particle, e)))
                {
                    let lanes = (0..LANES).filter(|lane| entry.lanes() >> lane & 1 == 1);
                    let (base, j) = (list.extent.base * WIDTH, entry.cluster() * WIDTH);
                    let pair = |lane| (base + particle + lane / WIDTH, base + j + lane % WIDTH);
                    self.pairs.push(lanes.map(pair).collect());
                }
            }
        }
    }

    impl<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize> Finder<'_, S, I, WIDTH, LANES> {
        /// Returns the i-clusters of cells, with partners in the home and with partners in other
        /// homes.
        fn lists_of(&self, cells: &[Cell], extents: [Extent; 2]) -> [Lists; 2] {
            let mut lists = <[Lists; 2]>::default();
            for (list, extent) in lists.iter_mut().zip(extents) {
                list.shape = ClusterShape { i_particles: I, width: WIDTH };
                list.clear(extent, 0, 0, usize::MAX);
                list.begin_section(Newton::Off, ClusterForces::InPlace);
            }
            for cell in cells {
                let spans =
                    cell.each_ref().map(|span| CellSpan { first: span.start as u32, end: span.end as u32 });
                let [local, cross] = &mut lists;
                self.clusters.write_down(
                    &mut local.candidates,
                    &mut cross.candidates,
                    &spans,
                    spans[0].first,
                );
                let own = cell[0].start..cell[0].end.min(HOME.end);
                self.append_i_clusters(local, own.start - HOME.start..own.end - HOME.start);
                self.append_i_clusters(cross, own);
            }
            lists.iter_mut().for_each(|list| list.end_section(0));
            lists
        }
    }

    /// Checks all cells at a level.
    fn check_i_clusters<P: Arithmetic>(level: SimdLevel) {
        let shape = ClusterShape::of::<P>(level);
        if shape.lanes() == 0 {
            assert!(level < SimdLevel::Avx2, "a vector holds at most four lanes");
            return;
        }
        let places: Vec<[f32; 3]> =
            (0..PARTICLES as u64).map(|i| random::normal_vector(1, i).map(|x| x as f32)).collect();
        let column = |dim: usize| places.iter().map(|place| place[dim]).collect::<Vec<_>>();
        let positions = [column(0), column(1), column(2)];
        let square = |&(i, j): &(usize, usize)| {
            (0..3).map(|dim| f64::from(places[i][dim] - places[j][dim]).powi(2)).sum::<f64>()
        };
        let is_near = |pair: &(usize, usize)| square(pair) < LIST_RADIUS * LIST_RADIUS;
        for cells in CELLS {
            let of_cell = |cell: &Cell| {
                let [own, ..] = cell.clone();
                (own.start..own.end.min(HOME.end))
                    .flat_map(|i| cell.iter().cloned().flatten().map(move |j| (i, j)))
                    .filter(|(i, j)| !own.contains(j) || j > i)
                    .collect::<Vec<_>>()
            };
            let all: BTreeSet<_> = cells.iter().flat_map(of_cell).collect();
            let near: BTreeSet<_> = all.iter().copied().filter(is_near).collect();
            assert!(!near.is_empty() && near.len() < all.len());
            let mut entries = Vec::new();
            let positions = positions.each_ref().map(Vec::as_slice);
            shape.dispatch(level, Made { positions, cells, pairs: &mut entries });
            let name = level.name();
            assert!(entries.iter().all(|pairs| pairs.iter().any(is_near)), "{name}");
            let listed: BTreeSet<_> = entries.iter().flatten().copied().collect();
            assert_eq!(listed.len(), entries.iter().flatten().count(), "{name}: a pair twice");
            assert!(listed.is_subset(&all) && near.is_subset(&listed), "{name}");
        }
    }

    #[test]
    fn every_near_pair_is_in_an_entry_and_every_entry_has_one() {
        for level in SimdLevel::available() {
            check_i_clusters::<Double>(level);
            check_i_clusters::<Single>(level);
            check_i_clusters::<Quads>(level);
        }
    }
}
