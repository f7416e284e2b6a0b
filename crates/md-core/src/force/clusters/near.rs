//! Finding the clusters near a particle, for several particles of a cell at a time.
//!
//! ```text
//! candidate      loaded once, tested against every particle's place, written to the draft of each row
//! draft          as long as there are candidates; an entry that is not near is overwritten by the next
//! ```
//!
//! Which candidates are near no branch can guess, hence drafts. Where the next entry goes depends on the answer, and that
//! comes late: rows that are made side by side do not wait for each other.

use super::candidates::Clusters;
use super::lists::{Entry, Lists};
use crate::simd::Arithmetic;
use pulp::Simd;
use std::ops::Range;

/// Rows that are made side by side. Two take up to 1.3 times as long, one about twice (f64, AVX-512).
pub(super) const TOGETHER: usize = 4;

/// Finds clusters near particles.
pub(super) struct Finder<'a, S: Simd, P: Arithmetic> {
    pub simd: S,
    pub positions: [&'a [P::Coordinates<S>]; 3],
    /// In units of the coordinates.
    pub reach2: P::Lanes<S>,
    pub lane_bits: P::Kinds<S>,
    pub clusters: Clusters,
}

/// Rows in the making.
struct Drafts<'a, const ROWS: usize> {
    /// Row by row, each with room for all candidates.
    entries: &'a mut [Entry],
    /// Where each row's next entry goes.
    ends: [usize; ROWS],
}

/// A particle's place in all lanes, or the places of a cluster's particles.
type Places<S, P> = [<P as Arithmetic>::Coordinates<S>; 3];

impl<S: Simd, P: Arithmetic> Finder<'_, S, P> {
    /// Appends the rows of particles; they and the candidates count from cluster `base`.
    #[inline(always)]
    pub(super) fn append_rows(&self, lists: &mut Lists, rows: Range<usize>, base: usize) {
        if lists.candidates.is_empty() {
            return;
        }
        lists.prepare_drafts(TOGETHER);
        let mut first = rows.start;
        while first + TOGETHER <= rows.end {
            self.append::<TOGETHER>(lists, first, base);
            first += TOGETHER;
        }
        for row in first..rows.end {
            self.append::<1>(lists, row, base);
        }
    }

    /// Appends the rows of so many particles from `first` on: the candidates near each.
    #[inline(always)]
    fn append<const ROWS: usize>(&self, lists: &mut Lists, first: usize, base: usize) {
        let Lists { candidates, drafts, .. } = lists;
        let length = candidates.len();
        let mut drafts = Drafts { entries: drafts, ends: std::array::from_fn(|row| row * length) };
        let places = self.places::<ROWS>(base * self.clusters.width + first);
        let (own, others) = candidates.own_and_others();
        for &entry in own {
            let mut entries = [entry; ROWS];
            for (row, met) in entries.iter_mut().enumerate() {
                *met = entry.within(self.clusters.lanes_from(first + row + 1, entry.cluster()));
            }
            self.write(&mut drafts, entries, (&places, self.load(base + entry.cluster())));
        }
        for &entry in others {
            self.write(&mut drafts, [entry; ROWS], (&places, self.load(base + entry.cluster())));
        }
        for (row, end) in drafts.ends.into_iter().enumerate() {
            lists.push_row(first + row, row * length..end);
        }
    }

    /// Writes each row's entry for a cluster to the end of its draft, which moves on if any lane is within reach.
    #[inline(always)]
    fn write<const ROWS: usize>(
        &self,
        drafts: &mut Drafts<ROWS>,
        entries: [Entry; ROWS],
        (places, cluster): (&[Places<S, P>; ROWS], Places<S, P>),
    ) {
        for row in 0..ROWS {
            drafts.entries[drafts.ends[row]] = entries[row];
            drafts.ends[row] += usize::from(self.is_near(places[row], cluster, entries[row].lanes()));
        }
    }

    /// Where so many particles are.
    #[inline(always)]
    fn places<const ROWS: usize>(&self, first: usize) -> [Places<S, P>; ROWS] {
        // Any coordinates, to be replaced.
        let mut places = [self.load(0); ROWS];
        for (row, place) in places.iter_mut().enumerate() {
            for (lanes, column) in place.iter_mut().zip(self.positions) {
                *lanes = P::spread(self.simd, bytemuck::cast_slice(column)[first + row]);
            }
        }
        places
    }

    #[inline(always)]
    fn load(&self, cluster: usize) -> Places<S, P> {
        let [x, y, z] = self.positions;
        [x[cluster], y[cluster], z[cluster]]
    }

    /// Whether any of these lanes of a cluster is within reach.
    #[inline(always)]
    fn is_near(&self, place: Places<S, P>, cluster: Places<S, P>, lanes: u16) -> bool {
        let simd = self.simd;
        let dx = P::difference(simd, place[0], cluster[0]);
        let dy = P::difference(simd, place[1], cluster[1]);
        let dz = P::difference(simd, place[2], cluster[2]);
        let r2 = P::mul_add(simd, dz, dz, P::mul_add(simd, dy, dy, P::mul(simd, dx, dx)));
        P::any(simd, P::less_than(simd, (r2, self.reach2), (lanes, self.lane_bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::cells::CellSpan;
    use crate::random;
    use crate::simd::{Double, SimdLevel};
    use pulp::WithSimd;
    use std::collections::BTreeSet;

    const PARTICLES: usize = 64;
    const HOME: Range<usize> = 16..48;
    /// Of the particles whose rows are made: as many as are made together, and some more.
    const CELL: Range<usize> = 18..24;
    const SPANS: [Range<usize>; 4] = [CELL, 24..37, 52..61, 3..9];
    const REACH2: f64 = 1.5;

    /// Makes the rows; gives, entry by entry, the pairs of particles it stands for.
    struct Rows<'a>(&'a [Vec<f64>; 3]);

    impl WithSimd for Rows<'_> {
        type Output = Vec<Vec<(usize, usize)>>;

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let width = Double::width::<S>();
            let clusters = Clusters { width, home: HOME.start / width..HOME.end / width };
            let (mut near, mut far) = (Lists::default(), Lists::default());
            let spans = SPANS.map(|span| CellSpan { first: span.start as u32, end: span.end as u32 });
            clusters.write_down(&mut near.candidates, &mut far.candidates, (&spans, CELL.start as u32));
            let positions = self.0.each_ref().map(|column| S::as_simd_f64s(column).0);
            let (reach2, lane_bits) = (Double::splat(simd, REACH2), Double::lane_bits(simd));
            let finder = Finder::<S, Double> { simd, positions, reach2, lane_bits, clusters };
            let home = finder.clusters.home.start;
            finder.append_rows(&mut near, CELL.start - HOME.start..CELL.end - HOME.start, home);
            finder.append_rows(&mut far, CELL, 0);
            [pairs(&near, width, HOME.start), pairs(&far, width, 0)].concat()
        }
    }

    fn pairs(lists: &Lists, width: usize, base: usize) -> Vec<Vec<(usize, usize)>> {
        let rows = lists.rows.iter().flat_map(|row| vec![row.particle as usize; row.entries as usize]);
        let pair = |(i, entry): (usize, &Entry)| {
            let lanes = (0..width).filter(|lane| entry.lanes() >> lane & 1 == 1);
            lanes.map(|lane| (base + i, base + entry.cluster() * width + lane)).collect()
        };
        rows.zip(&lists.entries).map(pair).collect()
    }

    #[test]
    fn every_near_pair_is_in_an_entry_and_every_entry_has_one() {
        let places: Vec<[f64; 3]> = (0..PARTICLES as u64).map(|i| random::normal_vector(1, i)).collect();
        let positions = [0, 1, 2].map(|dim| places.iter().map(|place| place[dim]).collect::<Vec<_>>());
        let is_near = |&(i, j): &(usize, usize)| {
            (0..3).map(|dim| (places[i][dim] - places[j][dim]).powi(2)).sum::<f64>() < REACH2
        };
        let meets = |i: usize, j: usize| !CELL.contains(&j) || j > i;
        let all: BTreeSet<_> = CELL
            .flat_map(|i| SPANS.into_iter().flatten().map(move |j| (i, j)))
            .filter(|&(i, j)| meets(i, j))
            .collect();
        let near: BTreeSet<_> = all.iter().copied().filter(is_near).collect();
        assert!(!near.is_empty() && near.len() < all.len());
        for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
            let entries = level.dispatch(Rows(&positions));
            assert!(entries.iter().all(|pairs| pairs.iter().any(is_near)), "{}", level.name());
            let listed: BTreeSet<_> = entries.iter().flatten().copied().collect();
            assert_eq!(listed.len(), entries.iter().flatten().count(), "{}: a pair twice", level.name());
            assert!(listed.is_subset(&all) && near.is_subset(&listed), "{}", level.name());
        }
    }
}
