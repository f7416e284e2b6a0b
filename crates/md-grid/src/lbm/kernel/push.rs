//! Sweep from one grid into the neighbours' places of another.
//!
//! A store through the caches first reads its line from memory. A grid that does not fit in the
//! caches is better written past them, in whole cache lines: collided populations are first
//! gathered in a block that fits in the first-level cache. Components start at such places that the
//! targets of a row's populations start on lines (`Flow`).

use md_core::simd::Simd;
use pulp::WithSimd;

use super::beyond::{Beyond, in_turn};
use super::{Block, GridParts, Runs, whole_and_rest, whole_vectors};
use crate::lbm::collision::{Coefficients, Forcing, Node, collide};
use crate::lbm::d3q19::POPULATIONS;
use crate::lbm::lanes::{LaneReal, fetch_ahead};
use crate::lbm::stores::Stores;

pub(super) struct Push<'g, T, F> {
    pub coefficients: &'g Coefficients<T>,
    pub source: GridParts<'g, T>,
    pub target: GridParts<'g, T>,
    pub stores: Stores,
    pub runs: Runs<'g>,
    pub forcing: std::marker::PhantomData<F>,
}

impl<T: LaneReal, F: Forcing> WithSimd for Push<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.stores {
            Stores::Ordinary => self.into_caches(simd, Target::InMemory),
            Stores::Unfetched => self.into_caches(simd, Target::Unfetched),
            Stores::PastCaches => self.past_caches(simd),
        }
    }
}

impl<T: LaneReal, F: Forcing> Push<'_, T, F> {
    #[inline(always)]
    fn into_caches<S: Simd>(self, simd: S, kind: Target) {
        let Self { coefficients, mut source, mut target, runs, .. } = self;
        let (mut block, mut copies) = (Block::default(), Block::default());
        for &run in runs.all {
            let (mut source, beyond) = source.run::<S>(runs, run);
            let mut target = target.0.each_mut().map(|part| part.run(run));
            for nodes in whole_and_rest::<S, T>(run) {
                let mut from = source.each_mut().map(|row| &mut row[nodes.clone()]);
                let mut to = target.each_mut().map(|row| &mut row[nodes.clone()]);
                let width = whole_vectors::<S, T>(nodes.len());
                let is_whole = nodes.len() == width;
                if !is_whole {
                    from = copies.filled_up::<S>(from.map(|row| &*row));
                    to = block.rows(width);
                }
                push_vectors::<S, T, F>(simd, coefficients, from, to, (beyond.as_ref(), kind));
                if !is_whole {
                    for (row, block) in target.iter_mut().zip(&block.0) {
                        row[nodes.clone()].copy_from_slice(&block[..nodes.len()]);
                    }
                }
            }
        }
    }

    /// Without MPI, no crate of this project has unsafe code, which such stores need.
    #[cfg(not(feature = "mpi"))]
    #[inline(always)]
    fn past_caches<S: Simd>(self, simd: S) {
        self.into_caches(simd, Target::InMemory);
    }

    #[cfg(feature = "mpi")]
    #[inline(always)]
    fn past_caches<S: Simd>(self, simd: S) {
        let Self { coefficients, mut source, target, runs, .. } = self;
        let shifts = target.0.each_ref().map(|part| part.shift);
        let columns = target.0.map(|part| part.values);
        let (mut block, mut copies) = (Block::default(), Block::default());
        md_comm::mpi::write_past_caches(
            columns,
            #[inline(always)]
            |columns| {
                for &run in runs.all {
                    source.join_ends(runs, run);
                    let mut source = source.0.each_mut().map(|part| part.run(run));
                    for at in (0..run.length).step_by(super::MOST_LANES) {
                        let count = super::MOST_LANES.min(run.length - at);
                        let mut from = source.each_mut().map(|row| &mut row[at..][..count]);
                        let width = whole_vectors::<S, T>(count);
                        if count < width {
                            from = copies.filled_up::<S>(from.map(|row| &*row));
                        }
                        let to = block.rows(width);
                        push_vectors::<S, T, F>(simd, coefficients, from, to, (None, Target::InBlock));
                        for (population, row) in block.0.iter().enumerate() {
                            let place = (run.start + at).wrapping_add_signed(shifts[population]);
                            columns.store(population, place, &row[..count]);
                        }
                    }
                }
            },
        );
    }
}

/// Destination of populations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The target grid, with prefetching of far lines.
    InMemory,
    /// The target grid, without prefetching.
    Unfetched,
    /// A [`Block`].
    #[cfg_attr(
        not(feature = "mpi"),
        expect(dead_code, reason = "only stores past the caches go through a block")
    )]
    InBlock,
}

/// Nodes of a vector whose populations are written to another grid.
struct There<'n, 'g, V> {
    source: &'n [&'g mut [V]; POPULATIONS],
    target: &'n mut [&'g mut [V]; POPULATIONS],
    at: usize,
}

impl<V: Copy> Node<V> for There<'_, '_, V> {
    #[inline(always)]
    fn get(&self, population: usize) -> V {
        self.source[population][self.at]
    }

    #[inline(always)]
    fn put(&mut self, population: usize, value: V) {
        self.target[population][self.at] = value;
    }
}

#[inline(always)]
fn push_vectors<S: Simd, T: LaneReal, F: Forcing>(
    simd: S,
    coefficients: &Coefficients<T>,
    source: [&mut [T]; POPULATIONS],
    target: [&mut [T]; POPULATIONS],
    (beyond, kind): (Option<&Beyond<'_, T>>, Target),
) {
    let source = source.map(|row| T::vectors_mut(simd, row));
    let count = source[0].len();
    let mut source = source.map(|row| &mut row[..count]);
    let mut target = target.map(|row| &mut T::vectors_mut(simd, row)[..count]);
    for at in in_turn(count) {
        if kind != Target::Unfetched {
            source.iter().for_each(|row| fetch_ahead(row, at));
        }
        if kind == Target::InMemory {
            target.iter().for_each(|row| fetch_ahead(row, at));
        }
        if let Some(beyond) = beyond {
            beyond.put::<S>(simd, &mut source, at);
        }
        collide::<S, T, F>(simd, coefficients, &mut There { source: &source, target: &mut target, at });
    }
}
