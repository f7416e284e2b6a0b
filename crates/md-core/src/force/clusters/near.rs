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

/// Rows that are made side by side. Two take 1.3 times as long as four, one twice as long (measured in f64 with AVX-512).
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
        let (own, others) = candidates.own_and_others();
        let length = candidates.len();
        let drafts = &mut drafts[..ROWS * length];
        let mut ends: [usize; ROWS] = std::array::from_fn(|row| row * length);
        let places = self.places::<ROWS>(base * self.clusters.width + first);
        for &entry in own {
            let mut entries = [entry; ROWS];
            for (row, met) in entries.iter_mut().enumerate() {
                *met = entry.within(self.clusters.lanes_from(first + row + 1, entry.cluster()));
            }
            self.draft((drafts, &mut ends), &places, (self.load(base + entry.cluster()), entries));
        }
        for &entry in others {
            let entries = [entry; ROWS];
            self.draft((drafts, &mut ends), &places, (self.load(base + entry.cluster()), entries));
        }
        for (row, end) in ends.into_iter().enumerate() {
            lists.push_row(first + row, row * length..end);
        }
    }

    /// Writes each row's entry for a cluster to the end of the row's draft, which moves on if any lane is within reach.
    #[inline(always)]
    fn draft<const ROWS: usize>(
        &self,
        (drafts, ends): (&mut [Entry], &mut [usize; ROWS]),
        places: &[Places<S, P>; ROWS],
        (cluster, entries): (Places<S, P>, [Entry; ROWS]),
    ) {
        for row in 0..ROWS {
            drafts[ends[row]] = entries[row];
            ends[row] += usize::from(self.is_near(places[row], cluster, entries[row].lanes()));
        }
    }

    /// Where so many particles are.
    #[inline(always)]
    fn places<const ROWS: usize>(&self, first: usize) -> [Places<S, P>; ROWS] {
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
