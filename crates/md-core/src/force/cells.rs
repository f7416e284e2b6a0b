//! The linked-cell method: every particle is paired with the particles of its own and the adjacent
//! cells.
//!
//! At a rebuild the plan's cell pairs are converted to *spans*, which are ranges of particle
//! indices. Cells along x are adjacent in memory, so the 14 cells of a half shell are about 5
//! spans, and a span is processed one vector at a time.
//!
//! Advantage: nothing is stored per particle, there is no gather, and all loads are contiguous.
//! Disadvantage: of the pairs whose distance is computed, only about one in ten lies within the
//! cutoff (the volume of 14 cells compared with half a sphere).

use super::cell_kernel::CellSweep;
use super::cell_pairs::CellPairCounts;
use super::cell_spans::{CellItem, CellSpan};
use super::shares::{self, Blocks, Columns, ReactionBuffer, Share, Work};
use super::{Evaluation, Newton, PairLoop, PairSums, PairWork, Part, Region, Sweep, System, block_pairs};
use crate::cells::LocalCells;
use crate::force::pair_kernel::PairKernel;
use crate::memory;
use crate::particles::Particles;
use crate::simd::{Double, SimdLevel};

/// Items and their spans.
#[derive(Debug, Clone, Default)]
pub(super) struct Items {
    items: Vec<CellItem>,
    spans: Vec<CellSpan>,
    /// End of the items of each block.
    block_ends: Vec<usize>,
    /// Number of pairs in the last block.
    candidates: f64,
}

/// The work of a sweep, recreated at each rebuild.
#[derive(Debug, Clone, Default)]
pub struct CellWork {
    spans: Vec<CellSpan>,
    items: Vec<CellItem>,
    /// End of the items of each region.
    ends: [usize; Region::ALL.len()],
    /// Shares of the threads, for the linked-cell method itself.
    shares: Vec<Share<Items>>,
}

impl CellWork {
    /// Converts the plan's cell pairs to spans.
    pub fn rebuild(&mut self, pairs: &PairWork, cells: &LocalCells) {
        self.spans.clear();
        self.items.clear();
        self.ends = Default::default();
        for (group, partners) in pairs.iter() {
            let particles = CellSpan::of(cells, &(group.a..group.a + 1));
            // In a sparse system most cells are empty.
            if particles.len() == 0 {
                continue;
            }
            let start = self.spans.len();
            for run in partners {
                let span = CellSpan::of(cells, run);
                if run.start == group.a {
                    // Starts a new span, because the kernel recognises the cell's own span by its
                    // start. Everything before is paired in full.
                    memory::push(&mut self.spans, span);
                } else {
                    self.append(start, span);
                }
            }
            if self.spans.len() > start {
                let partners: u32 = self.spans[start..].iter().map(|span| span.len()).sum();
                let candidates = f64::from(particles.len()) * f64::from(partners);
                let spans = start..self.spans.len();
                let item = CellItem { particles, spans, newton: group.newton, candidates };
                memory::push(&mut self.items, item);
                self.ends[group.region as usize..].fill(self.items.len());
            }
        }
    }

    /// Adds a span to the current item. Joins it to the last one if they are adjacent.
    fn append(&mut self, start: usize, span: CellSpan) {
        if span.first == span.end {
            return;
        }
        match self.spans[start..].last_mut() {
            Some(last) if last.end == span.first => last.end = span.end,
            _ => memory::push(&mut self.spans, span),
        }
    }

    /// Returns the items of a region.
    pub(super) fn items(&self, region: Region) -> &[CellItem] {
        let before = (region as usize).checked_sub(1);
        &self.items[before.map_or(0, |before| self.ends[before])..self.ends[region as usize]]
    }

    pub(super) fn spans(&self) -> &[CellSpan] {
        &self.spans
    }

    /// Converts the plan's cell pairs to spans and divides them among the threads.
    pub(super) fn rebuild_shares(&mut self, system: System, len: usize) {
        self.rebuild(system.pairs, system.cells);
        let mut all = std::mem::take(&mut self.shares);
        for &region in Region::ALL {
            shares::assign_homes(&mut all, system.threads, region, self.items(region), len);
        }
        let pairs = block_pairs(system.plan);
        shares::each(system.threads, &mut all, |share| {
            share.reactions.reset(len);
            for &region in Region::ALL {
                let (work, reactions) = share.work_mut(region);
                work.local.clear();
                work.cross.clear();
                for item in self.items(region) {
                    divide_item(item, &self.spans, work, reactions);
                    work.local.end_block(pairs);
                    work.cross.end_block(pairs);
                }
                work.local.end_block(0);
                work.cross.end_block(0);
            }
            share.reactions.lay_out(len, system.threads);
        });
        self.shares = all;
    }

    pub(super) fn add_forces(
        &mut self,
        system: System,
        particles: &mut Particles,
        part: &Part,
        evaluation: Evaluation,
    ) -> PairSums {
        let cutoff = system.potential.cutoff();
        let columns = Columns::of(particles);
        let sweep = |items: &mut Items, block: usize, columns: Columns<'_, Double>| {
            let task = Task { items: items.block(block), spans: &items.spans, columns, cutoff, evaluation };
            task.compute(system)
        };
        let total = shares::sweep(system.threads, &mut self.shares, part, columns, sweep);
        shares::add_reactions_after(part, system.threads, &self.shares, particles);
        total
    }

    /// Adds the pairs of the linked-cell method, by cell.
    pub(super) fn count_pairs(&self, counts: &mut CellPairCounts) {
        counts.add_items(&self.items, &self.spans);
    }

    pub(super) fn blocks(&self, region: Region) -> usize {
        shares::blocks(&self.shares, region)
    }
}

/// Divides the item's i-particles in the home into those with partners in the home and in other
/// homes.
fn divide_item(item: &CellItem, spans: &[CellSpan], work: &mut Work<Items>, reactions: &mut ReactionBuffer) {
    let Work { home, local, cross } = work;
    let Some(i_particles) = item.particles.part(home, 0) else { return };
    let Some(local_i_particles) = item.particles.part(home, home.start) else { return };
    let before = 0..home.start;
    let after = home.end..usize::MAX;
    for span in &spans[item.spans.clone()] {
        local.spans.extend(span.part(home, home.start));
        // Inside its own cell, a particle is only paired with the particles after it.
        let is_own_cell = (span.first..span.end).contains(&i_particles.first);
        let others = [span.part(&before, 0).filter(|_| !is_own_cell), span.part(&after, 0)];
        for other in others.into_iter().flatten() {
            cross.spans.push(other);
            if item.newton == Newton::On {
                reactions.touch(other.first as usize..other.end as usize);
            }
        }
    }
    local.end_item(item, local_i_particles);
    cross.end_item(item, i_particles);
}

impl Blocks for Items {
    fn blocks(&self) -> usize {
        self.block_ends.len()
    }
}

impl Items {
    fn clear(&mut self) {
        self.items.clear();
        self.spans.clear();
        self.block_ends.clear();
        self.candidates = 0.0;
    }

    /// Ends the last block if it has more than `pairs` pairs.
    fn end_block(&mut self, pairs: usize) {
        if self.candidates > pairs as f64 {
            self.block_ends.push(self.items.len());
            self.candidates = 0.0;
        }
    }

    fn block(&self, block: usize) -> &[CellItem] {
        let start = block.checked_sub(1).map_or(0, |before| self.block_ends[before]);
        &self.items[start..self.block_ends[block]]
    }

    /// Ends an item: `particles` are paired with the spans added since the previous item.
    fn end_item(&mut self, item: &CellItem, particles: CellSpan) {
        let start = self.items.last().map_or(0, |last| last.spans.end);
        if start < self.spans.len() {
            self.candidates += item.candidates;
            self.items.push(CellItem { particles, spans: start..self.spans.len(), ..item.clone() });
        }
    }
}

/// A sweep that is ready to run with the potential's kernel.
pub(super) struct Task<'a> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub columns: Columns<'a, Double>,
    pub cutoff: f64,
    pub evaluation: Evaluation,
}

impl Task<'_> {
    /// Runs the sweep with the kernel of the potential.
    pub(super) fn compute(self, System { potential, simd, .. }: System) -> PairSums {
        potential.compute(PairLoop { sweep: Sweep::Cells(self), potential, simd })
    }

    pub(super) fn run<K: PairKernel>(self, level: SimdLevel, kernel: K) -> PairSums {
        let Self { items, spans, columns, cutoff, evaluation } = self;
        match evaluation {
            Evaluation::ForcesOnly => {
                level.dispatch(CellSweep::<K, false> { items, spans, columns, cutoff, kernel })
            }
            Evaluation::WithEnergyAndVirial => {
                level.dispatch(CellSweep::<K, true> { items, spans, columns, cutoff, kernel })
            }
        }
    }
}
