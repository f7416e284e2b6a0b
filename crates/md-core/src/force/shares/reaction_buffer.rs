//! Thread-private buffers for forces on other threads' particles.

use super::{BLOCK, Blocks, Share};
use crate::aligned::{Column, Place};
use crate::force::{Part, Region};
use crate::particles::Particles;
use crate::threads::{Placed, Threads};
use std::ops::Range;

/// Forces on particles outside a thread's home.
#[derive(Debug, Clone)]
pub(in crate::force) struct ReactionBuffer {
    /// Forces by particle.
    force: [Column<f64>; 3],
    /// Whether each block of particles is used.
    blocks: Vec<bool>,
    /// Ranges of the particles in use.
    runs: Vec<Range<usize>>,
}

impl Default for ReactionBuffer {
    fn default() -> Self {
        Self { force: Column::three_from(Place::Reaction), blocks: Vec::new(), runs: Vec::new() }
    }
}

impl ReactionBuffer {
    /// Resets the buffer for `len` particles and ghosts, none of them in use.
    pub(in crate::force) fn reset(&mut self, len: usize) {
        self.blocks.clear();
        self.blocks.resize(len.div_ceil(BLOCK), false);
        self.runs.clear();
    }

    /// Marks particles as used by cross-thread pairs.
    #[inline]
    pub(in crate::force) fn touch(&mut self, particles: Range<usize>) {
        let end = particles.end.div_ceil(BLOCK).min(self.blocks.len());
        self.blocks[particles.start / BLOCK..end].fill(true);
    }

    /// Lays out the buffer. Must be called after all particles in use have been marked. A single
    /// thread has no cross-thread pairs and needs no memory.
    pub(in crate::force) fn lay_out(&mut self, len: usize, threads: &Threads) {
        let mut start = 0;
        for blocks in self.blocks.chunk_by(|a, b| a == b) {
            let end = start + blocks.len();
            if blocks[0] {
                self.runs.push(start * BLOCK..(end * BLOCK).min(len));
            }
            start = end;
        }
        if threads.count() > 1 {
            self.force.iter_mut().for_each(|column| column.set_len(len));
        }
    }

    pub(super) fn columns(&mut self) -> [&mut [f64]; 3] {
        self.force.each_mut().map(Column::padded_mut)
    }

    pub(super) fn clear(&mut self) {
        for column in &mut self.force {
            for run in &self.runs {
                column[run.clone()].fill(0.0);
            }
        }
    }

    /// Adds the forces on the particles in `part`, which starts at particle `first`.
    fn add_to(&self, first: usize, part: &mut [&mut [f64]; 3]) {
        for (to, from) in part.iter_mut().zip(&self.force) {
            for run in &self.runs {
                let (start, end) = (run.start.max(first), run.end.min(first + to.len()));
                if start < end {
                    for (to, &from) in to[start - first..end - first].iter_mut().zip(&from[start..end]) {
                        *to += from;
                    }
                }
            }
        }
    }
}

/// Adds all reaction buffers to the forces, in the order of threads: to those on ghosts after the
/// boundary, because these are sent next, and to all others at the end.
pub(in crate::force) fn add_reactions_after<L: Blocks + Send + Sync>(
    part: &Part,
    threads: &Threads,
    shares: &[Share<L>],
    particles: &mut Particles,
) {
    let &Part { region, ref blocks } = part;
    if blocks.end < super::blocks(shares, region)
        || shares.iter().all(|share| share.reactions.runs.is_empty())
    {
        return;
    }
    let ghosts = particles.ghost_start().min(particles.len());
    let range = match region {
        Region::InnerFirst => return,
        Region::Boundary => ghosts..particles.len(),
        Region::InnerSecond => 0..ghosts,
    };
    let first = range.start;
    let columns = particles.force.each_mut().map(|column| &mut column[range.clone()]);
    threads.each(Placed { first, columns }, |Placed { first, mut columns }| {
        for share in shares {
            share.reactions.add_to(first, &mut columns);
        }
    });
}
