//! The lists and how they are made: every candidate cluster is tested atom by atom, a vector at a time.

use super::kernel::vectors;
use crate::force::cells::{CellItem, CellSpan};
use crate::halo::{Reach, Region};
use crate::simd::Arithmetic;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Of a span, the first and the last cluster may be masked.
const ENDS: usize = 2;

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
    pub region: Region,
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

    /// A row without entries, and room for so many.
    fn open_row(&mut self, plain: usize, masked: usize) -> Row {
        let row =
            Row { particle: 0, plain_end: self.plain.len() as u32, masked_end: self.masked.len() as u32 };
        self.plain.resize(self.plain.len() + plain, 0);
        self.masked.resize(self.masked.len() + masked, MaskedEntry { cluster: 0, first: 0, end: 0 });
        row
    }

    /// Appends the row and gives back the room that it has not taken.
    fn close_row(&mut self, row: Row) {
        self.plain.truncate(row.plain_end as usize);
        self.masked.truncate(row.masked_end as usize);
        self.rows.push(row);
    }

    /// Where the entries of a row start: plain and masked.
    pub(super) fn starts(&self, row: usize) -> (usize, usize) {
        match row.checked_sub(1).map(|before| self.rows[before]) {
            Some(before) => (before.plain_end as usize, before.masked_end as usize),
            None => (0, 0),
        }
    }
}

/// Appends the rows of some items.
pub(super) struct ListBuild<'a, P: Arithmetic> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub positions: [&'a [P::Coordinate]; 3],
    /// Length of one unit of the coordinates.
    pub unit: f64,
    pub reach: f64,
    pub lists: &'a mut Lists,
}

impl<P: Arithmetic> WithSimd for ListBuild<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { items, spans, positions: [x, y, z], unit, reach, lists } = self;
        // Slices of equal, known length: one bounds check instead of three.
        let clusters = x.len() / P::width::<S>();
        let near = Near::<S, P> {
            simd,
            positions: [x, y, z].map(|column| &vectors(column)[..clusters]),
            unit2: P::splat(simd, unit * unit),
            reach2: P::splat(simd, reach * reach),
        };
        for item in items {
            let spans = &spans[item.spans.clone()];
            let most: usize =
                spans.iter().map(|span| (span.end - span.first) as usize / P::width::<S>() + 1).sum();
            for i in item.particles.first as usize..item.particles.end as usize {
                let at = [P::spread(simd, x[i]), P::spread(simd, y[i]), P::spread(simd, z[i])];
                let mut row = lists.open_row(most, ENDS * spans.len());
                for &span in spans {
                    near.append_span(lists, &mut row, (i, at), span);
                }
                row.particle = i as u32;
                lists.close_row(row);
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
        lists: &mut Lists,
        row: &mut Row,
        (i, at): (usize, [P::Coordinates<S>; 3]),
        span: CellSpan,
    ) {
        let width = P::width::<S>();
        let (first, end) = (span.first as usize, span.end as usize);
        let start = if (first..end).contains(&i) { i + 1 } else { first };
        let (head, tail) = (start / width, end.div_ceil(width));
        let whole_start = start.div_ceil(width).min(tail);
        let whole_end = (end / width).clamp(whole_start, tail);
        // Half of the candidates are near, which no branch can guess: so all are written, and only those near stay.
        for cluster in (head..whole_start).chain(whole_end..tail) {
            let entry = MaskedEntry { cluster: cluster as u32, first: start as u32, end: end as u32 };
            lists.masked[row.masked_end as usize] = entry;
            row.masked_end += u32::from(self.is_near(at, cluster));
        }
        for cluster in whole_start..whole_end {
            lists.plain[row.plain_end as usize] = cluster as u32;
            row.plain_end += u32::from(self.is_near(at, cluster));
        }
    }
}
