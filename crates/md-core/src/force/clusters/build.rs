//! How the lists are made: the particles of a cell have the same candidates, and each tests all of them atom by atom, a
//! vector at a time. Each thread makes the lists for the rows of its home.

use super::candidates::Clusters;
use super::kernel::vectors;
use super::lists::{Entry, Lists};
use crate::force::cells::{CellItem, CellSpan};
use crate::force::shares::{Spill, Work};
use crate::halo::Reach;
use crate::simd::Arithmetic;
use pulp::{Simd, WithSimd};

/// Where the particles are, padded to whole clusters.
#[derive(Debug)]
pub(super) struct Sites<'a, P: Arithmetic> {
    pub position: [&'a [P::Coordinate]; 3],
    /// Length of one unit of the coordinates.
    pub unit: f64,
}

impl<P: Arithmetic> Clone for Sites<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Arithmetic> Copy for Sites<'_, P> {}

/// Makes the lists of a thread's home; `P` decides how many particles a cluster has.
pub(super) struct ListBuild<'a, P: Arithmetic> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub sites: Sites<'a, P>,
    pub reach: f64,
    pub work: &'a mut Work<Lists>,
    pub spill: &'a mut Spill,
}

impl<P: Arithmetic> WithSimd for ListBuild<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { items, spans, sites: Sites { position: [x, y, z], unit }, reach, work, spill } = self;
        let Work { home, near, far } = work;
        let width = P::width::<S>();
        // Slices of equal, known length: one bounds check instead of three.
        let count = x.len() / width;
        let finder = Finder::<S, P> {
            simd,
            positions: [&vectors(x)[..count], &vectors(y)[..count], &vectors(z)[..count]],
            reach2: P::splat(simd, (reach / unit).powi(2)),
            lane_bits: P::lane_bits(simd),
            clusters: Clusters { width, home: home.start / width..home.end / width },
        };
        for items in items.chunk_by(|a, b| a.reach == b.reach) {
            let first_far_entry = far.entries.len();
            for item in items {
                let (start, end) = (item.particles.first as usize, item.particles.end as usize);
                let rows = start.max(home.start)..end.min(home.end);
                if rows.is_empty() {
                    continue;
                }
                let own_particle = item.particles.first;
                let (spans, clusters) = (&spans[item.spans.clone()], &finder.clusters);
                clusters.write_down(&mut near.candidates, &mut far.candidates, (spans, own_particle));
                for i in rows {
                    let at = [P::spread(simd, x[i]), P::spread(simd, y[i]), P::spread(simd, z[i])];
                    finder.append_row(near, (i - home.start, at), clusters.home.start);
                    finder.append_row(far, (i, at), 0);
                }
            }
            let reach = items[0].reach;
            near.end_section(reach);
            far.end_section(reach);
            if reach == Reach::Both {
                for cluster in far.entries[first_far_entry..].iter().map(|entry| entry.cluster()) {
                    spill.touch(cluster * width..(cluster + 1) * width);
                }
            }
        }
    }
}

/// Finds clusters near a point.
struct Finder<'a, S: Simd, P: Arithmetic> {
    simd: S,
    positions: [&'a [P::Coordinates<S>]; 3],
    /// In units of the coordinates.
    reach2: P::Lanes<S>,
    lane_bits: P::Kinds<S>,
    clusters: Clusters,
}

impl<S: Simd, P: Arithmetic> Finder<'_, S, P> {
    /// Whether any of the lanes of an entry, whose cluster counts from `base`, is within reach.
    #[inline(always)]
    fn is_near(&self, at: [P::Coordinates<S>; 3], entry: Entry, base: usize) -> bool {
        let (simd, [xs, ys, zs], cluster) = (self.simd, self.positions, base + entry.cluster());
        let dx = P::difference(simd, at[0], xs[cluster]);
        let dy = P::difference(simd, at[1], ys[cluster]);
        let dz = P::difference(simd, at[2], zs[cluster]);
        let r2 = P::mul_add(simd, dz, dz, P::mul_add(simd, dy, dy, P::mul(simd, dx, dx)));
        P::any(simd, P::less_than(simd, (r2, self.reach2), (entry.lanes(), self.lane_bits)))
    }

    /// Appends the row of particle `i` at a place: the candidates near it. `i` and the candidates count from cluster
    /// `base`. Which are near no branch can guess: so all are written, one over the other unless it is near.
    #[inline(always)]
    fn append_row(&self, lists: &mut Lists, (i, at): (usize, [P::Coordinates<S>; 3]), base: usize) {
        let Lists { entries, candidates, .. } = lists;
        let (own, others) = candidates.own_and_others();
        let before = entries.len();
        entries.resize(before + own.len() + others.len(), Entry::default());
        let (row, mut count) = (&mut entries[before..], 0);
        for &entry in own {
            let entry = entry.within(self.clusters.lanes_from(i + 1, entry.cluster()));
            row[count] = entry;
            count += usize::from(self.is_near(at, entry, base));
        }
        for &entry in others {
            row[count] = entry;
            count += usize::from(self.is_near(at, entry, base));
        }
        entries.truncate(before + count);
        lists.end_row(i);
    }
}
