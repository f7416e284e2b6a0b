//! The linked-cell method: every particle against the particles of its own and the adjacent cells.
//!
//! At a rebuild the plan's cell pairs become *spans*: runs of particle indices. Cells of a row along x are neighbours in
//! memory, so the 14 cells of a half shell are about 5 spans, and a span is swept a vector at a time.
//!
//! Advantage: nothing to store per particle, no gather, all loads contiguous. Disadvantage: of the pairs whose distance
//! is computed only about one in ten lies within the cutoff (volume of 14 cells against half a sphere).

use super::cell_kernel::CellSweep;
use super::{PairSums, Sums, System};
use crate::cells::LocalCells;
use crate::halo::{HaloPlan, Reach, Region};
use crate::particles::Particles;
use crate::potential::{KernelUser, PairKernel, PairPotential};
use std::ops::Range;

/// A run of particle indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSpan {
    /// First index.
    pub first: u32,
    /// One past the last.
    pub end: u32,
}

/// One cell's particles and the spans they meet. A span that contains the cell itself stands for its inner pairs, each
/// counted once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CellItem {
    pub particles: CellSpan,
    pub spans: Range<usize>,
    pub reach: Reach,
}

/// The sweep's work, made anew at each rebuild.
#[derive(Debug, Clone, Default)]
pub struct CellWork {
    spans: Vec<CellSpan>,
    items: Vec<CellItem>,
    /// Items before this one need no halo.
    first_boundary: usize,
}

impl CellWork {
    /// No work yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns the plan's cell pairs into spans.
    pub fn rebuild(&mut self, plan: &HaloPlan, cells: &LocalCells) {
        self.spans.clear();
        self.items.clear();
        self.first_boundary = 0;
        for group in &plan.pairs {
            let particles = span(cells, group.a);
            let start = self.spans.len();
            for &partner in &group.partners {
                if partner == group.a {
                    // Starts a span, which the kernel knows by its start: what comes before is met in full.
                    self.spans.push(particles);
                } else {
                    self.append(start, span(cells, partner));
                }
            }
            if particles.first < particles.end && self.spans.len() > start {
                self.items.push(CellItem { particles, spans: start..self.spans.len(), reach: group.reach });
                if group.region == Region::Inner {
                    self.first_boundary = self.items.len();
                }
            }
        }
    }

    /// Adds a span to the current item, joining it to the last one where they touch.
    fn append(&mut self, start: usize, span: CellSpan) {
        if span.first == span.end {
            return;
        }
        match self.spans[start..].last_mut() {
            Some(last) if last.end == span.first => last.end = span.end,
            _ => self.spans.push(span),
        }
    }

    /// The items of a region.
    pub(super) fn items(&self, region: Region) -> &[CellItem] {
        match region {
            Region::Inner => &self.items[..self.first_boundary],
            Region::Boundary => &self.items[self.first_boundary..],
        }
    }

    pub(super) fn spans(&self) -> &[CellSpan] {
        &self.spans
    }

    pub(super) fn add_forces(
        &self,
        system: System,
        particles: &mut Particles,
        region: Region,
        sums: Sums,
    ) -> PairSums {
        let items = self.items(region);
        let cutoff = system.potential.cutoff();
        let task = Task { items, spans: &self.spans, particles, cutoff, simd: system.simd, sums };
        system.potential.with_kernel(task)
    }
}

fn span(cells: &LocalCells, slot: u32) -> CellSpan {
    let range = cells.range(slot as usize);
    CellSpan { first: range.start as u32, end: range.end as u32 }
}

/// The sweep, waiting for the potential's kernel.
struct Task<'a> {
    items: &'a [CellItem],
    spans: &'a [CellSpan],
    particles: &'a mut Particles,
    cutoff: f64,
    simd: crate::simd::SimdLevel,
    sums: Sums,
}

impl KernelUser for Task<'_> {
    type Output = PairSums;

    fn with<K: PairKernel>(self, kernel: K) -> PairSums {
        let Self { items, spans, particles, cutoff, simd, sums } = self;
        match sums {
            Sums::Skip => simd.dispatch(CellSweep::<K, false> { items, spans, particles, cutoff, kernel }),
            Sums::Compute => simd.dispatch(CellSweep::<K, true> { items, spans, particles, cutoff, kernel }),
        }
    }
}
