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
use super::lists::{Extent, Lists};
use super::words::Entry;
use crate::simd::{Arithmetic, Registers};
use pulp::Simd;
use std::marker::PhantomData;
use std::ops::Range;

/// Number of i-clusters that are made side by side. With two it takes up to 1.3 times as long, with
/// one about twice as long (f64, AVX-512).
pub(super) const TOGETHER: usize = 4;

/// Search for clusters near particles.
pub(super) struct Finder<'a, S: Simd, P: Arithmetic, R> {
    pub simd: S,
    pub positions: [&'a [P::Cluster<S>]; 3],
    /// Squared list radius, in squared units of the coordinates.
    pub list_radius2: P::Lanes<S>,
    pub lane_bits: P::SpeciesLanes<S>,
    pub clusters: Clusters,
    /// See [`Clusters::lanes_after`].
    pub lanes_after: [u16; MOST_AHEAD],
    pub registers: PhantomData<R>,
}

/// I-clusters under construction.
struct Drafts<'a, const I_CLUSTERS: usize> {
    /// Entries of one i-cluster after the other, each with room for all candidates.
    entries: &'a mut [Entry],
    /// Position of each i-cluster's next entry.
    ends: [usize; I_CLUSTERS],
}

/// The positions of a cluster's particles.
type Cluster<S, P> = [<P as Arithmetic>::Cluster<S>; 3];

/// The particles of an i-cluster.
#[derive(Clone, Copy)]
struct IParticles<S: Simd, P: Arithmetic> {
    /// The first particle, chosen such that none of the others lies beyond the last particle.
    first: usize,
    place: [P::Coordinates<S>; 3],
    /// The lanes of the particles for which the i-cluster is made.
    lanes: u16,
}

impl<S: Simd, P: Arithmetic, R: Registers> Finder<'_, S, P, R> {
    /// Appends the i-clusters of `particles`, which are numbered as in the list.
    #[inline(always)]
    pub(super) fn append_i_clusters(&self, lists: &mut Lists, particles: Range<usize>) {
        if lists.candidates.is_empty() {
            return;
        }
        lists.prepare_drafts(TOGETHER);
        let per_i_cluster = P::i_particles::<S>();
        // The last i-cluster of the previous cell may have room left.
        let mut first = match lists.last_i_cluster() {
            Some(last) if (last..last + per_i_cluster).contains(&particles.start) => last,
            _ => particles.start,
        };
        while first < particles.end {
            match (particles.end - first).div_ceil(per_i_cluster) {
                1 => self.append::<1>(lists, first, &particles),
                2 => self.append::<2>(lists, first, &particles),
                3 => self.append::<3>(lists, first, &particles),
                _ => self.append::<TOGETHER>(lists, first, &particles),
            }
            first += TOGETHER * per_i_cluster;
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
            start += P::i_particles::<S>();
        }
        let (own, others) = candidates.own_and_others();
        for &entry in own {
            let mut entries = [entry; I_CLUSTERS];
            for i_cluster in 0..I_CLUSTERS {
                let ahead = self.clusters.ahead(i_clusters[i_cluster].first, entry.cluster());
                entries[i_cluster] = entry.within(self.lanes_after[ahead] & i_clusters[i_cluster].lanes);
            }
            self.write(&mut drafts, entries, &i_clusters, self.load(extent.base + entry.cluster()));
        }
        for &entry in others {
            let mut entries = [entry; I_CLUSTERS];
            // Only the first and the last may contain particles of other cells.
            entries[0] = entry.within(i_clusters[0].lanes);
            entries[I_CLUSTERS - 1] = entry.within(i_clusters[I_CLUSTERS - 1].lanes);
            self.write(&mut drafts, entries, &i_clusters, self.load(extent.base + entry.cluster()));
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
        i_clusters: &[IParticles<S, P>; I_CLUSTERS],
        cluster: Cluster<S, P>,
    ) {
        for i_cluster in 0..I_CLUSTERS {
            drafts.entries[drafts.ends[i_cluster]] = entries[i_cluster];
            drafts.ends[i_cluster] +=
                usize::from(self.is_near(i_clusters[i_cluster].place, cluster, entries[i_cluster].lanes()));
        }
    }

    /// Returns the i-cluster that begins at `first`, with the lanes of those of its particles that
    /// are in `particles`.
    #[inline(always)]
    fn i_cluster(&self, first: usize, particles: &Range<usize>, extent: Extent) -> IParticles<S, P> {
        let (i_particles, width) = (P::i_particles::<S>(), self.clusters.width);
        let own = first.max(particles.start)..particles.end.min(first + i_particles);
        let first = first.min(extent.len - i_particles);
        let start = extent.base * width + first;
        let [x, y, z] = self.positions;
        let place = [
            P::spread(self.simd, &bytemuck::cast_slice(x)[start..start + i_particles]),
            P::spread(self.simd, &bytemuck::cast_slice(y)[start..start + i_particles]),
            P::spread(self.simd, &bytemuck::cast_slice(z)[start..start + i_particles]),
        ];
        let lanes = (1_u32 << ((own.end - first) * width)) - (1_u32 << ((own.start - first) * width));
        IParticles { first, place, lanes: lanes as u16 }
    }

    #[inline(always)]
    fn load(&self, cluster: usize) -> Cluster<S, P> {
        let [x, y, z] = self.positions;
        [x[cluster], y[cluster], z[cluster]]
    }

    /// Returns whether any of these lanes of a cluster is within the list radius.
    #[inline(always)]
    fn is_near(&self, place: [P::Coordinates<S>; 3], cluster: Cluster<S, P>, lanes: u16) -> bool {
        let simd = self.simd;
        let dx = P::difference(simd, place[0], cluster[0]);
        let dy = P::difference(simd, place[1], cluster[1]);
        let dz = P::difference(simd, place[2], cluster[2]);
        let r2 = P::mul_add(simd, dz, dz, P::mul_add(simd, dy, dy, P::mul(simd, dx, dx)));
        P::any(simd, P::less_than::<S, R>(simd, r2, self.list_radius2, lanes, self.lane_bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::Newton;
    use crate::force::cell_spans::CellSpan;
    use crate::force::clusters::kernel::vectors;
    use crate::force::clusters::words::{IClusterList, IClusters};
    use crate::random;
    use crate::simd::{Double, LevelKernel, Quads, SimdLevel, Single};
    use std::collections::BTreeSet;

    const PARTICLES: usize = 64;
    const HOME: Range<usize> = 16..48;
    const LIST_RADIUS2: f64 = 1.5;

    /// The particles of a cell and of those with which it is paired.
    type Cell = [Range<usize>; 4];

    /// Consecutive cells: two that share an i-cluster, one with many i-clusters, and one that
    /// extends beyond the end of the home.
    const CELLS: [&[Cell]; 3] = [
        &[[18..24, 24..37, 52..61, 3..9], [24..37, 38..45, 57..61, 9..12]],
        &[[20..41, 41..45, 52..61, 3..9]],
        &[[43..55, 10..20, 57..61, 0..9]],
    ];

    /// Makes the i-clusters and returns, for each entry, the pairs of particles that it contains.
    /// Returns `None` if a vector is too short.
    struct Made<'a, P: Arithmetic> {
        positions: &'a [Vec<P::Coordinate>; 3],
        unit: f64,
        cells: &'a [Cell],
    }

    impl<P: Arithmetic> LevelKernel for Made<'_, P> {
        type Output = Option<Vec<Vec<(usize, usize)>>>;

        fn run<S: Simd, R: Registers>(self, simd: S) -> Self::Output {
            if P::i_particles::<S>() == 0 {
                return None;
            }
            let (width, i_particles) = (P::width::<S>(), P::i_particles::<S>());
            let clusters = Clusters { width, i_particles, home: HOME.start / width..HOME.end / width };
            let extents =
                [Extent { base: clusters.home.start, len: HOME.len() }, Extent { base: 0, len: HOME.end }];
            let finder = Finder::<S, P, R> {
                simd,
                positions: self.positions.each_ref().map(|column| vectors(column)),
                list_radius2: P::splat(simd, LIST_RADIUS2 / (self.unit * self.unit)),
                lane_bits: P::lane_bits(simd),
                lanes_after: clusters.lanes_after(),
                clusters,
                registers: PhantomData,
            };
            let lists = finder.lists_of(self.cells, extents);
            let i_clusters = |list: &Lists| {
                IClusters(list.stream.words())
                    .map(|IClusterList { particle, entries, .. }| (particle, entries.to_vec()))
                    .collect::<Vec<_>>()
            };
            let mut pairs = Vec::new();
            for list in &lists {
                let i_clusters = i_clusters(list);
                let starts: BTreeSet<usize> = i_clusters.iter().map(|&(particle, _)| particle).collect();
                assert_eq!(starts.len(), i_clusters.len(), "two i-clusters of the same particles");
                assert!(starts.iter().all(|start| start + i_particles <= list.extent.len));
                for (particle, entry) in i_clusters
                    .iter()
                    .flat_map(|(particle, entries)| entries.iter().map(move |e| (particle, e)))
                {
                    let lanes = (0..i_particles * width).filter(|lane| entry.lanes() >> lane & 1 == 1);
                    let (base, j) = (list.extent.base * width, entry.cluster() * width);
                    let pair = |lane| (base + particle + lane / width, base + j + lane % width);
                    pairs.push(lanes.map(pair).collect());
                }
            }
            Some(pairs)
        }
    }

    impl<S: Simd, P: Arithmetic, R: Registers> Finder<'_, S, P, R> {
        /// Returns the i-clusters of cells, with partners in the home and with partners in other
        /// homes.
        fn lists_of(&self, cells: &[Cell], extents: [Extent; 2]) -> [Lists; 2] {
            let mut lists = <[Lists; 2]>::default();
            for (list, extent) in lists.iter_mut().zip(extents) {
                list.clear(extent, 0, 0, usize::MAX);
                list.begin_section(Newton::Off, P::CLUSTER_FORCES);
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
            lists.iter_mut().for_each(|list| list.end_section(size_of::<P::Lanes<S>>()));
            lists
        }
    }

    /// Checks all cells at every level of this CPU. Returns the number of checks.
    fn check_i_clusters<P: Arithmetic>(unit: f64, coordinate: impl Fn(f64) -> P::Coordinate) -> usize {
        let places: Vec<[f64; 3]> = (0..PARTICLES as u64).map(|i| random::normal_vector(1, i)).collect();
        let column = |dim: usize| places.iter().map(|place| coordinate(place[dim])).collect::<Vec<_>>();
        let positions = [column(0), column(1), column(2)];
        let is_near = |&(i, j): &(usize, usize)| {
            (0..3).map(|dim| (places[i][dim] - places[j][dim]).powi(2)).sum::<f64>() < LIST_RADIUS2
        };
        let mut checked = 0;
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
            for level in SimdLevel::available() {
                let i_clusters = Made::<P> { positions: &positions, unit, cells };
                let Some(entries) = level.dispatch(i_clusters) else { continue };
                let name = level.name();
                assert!(entries.iter().all(|pairs| pairs.iter().any(is_near)), "{name}");
                let listed: BTreeSet<_> = entries.iter().flatten().copied().collect();
                assert_eq!(listed.len(), entries.iter().flatten().count(), "{name}: a pair twice");
                assert!(listed.is_subset(&all) && near.is_subset(&listed), "{name}");
                checked += 1;
            }
        }
        checked
    }

    #[test]
    fn every_near_pair_is_in_an_entry_and_every_entry_has_one() {
        const UNIT: f64 = 1e-7;
        let fixed = |x: f64| (x / UNIT) as i32;
        let levels = SimdLevel::available().count();
        assert_eq!(check_i_clusters::<Double>(1.0, |x| x), levels * CELLS.len());
        assert_eq!(check_i_clusters::<Single>(UNIT, fixed), levels * CELLS.len());
        let all_but_the_baseline = (levels - 1) * CELLS.len();
        assert!(check_i_clusters::<Quads>(UNIT, fixed) >= all_but_the_baseline, "a vector holds four lanes");
    }
}
