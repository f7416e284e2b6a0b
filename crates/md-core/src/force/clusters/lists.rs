//! The lists and how they are made: every candidate cluster is tested atom by atom, a vector at a time. Each thread makes
//! its own, for the rows of its home.

use super::kernel::vectors;
use crate::force::cells::{CellItem, CellSpan};
use crate::force::shares::{Spill, Work};
use crate::halo::Reach;
use crate::simd::Arithmetic;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// One particle i; its entries start where those of the row before end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub particle: u32,
    pub plain_end: u32,
    pub masked_end: u32,
}

/// A cluster of which only the particles `first .. end` are partners.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaskedEntry {
    pub cluster: u32,
    pub first: u32,
    pub end: u32,
}

/// Rows that are swept together.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub rows: Range<usize>,
    pub reach: Reach,
}

/// All rows and their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub plain: Vec<u32>,
    pub masked: Vec<MaskedEntry>,
    pub rows: Vec<Row>,
    pub sections: Vec<Section>,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.plain.clear();
        self.masked.clear();
        self.rows.clear();
        self.sections.clear();
    }

    /// Where the entries of a row start: plain and masked.
    pub(super) fn starts(&self, row: usize) -> (usize, usize) {
        match row.checked_sub(1).map(|before| self.rows[before]) {
            Some(before) => (before.plain_end as usize, before.masked_end as usize),
            None => (0, 0),
        }
    }

    /// Whether there are entries since the end of the last row.
    fn has_open_row(&self) -> bool {
        self.starts(self.rows.len()) != (self.plain.len(), self.masked.len())
    }

    fn end_row(&mut self, particle: usize) {
        let (plain_end, masked_end) = (self.plain.len() as u32, self.masked.len() as u32);
        self.rows.push(Row { particle: particle as u32, plain_end, masked_end });
    }

    fn end_section(&mut self, first: usize, reach: Reach) {
        let rows = first..self.rows.len();
        if !rows.is_empty() {
            self.sections.push(Section { rows, reach });
        }
    }
}

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
        let finder = Near::<S, P> {
            simd,
            positions: [x, y, z].map(|column| &vectors(column)[..count]),
            unit2: P::splat(simd, unit * unit),
            reach2: P::splat(simd, reach * reach),
            clusters: home.start / width..home.end / width,
        };
        for items in items.chunk_by(|a, b| a.reach == b.reach) {
            let first = [near.rows.len(), far.rows.len()];
            let first_far = far.starts(first[1]);
            for item in items {
                let (start, end) = (item.particles.first as usize, item.particles.end as usize);
                for i in start.max(home.start)..end.min(home.end) {
                    let at = [P::spread(simd, x[i]), P::spread(simd, y[i]), P::spread(simd, z[i])];
                    for &span in &spans[item.spans.clone()] {
                        finder.append_span(near, far, (i, at), span);
                    }
                    near.end_row(i - home.start);
                    if far.has_open_row() {
                        far.end_row(i);
                    }
                }
            }
            let reach = items[0].reach;
            near.end_section(first[0], reach);
            far.end_section(first[1], reach);
            if reach == Reach::Both {
                let partners = far.plain[first_far.0..].iter().copied();
                let partners = partners.chain(far.masked[first_far.1..].iter().map(|entry| entry.cluster));
                for cluster in partners.map(|cluster| cluster as usize) {
                    spill.touch(cluster * width..(cluster + 1) * width);
                }
            }
        }
    }
}

/// Finds clusters near a point.
struct Near<'a, S: Simd, P: Arithmetic> {
    simd: S,
    positions: [&'a [P::Coordinates<S>]; 3],
    unit2: P::Lanes<S>,
    reach2: P::Lanes<S>,
    /// Those of the home.
    clusters: Range<usize>,
}

impl<S: Simd, P: Arithmetic> Near<'_, S, P> {
    /// Whether any particle of the cluster is within reach.
    #[inline(always)]
    fn is_near(&self, at: [P::Coordinates<S>; 3], cluster: usize) -> bool {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let dx = P::difference(simd, at[0], xs[cluster]);
        let dy = P::difference(simd, at[1], ys[cluster]);
        let dz = P::difference(simd, at[2], zs[cluster]);
        let r2 = P::mul_add(simd, dz, dz, P::mul_add(simd, dy, dy, P::mul(simd, dx, dx)));
        P::any(simd, P::less_than(simd, P::in_lengths(simd, r2, self.unit2), self.reach2))
    }

    /// Appends the clusters of a span that are near particle `i`. Inside its own cell it meets those after itself.
    #[inline(always)]
    fn append_span(
        &self,
        near: &mut Lists,
        far: &mut Lists,
        (i, at): (usize, [P::Coordinates<S>; 3]),
        span: CellSpan,
    ) {
        let width = P::width::<S>();
        let (first, end) = (span.first as usize, span.end as usize);
        let start = if (first..end).contains(&i) { i + 1 } else { first };
        let (head, tail) = (start / width, end.div_ceil(width));
        let whole_start = start.div_ceil(width).min(tail);
        let whole_end = (end / width).clamp(whole_start, tail);
        let home = &self.clusters;
        for cluster in (head..whole_start).chain(whole_end..tail) {
            if self.is_near(at, cluster) {
                let (lists, base) =
                    if home.contains(&cluster) { (&mut *near, home.start) } else { (&mut *far, 0) };
                lists.masked.push(MaskedEntry {
                    cluster: (cluster - base) as u32,
                    first: start.saturating_sub(base * width) as u32,
                    end: (end - base * width) as u32,
                });
            }
        }
        let (home_start, home_end) =
            (home.start.clamp(whole_start, whole_end), home.end.clamp(whole_start, whole_end));
        self.append_whole(near, at, home_start..home_end, home.start);
        self.append_whole(far, at, whole_start..home_start, 0);
        self.append_whole(far, at, home_end..whole_end, 0);
    }

    /// Appends those of the clusters that are near, relative to `base`. Half of them are, which no branch can guess: so all
    /// are written, one over the other unless it is near.
    #[inline(always)]
    fn append_whole(
        &self,
        lists: &mut Lists,
        at: [P::Coordinates<S>; 3],
        clusters: Range<usize>,
        base: usize,
    ) {
        let mut end = lists.plain.len();
        lists.plain.resize(end + clusters.len(), 0);
        for cluster in clusters {
            lists.plain[end] = (cluster - base) as u32;
            end += usize::from(self.is_near(at, cluster));
        }
        lists.plain.truncate(end);
    }
}
