//! The lists and how they are made: every candidate cluster is tested atom by atom, a vector at a time.

use crate::force::cells::{CellItem, CellSpan};
use crate::halo::{Reach, Region};
use crate::particles::Particles;
use crate::simd::{Arithmetic, Double};
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;
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

    /// Where the entries of a row start: plain and masked.
    pub(super) fn starts(&self, row: usize) -> (usize, usize) {
        match row.checked_sub(1).map(|before| self.rows[before]) {
            Some(before) => (before.plain_end as usize, before.masked_end as usize),
            None => (0, 0),
        }
    }
}

/// Appends the rows of some items; `P` decides how many particles a cluster has.
pub(super) struct ListBuild<'a, P> {
    items: &'a [CellItem],
    spans: &'a [CellSpan],
    particles: &'a Particles,
    reach: f64,
    lists: &'a mut Lists,
    arithmetic: PhantomData<P>,
}

impl<'a, P: Arithmetic> ListBuild<'a, P> {
    pub(super) fn new(
        items: &'a [CellItem],
        spans: &'a [CellSpan],
        particles: &'a Particles,
        reach: f64,
        lists: &'a mut Lists,
    ) -> Self {
        Self { items, spans, particles, reach, lists, arithmetic: PhantomData }
    }
}

impl<P: Arithmetic> WithSimd for ListBuild<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { items, spans, particles, reach, lists, .. } = self;
        let [x, y, z] = &particles.position;
        let xs = S::as_simd_f64s(x.padded()).0;
        // Slices of equal, known length: one bounds check instead of three.
        let ys = &S::as_simd_f64s(y.padded()).0[..xs.len()];
        let zs = &S::as_simd_f64s(z.padded()).0[..xs.len()];
        let reach2 = simd.splat_f64s(reach * reach);
        let near = Near::<S, P> { simd, positions: [xs, ys, zs], reach2, arithmetic: PhantomData };
        for item in items {
            for i in item.particles.first as usize..item.particles.end as usize {
                let at = [simd.splat_f64s(x[i]), simd.splat_f64s(y[i]), simd.splat_f64s(z[i])];
                for &span in &spans[item.spans.clone()] {
                    near.append_span(lists, (i, at), span);
                }
                let (plain_end, masked_end) = (lists.plain.len() as u32, lists.masked.len() as u32);
                lists.rows.push(Row { particle: i as u32, plain_end, masked_end });
            }
        }
    }
}

/// Finds clusters near a point.
struct Near<'a, S: Simd, P> {
    simd: S,
    positions: [&'a [S::f64s]; 3],
    reach2: S::f64s,
    arithmetic: PhantomData<P>,
}

impl<S: Simd, P: Arithmetic> Near<'_, S, P> {
    /// Whether any particle of the cluster is within reach.
    #[inline(always)]
    fn is_near(&self, at: [S::f64s; 3], cluster: usize) -> bool {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let vectors = P::width::<S>() / S::F64_LANES;
        let mut is_near = false;
        for v in cluster * vectors..((cluster + 1) * vectors).min(xs.len()) {
            let dx = simd.sub_f64s(at[0], xs[v]);
            let dy = simd.sub_f64s(at[1], ys[v]);
            let dz = simd.sub_f64s(at[2], zs[v]);
            let r2 = Double::mul_add(simd, dz, dz, Double::mul_add(simd, dy, dy, simd.mul_f64s(dx, dx)));
            is_near |= simd.first_true_m64s(simd.less_than_f64s(r2, self.reach2)) < S::F64_LANES;
        }
        is_near
    }

    /// Appends the clusters of a span that are near particle `i`. Inside its own cell it meets those after itself.
    #[inline(always)]
    fn append_span(&self, lists: &mut Lists, (i, at): (usize, [S::f64s; 3]), span: CellSpan) {
        let width = P::width::<S>();
        let (first, end) = (span.first as usize, span.end as usize);
        let start = if (first..end).contains(&i) { i + 1 } else { first };
        let (head, tail) = (start / width, end.div_ceil(width));
        let whole_start = start.div_ceil(width).min(tail);
        let whole_end = (end / width).clamp(whole_start, tail);
        for cluster in (head..whole_start).chain(whole_end..tail) {
            if self.is_near(at, cluster) {
                let entry = MaskedEntry { cluster: cluster as u32, first: start as u32, end: end as u32 };
                lists.masked.push(entry);
            }
        }
        for cluster in whole_start..whole_end {
            if self.is_near(at, cluster) {
                lists.plain.push(cluster as u32);
            }
        }
    }
}
