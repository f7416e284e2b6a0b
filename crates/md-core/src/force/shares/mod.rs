//! The pairs of a region divided among threads, without atomics and without two threads writing to
//! the same place.
//!
//! ```text
//! particles           0 ................................................ owned | ghosts
//! homes               |  thread 0  |  thread 1  |  thread 2  |     thread 3     |
//! local pairs         i and j in the home:                    forces go to the particles
//! cross-thread pairs  i in the home, j in another or a ghost: forces on j go to the thread's
//!                     reaction buffer
//! ```
//!
//! A home is a range of particle indices. Homes are cut such that all threads have about the same
//! number of candidate pairs. Particles are in the order of their cells, so homes are slabs and
//! there are few cross-thread pairs: one layer of cells per cut, and ghosts. Only the parts of a
//! reaction buffer that cross-thread pairs use are cleared and added to the forces: to those of
//! ghosts after the boundary work, to all others at the end.
//!
//! Local pairs use slices of the home and indices relative to it, so a single thread, whose home
//! contains everything, runs the same loops as without homes.
//!
//! Advantage: deterministic for a given number of threads, and nothing is shared in the inner loop.
//! Disadvantage: an i-particle with cross-thread pairs is loaded twice.

mod reaction_buffer;

pub(in crate::force) use reaction_buffer::{ReactionBuffer, add_reactions_after};

use super::cell_spans::CellItem;
use super::{PairSums, Part};
use crate::aligned::Column;
use crate::force::Region;
use crate::particles::Particles;
use crate::simd::{Arithmetic, DoubleWith};
use crate::threads::{Columns as _, Placed, Threads};
use std::ops::Range;

/// Number of which the starts of homes are multiples: the width of the widest cluster.
pub(in crate::force) const BLOCK: usize = 16;

/// The particles in the form that the arithmetic requires, padded to whole clusters: all of them,
/// or those of a home.
pub(in crate::force) struct Columns<'a, P: Arithmetic> {
    pub position: [&'a [P::Coordinate]; 3],
    pub kind: &'a [P::SpeciesIndex],
    pub force: [&'a mut [f64]; 3],
    /// Length of one unit of the coordinates.
    pub unit: f64,
    /// Destination of the forces on i-particles if it is not `force`, with the index of its first
    /// particle.
    pub i_force: Option<Placed<[&'a mut [f64]; 3]>>,
}

impl<'a, const EXACT_SUMS: bool> Columns<'a, DoubleWith<EXACT_SUMS>> {
    /// Returns the particles in double precision.
    pub(in crate::force) fn of(particles: &'a mut Particles) -> Self {
        let Particles { position, force, species, .. } = particles;
        Self {
            position: position.each_ref().map(Column::padded),
            kind: species.padded(),
            force: force.each_mut().map(Column::padded_mut),
            unit: 1.0,
            i_force: None,
        }
    }
}

/// The part of [`Columns`] that all threads read.
struct Source<'a, P: Arithmetic> {
    position: [&'a [P::Coordinate]; 3],
    kind: &'a [P::SpeciesIndex],
    unit: f64,
}

impl<'a, P: Arithmetic> Columns<'a, P> {
    /// Separates the forces from the rest. The sweep decides where forces on i-particles are added.
    fn split(self) -> ([&'a mut [f64]; 3], Source<'a, P>) {
        let Self { position, kind, force, unit, i_force } = self;
        debug_assert!(i_force.is_none());
        (force, Source { position, kind, unit })
    }
}

impl<P: Arithmetic> Source<'_, P> {
    /// Returns the columns for local pairs: those of the home only, with its forces.
    fn local<'b>(&'b self, home: &Range<usize>, force: [&'b mut [f64]; 3]) -> Columns<'b, P> {
        let &Self { position, kind, unit } = self;
        let home = home.start.min(kind.len())..home.end.min(kind.len());
        let position = position.map(|column| &column[home.clone()]);
        Columns { position, kind: &kind[home], force, unit, i_force: None }
    }

    /// Returns the columns for cross-thread pairs: forces on i-particles are added to the home,
    /// those on j-particles to `force`.
    fn cross<'b>(&'b self, i_force: Placed<[&'b mut [f64]; 3]>, force: [&'b mut [f64]; 3]) -> Columns<'b, P> {
        let &Self { position, kind, unit } = self;
        Columns { position, kind, force, unit, i_force: Some(i_force) }
    }
}

/// The work of one thread in one region.
#[derive(Debug, Clone, Default)]
pub(in crate::force) struct Work<L> {
    /// Range of the i-particles.
    pub home: Range<usize>,
    /// Local pairs, with indices relative to the start of the home.
    pub local: L,
    /// Cross-thread pairs.
    pub cross: L,
}

/// The work of one thread.
#[derive(Debug, Clone, Default)]
pub(in crate::force) struct Share<L> {
    /// Work by region.
    works: [Work<L>; Region::ALL.len()],
    /// Sums over the blocks of a region so far.
    sums: PairSums,
    pub reactions: ReactionBuffer,
}

impl<L> Share<L> {
    /// Returns the work of a region and the reaction buffer that it needs.
    pub(in crate::force) fn work_mut(&mut self, region: Region) -> (&mut Work<L>, &mut ReactionBuffer) {
        (&mut self.works[region as usize], &mut self.reactions)
    }

    /// Returns the work of all regions.
    pub(in crate::force) fn works(&self) -> &[Work<L>] {
        &self.works
    }

    /// Returns the work of all regions, writable.
    pub(in crate::force) fn works_mut(&mut self) -> &mut [Work<L>] {
        &mut self.works
    }

    fn begin(&mut self, region: Region) {
        self.sums = PairSums::default();
        if region == Region::ALL[0] {
            self.reactions.clear();
        }
    }

    fn home(&self, region: Region) -> &Range<usize> {
        &self.works[region as usize].home
    }
}

/// Assigns a home to every thread in a region with these items, for `len` particles and ghosts.
pub(in crate::force) fn assign_homes<L: Default>(
    shares: &mut Vec<Share<L>>,
    threads: &Threads,
    region: Region,
    items: &[CellItem],
    len: usize,
) {
    shares.resize_with(threads.count(), Share::default);
    let total: f64 = items.iter().map(|item| item.candidates).sum();
    let (mut items, mut before) = (items.iter().peekable(), 0.0);
    let (mut start, count) = (0, shares.len());
    for (index, share) in shares.iter_mut().enumerate() {
        let target = total * (index + 1) as f64 / count as f64;
        while let Some(item) = items.next_if(|item| before + item.candidates <= target) {
            before += item.candidates;
        }
        let end = match items.peek() {
            Some(CellItem { particles, candidates, .. }) if index + 1 < count => {
                let i_particles = f64::from(particles.end - particles.first);
                particles.first as usize + (i_particles * (target - before) / candidates) as usize
            }
            _ if total > 0.0 => len.next_multiple_of(BLOCK),
            _ => 0,
        };
        let end = end.next_multiple_of(BLOCK).max(start);
        share.work_mut(region).0.home = start..end;
        start = end;
    }
}

/// Runs `work` for the share of every thread.
pub(in crate::force) fn each<L: Send>(
    threads: &Threads,
    shares: &mut [Share<L>],
    work: impl Fn(&mut Share<L>) + Sync,
) {
    threads.divide(
        shares,
        |shares, all, middle| shares.split_at_mut(middle - all.start),
        |shares, _| shares.iter_mut().for_each(&work),
        |(), ()| (),
    );
}

/// Work that can be done block by block.
pub(in crate::force) trait Blocks {
    /// Returns the number of blocks.
    fn blocks(&self) -> usize;
}

/// Returns the number of blocks of a region; some threads may have fewer.
pub(in crate::force) fn blocks<L: Blocks>(shares: &[Share<L>], region: Region) -> usize {
    let works = shares.iter().map(|share| &share.works[region as usize]);
    works.flat_map(|work| [work.local.blocks(), work.cross.blocks()]).max().unwrap_or(0).max(1)
}

/// Sweeps over blocks of a region on all threads. `sweep(work, block, columns)` adds the forces of
/// a thread's local or cross-thread pairs.
pub(in crate::force) fn sweep<P: Arithmetic, L: Blocks + Send + Sync>(
    threads: &Threads,
    shares: &mut [Share<L>],
    part: &Part,
    columns: Columns<P>,
    sweep: impl Fn(&mut L, usize, Columns<P>) -> PairSums + Sync,
) -> PairSums {
    let &Part { region, ref blocks } = part;
    // The first region also clears the reaction buffers.
    if region != Region::ALL[0] && shares.iter().all(|share| share.home(region).is_empty()) {
        return PairSums::default();
    }
    let is_last = blocks.end >= self::blocks(shares, region);
    let (force, source) = columns.split();
    let work = |homes: Homes<L>, _: usize| {
        let Homes { shares: [share], mut force } = homes else { return PairSums::default() };
        if blocks.start == 0 {
            share.begin(region);
        }
        let Share { works, sums, reactions } = share;
        let Work { home, local, cross } = &mut works[region as usize];
        for block in blocks.clone() {
            if block < local.blocks() {
                *sums += sweep(local, block, source.local(home, reborrowed(&mut force)));
            }
            if block < cross.blocks() {
                let i_force =
                    Placed { first: home.start.min(source.kind.len()), columns: reborrowed(&mut force) };
                *sums += sweep(cross, block, source.cross(i_force, reactions.columns()));
            }
        }
        if is_last { *sums } else { PairSums::default() }
    };
    let all = Homes { shares, force };
    threads.divide(
        all,
        |homes, range, middle| homes.split(middle - range.start, region),
        work,
        PairSums::plus,
    )
}

/// The shares of some threads and the forces in their homes.
struct Homes<'a, L> {
    shares: &'a mut [Share<L>],
    force: [&'a mut [f64]; 3],
}

impl<L> Homes<'_, L> {
    fn split(self, middle: usize, region: Region) -> (Self, Self) {
        let home = self.shares[0].home(region).start..self.shares[middle].home(region).start;
        let at = home.len().min(self.force[0].len());
        let (first, second) = self.shares.split_at_mut(middle);
        let (force, later_force) = self.force.split_at(at);
        (Self { shares: first, force }, Self { shares: second, force: later_force })
    }
}

fn reborrowed<'a, T>(columns: &'a mut [&mut [T]; 3]) -> [&'a mut [T]; 3] {
    columns.each_mut().map(|column| &mut **column)
}
