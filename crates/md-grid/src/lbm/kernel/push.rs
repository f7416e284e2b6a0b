//! From one grid into the neighbours' places of another.
//!
//! What a store into the caches writes is read from memory before. A grid that does not stay there is better written past them, whole
//! cache lines at a time: so collided populations are first gathered in a block that the first-level cache holds. Components
//! start such that the places that a row's populations move to start a line (`Flow`).

use md_core::simd::Simd;
use pulp::WithSimd;

use super::{MOST_LANES, Parts, Run, lanes, padded};
use crate::lbm::collision::{Coefficients, Forcing, collide};
use crate::lbm::d3q19::{POPULATIONS, VELOCITIES};
use crate::lbm::lanes::{LaneReal, fetch_ahead, fetch_value};
use crate::lbm::rows::{JoinedEnds, Rows};

/// The grid that a push reads, and how it writes the other one.
#[derive(Debug, Clone, Copy)]
pub struct Source<'g, T> {
    /// All of every component.
    pub components: [&'g [T]; POPULATIONS],
    /// Of the other grid.
    pub stores: Stores,
}

impl<T: LaneReal> Source<'_, T> {
    /// At most [`MOST_LANES`] nodes, with what belongs to joined ends of their row in its place.
    #[inline(always)]
    fn with_ends(&self, rows: Rows, piece: Run) -> [[T; MOST_LANES]; POPULATIONS] {
        let Run { start, length } = piece;
        let mut values = self.components.map(|component| padded(&component[start..][..length]));
        let ends = rows.joined(piece);
        for (population, values) in values.iter_mut().enumerate() {
            let component = self.components[population];
            match VELOCITIES[population][2] {
                1 if ends.below => values[0] = component[start + rows.length()],
                -1 if ends.above => values[length - 1] = component[start + length - 1 - rows.length()],
                _ => {}
            }
        }
        values
    }

    /// Has that fetched which [`Self::with_ends`] will read first.
    #[inline(always)]
    fn fetch_end(&self, rows: Rows, next: Option<&Run>) {
        let Some(&run) = next.filter(|&&run| rows.joined(run).below) else { return };
        let moved = self.components.iter().zip(VELOCITIES).filter(|(_, velocity)| velocity[2] == 1);
        moved.for_each(|(component, _)| fetch_value(component, run.start + rows.length()));
    }
}

/// How populations are written that a sweep does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// Into the caches, which read the line before.
    Ordinary,
    /// Past the caches: for grids that do not fit there.
    PastCaches,
}

impl Stores {
    /// Of grids that have so many bytes together.
    pub(in crate::lbm) fn of(bytes: usize) -> Self {
        if cfg!(feature = "mpi") && bytes > BEYOND_CACHES { Self::PastCaches } else { Self::Ordinary }
    }
}

/// What is stored past the caches: two grids of 64 x 64 x 64 nodes take the same time either way, smaller ones less in the caches.
const BEYOND_CACHES: usize = 80 << 20;

pub(super) struct Push<'g, T, F> {
    pub coefficients: &'g Coefficients<T>,
    pub source: Source<'g, T>,
    pub parts: Parts<'g, T>,
    pub runs: &'g [Run],
    pub rows: Rows,
    pub forcing: std::marker::PhantomData<F>,
}

impl<T: LaneReal, F: Forcing> WithSimd for Push<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.source.stores {
            Stores::Ordinary => self.into_caches(simd),
            Stores::PastCaches => self.past_caches(simd),
        }
    }
}

impl<T: LaneReal, F: Forcing> Push<'_, T, F> {
    #[inline(always)]
    fn into_caches<S: Simd>(self, simd: S) {
        let Self { coefficients, source, mut parts, runs, rows, .. } = self;
        let mut block = Block::default();
        for (number, &run) in runs.iter().enumerate() {
            source.fetch_end(rows, runs.get(number + 1));
            let [first, middle, last] = pieces(run, rows.joined(run), lanes::<S, T>());
            let direct = source.components.map(|component| &component[middle.start..][..middle.length]);
            let mut target = parts.0.each_mut().map(|part| part.run(middle));
            let target = target.each_mut().map(|row| &mut **row);
            push_vectors::<S, T, F>(simd, coefficients, direct, target, Target::InMemory);
            for piece in [first, last].into_iter().filter(|piece| piece.length > 0) {
                let values = source.with_ends(rows, piece);
                let values = values.each_ref().map(|row| &row[..piece.length]);
                block.fill::<S, F>(simd, coefficients, values);
                for (part, block) in parts.0.iter_mut().zip(&block.0) {
                    part.run(piece).copy_from_slice(&block[..piece.length]);
                }
            }
        }
    }

    /// Without MPI, no crate of this project has unsafe code, which such stores need.
    #[cfg(not(feature = "mpi"))]
    #[inline(always)]
    fn past_caches<S: Simd>(self, simd: S) {
        self.into_caches(simd);
    }

    #[cfg(feature = "mpi")]
    #[inline(always)]
    fn past_caches<S: Simd>(self, simd: S) {
        let Self { coefficients, source, parts, runs, rows, .. } = self;
        let shifts = parts.0.each_ref().map(|part| part.shift);
        let columns = parts.0.map(|part| part.values);
        let mut block = Block::default();
        md_comm::mpi::write_past_caches(
            columns,
            #[inline(always)]
            |columns| {
                for (number, &run) in runs.iter().enumerate() {
                    source.fetch_end(rows, runs.get(number + 1));
                    let joined = rows.joined(run);
                    for at in (0..run.length).step_by(MOST_LANES) {
                        let count = MOST_LANES.min(run.length - at);
                        let piece = Run { start: run.start + at, length: count };
                        // Looked at once per run: finding out where a piece lies in its row takes two divisions.
                        if (joined.below && at == 0) || (joined.above && at + count == run.length) {
                            let values = source.with_ends(rows, piece);
                            let values = values.each_ref().map(|row| &row[..count]);
                            block.fill::<S, F>(simd, coefficients, values);
                        } else {
                            let values = source.components.map(|one| &one[piece.start..][..count]);
                            block.fill::<S, F>(simd, coefficients, values);
                        }
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

/// A run as what is computed in a block, because an end of its row is joined; whole vectors; and what is left for a block.
#[inline(always)]
fn pieces(run: Run, joined: JoinedEnds, width: usize) -> [Run; 3] {
    let Run { start, length } = run;
    let first = if joined.below { MOST_LANES.min(length) } else { 0 };
    let last = match joined.above {
        true => first.max((length - 1) / MOST_LANES * MOST_LANES),
        false => first + (length - first) / width * width,
    };
    [0..first, first..last, last..length].map(|piece| Run { start: start + piece.start, length: piece.len() })
}

/// Collided populations of some nodes, rows on cache lines.
#[repr(align(64))]
struct Block<T>([[T; MOST_LANES]; POPULATIONS]);

impl<T: LaneReal> Default for Block<T> {
    fn default() -> Self {
        Self([[T::ZERO; MOST_LANES]; POPULATIONS])
    }
}

impl<T: LaneReal> Block<T> {
    /// From so many nodes as the rows have, at most as many as there is room for.
    #[inline(always)]
    fn fill<S: Simd, F: Forcing>(
        &mut self,
        simd: S,
        coefficients: &Coefficients<T>,
        source: [&[T]; POPULATIONS],
    ) {
        let count = source[0].len();
        let width = count.next_multiple_of(lanes::<S, T>());
        let target = self.0.each_mut().map(|row| &mut row[..width]);
        if count == width {
            push_vectors::<S, T, F>(simd, coefficients, source, target, Target::InBlock);
        } else {
            let padded = source.map(padded);
            let rows = padded.each_ref().map(|row| &row[..width]);
            push_vectors::<S, T, F>(simd, coefficients, rows, target, Target::InBlock);
        }
    }
}

/// Where populations are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Where they are to be: far lines are fetched.
    InMemory,
    /// In a [`Block`].
    InBlock,
}

#[inline(always)]
fn push_vectors<S: Simd, T: LaneReal, F: Forcing>(
    simd: S,
    coefficients: &Coefficients<T>,
    source: [&[T]; POPULATIONS],
    target: [&mut [T]; POPULATIONS],
    kind: Target,
) {
    let source = source.map(|row| T::vectors(simd, row));
    let count = source[0].len();
    let source = source.map(|row| &row[..count]);
    let target = target.map(|row| &mut T::vectors_mut(simd, row)[..count]);
    for at in 0..count {
        source.iter().for_each(|row| fetch_ahead(row, at));
        if kind == Target::InMemory {
            target.iter().for_each(|row| fetch_ahead(row, at));
        }
        let after = collide::<S, T, F>(simd, coefficients, source.map(|row| row[at]));
        for population in 0..POPULATIONS {
            target[population][at] = after[population];
        }
    }
}
