//! What threads have computed for particles outside of their homes.

use super::{BLOCK, Share};
use crate::aligned::Column;
use crate::particles::Particles;
use crate::simd::Arithmetic;
use crate::threads::{Placed, Threads};
use std::ops::Range;

/// Reactions that a thread's far work has for particles outside its home.
#[derive(Debug, Clone)]
pub(in crate::force) struct Spill {
    /// Numbers of the arithmetic's type, by particle.
    force: [Column<u64>; 3],
    /// Which blocks of particles are touched.
    blocks: Vec<bool>,
    /// Runs of touched particles.
    runs: Vec<Range<usize>>,
}

impl Default for Spill {
    fn default() -> Self {
        Self { force: Column::three_from_place(13), blocks: Vec::new(), runs: Vec::new() }
    }
}

impl Spill {
    /// Nothing touched yet of `len` particles and ghosts.
    pub(in crate::force) fn reset(&mut self, len: usize) {
        self.blocks.clear();
        self.blocks.resize(len.div_ceil(BLOCK), false);
        self.runs.clear();
    }

    /// Far work touches these particles.
    #[inline]
    pub(in crate::force) fn touch(&mut self, particles: Range<usize>) {
        let end = particles.end.div_ceil(BLOCK).min(self.blocks.len());
        self.blocks[particles.start / BLOCK..end].fill(true);
    }

    /// To be called when everything has been touched. One thread has no far work and needs no room for it; several do,
    /// also where it has no reactions.
    pub(in crate::force) fn lay_out<P: Arithmetic>(&mut self, len: usize, threads: &Threads) {
        let mut start = 0;
        for blocks in self.blocks.chunk_by(|a, b| a == b) {
            let end = start + blocks.len();
            if blocks[0] {
                self.runs.push(start * BLOCK..(end * BLOCK).min(len));
            }
            start = end;
        }
        if threads.count() > 1 {
            let words = (len * size_of::<P::Number>()).div_ceil(size_of::<u64>());
            self.force.iter_mut().for_each(|column| column.set_len(words));
        }
    }

    pub(super) fn columns<P: Arithmetic>(&mut self) -> [&mut [P::Number]; 3] {
        self.force.each_mut().map(|column| bytemuck::cast_slice_mut(column.padded_mut()))
    }

    pub(super) fn clear<P: Arithmetic>(&mut self) {
        for column in &mut self.force {
            let numbers: &mut [P::Number] = bytemuck::cast_slice_mut(column.padded_mut());
            for run in &self.runs {
                numbers[run.clone()].fill(bytemuck::Zeroable::zeroed());
            }
        }
    }

    /// Adds what lies in `part`, which starts at particle `first`, times the unit of the forces.
    fn add_to<P: Arithmetic>(&self, first: usize, part: &mut [&mut [f64]; 3], unit: f64) {
        for (to, from) in part.iter_mut().zip(&self.force) {
            let from: &[P::Number] = bytemuck::cast_slice(from.padded());
            for run in &self.runs {
                let (start, end) = (run.start.max(first), run.end.min(first + to.len()));
                if start < end {
                    for (to, &from) in to[start - first..end - first].iter_mut().zip(&from[start..end]) {
                        *to += unit * P::value(from);
                    }
                }
            }
        }
    }
}

/// Adds all spills to the forces, in the order of threads.
pub(in crate::force) fn add_spills<P: Arithmetic, L: Send + Sync>(
    threads: &Threads,
    shares: &[Share<L>],
    particles: &mut Particles,
    unit: f64,
) {
    if shares.iter().all(|share| share.spill.runs.is_empty()) {
        return;
    }
    let columns = particles.force.each_mut().map(|column| &mut column[..]);
    threads.each(Placed { first: 0, columns }, |Placed { first, mut columns }| {
        for share in shares {
            share.spill.add_to::<P>(first, &mut columns, unit);
        }
    });
}
