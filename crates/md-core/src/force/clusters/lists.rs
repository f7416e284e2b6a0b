//! The lists and how they are made: every candidate cluster is tested atom by atom, a vector at a time. Each thread makes
//! its own, for the rows of its home.

use crate::force::cells::{CellItem, CellSpan};
use crate::force::shares::{Spill, Work};
use crate::halo::Reach;
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

/// Makes the lists of a thread's home; `P` decides how many particles a cluster has.
pub(super) struct ListBuild<'a, P> {
    items: &'a [CellItem],
    spans: &'a [CellSpan],
    particles: &'a Particles,
    reach: f64,
    work: &'a mut Work<Lists>,
    spill: &'a mut Spill,
    arithmetic: PhantomData<P>,
}

impl<'a, P: Arithmetic> ListBuild<'a, P> {
    pub(super) fn new(
        (items, spans): (&'a [CellItem], &'a [CellSpan]),
        particles: &'a Particles,
        reach: f64,
        (work, spill): (&'a mut Work<Lists>, &'a mut Spill),
    ) -> Self {
        Self { items, spans, particles, reach, work, spill, arithmetic: PhantomData }
    }
}

impl<P: Arithmetic> WithSimd for ListBuild<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { items, spans, particles, reach, work, spill, .. } = self;
        let [x, y, z] = &particles.position;
        let xs = S::as_simd_f64s(x.padded()).0;
        // Slices of equal, known length: one bounds check instead of three.
        let ys = &S::as_simd_f64s(y.padded()).0[..xs.len()];
        let zs = &S::as_simd_f64s(z.padded()).0[..xs.len()];
        let reach2 = simd.splat_f64s(reach * reach);
        let Work { home, near, far } = work;
        let width = P::width::<S>();
        let clusters = home.start / width..home.end / width;
        let finder =
            Near::<S, P> { simd, positions: [xs, ys, zs], reach2, clusters, arithmetic: PhantomData };
        for items in items.chunk_by(|a, b| a.reach == b.reach) {
            let first = [near.rows.len(), far.rows.len()];
            let first_far = far.starts(first[1]);
            for item in items {
                let (start, end) = (item.particles.first as usize, item.particles.end as usize);
                for i in start.max(home.start)..end.min(home.end) {
                    let at = [simd.splat_f64s(x[i]), simd.splat_f64s(y[i]), simd.splat_f64s(z[i])];
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
struct Near<'a, S: Simd, P> {
    simd: S,
    positions: [&'a [S::f64s]; 3],
    reach2: S::f64s,
    /// Those of the home.
    clusters: Range<usize>,
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
    fn append_span(&self, near: &mut Lists, far: &mut Lists, (i, at): (usize, [S::f64s; 3]), span: CellSpan) {
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

    /// Appends those of the clusters that are near, relative to `base`.
    #[inline(always)]
    fn append_whole(&self, lists: &mut Lists, at: [S::f64s; 3], clusters: Range<usize>, base: usize) {
        for cluster in clusters {
            if self.is_near(at, cluster) {
                lists.plain.push((cluster - base) as u32);
            }
        }
    }
}
