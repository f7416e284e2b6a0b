//! Loops over nodes: collide and stream in one pass over memory.
//!
//! There are two patterns. `f[i]` are the populations of a node, `n` is its place in a component,
//! and `shift[i]` is the distance to the neighbour that population `i` moves to.
//!
//! ```text
//! two grids      push           target[i][n + shift[i]]    = collided(source[i][n])[i]
//! single grid    local step     grid[-i][n]                = collided(grid[i][n])[i]
//!                shifted step   grid[i][n + shift[i]]      = collided(grid[-i][n + shift[-i]])[i]
//! ```
//!
//! The single grid uses Bailey's AA pattern (2009): a node writes exactly the places it reads, its
//! own in the first step, and one in each neighbour in the second. Between the steps, each
//! population is stored in the place of its opposite. Both steps use one kernel: the shifted step
//! exchanges every direction with its opposite, which makes it the local step on components shifted
//! by a node, with the body force mirrored.
//!
//! No place is accessed by the nodes of two rows, and rows in ascending order access ascending
//! places of each component. The components are therefore divided between threads at the (shifted)
//! starts of rows, and the bits do not depend on the number of threads.

mod beyond;
mod push;

use std::ops::Range;

use md_core::Threads;
use md_core::simd::{Simd, SimdLevel};
use pulp::WithSimd;

use super::collision::{Coefficients, Forced, Forcing, Node, Unforced, collide};
use super::d3q19::{POPULATIONS, VELOCITIES, opposite};
use super::lanes::{LaneReal, Lanes, fetch_ahead};
use super::rows::Rows;
use super::stores::Stores;
use beyond::{Beyond, in_turn};
use push::Push;

/// Number of lanes of the widest vector: 16 of 4 bytes.
const MOST_LANES: usize = 16;

/// Contiguous fluid nodes along z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Place of the first node in a component.
    pub start: usize,
    /// Number of nodes.
    pub length: usize,
}

/// One component, or a thread's part of it, addressed by nodes.
struct Part<'g, T> {
    values: &'g mut [T],
    /// Distance from a node's place in the whole component to the place of its value in `values`.
    shift: isize,
}

impl<'g, T> Part<'g, T> {
    #[inline(always)]
    fn place(&self, node: usize) -> usize {
        node.wrapping_add_signed(self.shift)
    }

    #[inline(always)]
    fn run(&mut self, run: Run) -> &mut [T] {
        let start = self.place(run.start);
        &mut self.values[start..][..run.length]
    }

    /// Returns the value before a run, the run, and the value after it.
    #[inline(always)]
    fn around(&mut self, run: Run) -> (&T, &mut [T], &T) {
        let start = self.place(run.start);
        let (before, from) = self.values.split_at_mut(start);
        let (row, behind) = from.split_at_mut(run.length);
        (&before[start - 1], row, &behind[0])
    }

    /// Splits into the part accessed by nodes before this one, and the rest.
    fn split_at(self, node: usize) -> (Self, Self) {
        let middle = self.place(node).min(self.values.len());
        let (before, after) = self.values.split_at_mut(middle);
        let shift = self.shift - middle as isize;
        (Self { values: before, shift: self.shift }, Self { values: after, shift })
    }
}

/// All components of a grid, or of a thread's part of it.
struct GridParts<'g, T>([Part<'g, T>; POPULATIONS]);

impl<'g, T> GridParts<'g, T> {
    fn split_at(self, node: usize) -> (Self, Self) {
        let halves = self.0.map(|part| part.split_at(node));
        let mut second = Vec::with_capacity(POPULATIONS);
        let first = halves.map(|(before, after)| {
            second.push(after);
            before
        });
        let mut second = second.into_iter();
        // The iterator has exactly this number of parts.
        let second = std::array::from_fn(|_| second.next().unwrap_or(Part { values: &mut [], shift: 0 }));
        (Self(first), Self(second))
    }
}

/// Runs of a sweep, and the location of values that belong to joined ends of their rows.
#[derive(Clone, Copy)]
struct Runs<'g> {
    all: &'g [Run],
    rows: Rows,
    /// Velocity along z of the populations that the first node of a row takes from the other end;
    /// the last node takes the opposite ones.
    below: i8,
}

impl<T: LaneReal> GridParts<'_, T> {
    /// Returns the nodes of a run. Values that belong to joined ends of its row are copied there,
    /// or, if the run consists of whole vectors, returned separately.
    #[inline(always)]
    fn run<S: Simd>(&mut self, runs: Runs<'_>, run: Run) -> (Components<'_, T>, Option<Beyond<'_, T>>) {
        let ends = runs.rows.joined(run);
        if !(ends.below && ends.above && run.length.is_multiple_of(lanes::<S, T>())) {
            self.join_ends(runs, run);
            return (self.0.each_mut().map(|part| part.run(run)), None);
        }
        let around = self.0.each_mut().map(|part| part.around(run));
        let values = around.each_ref().map(|(low, _, high)| [*low, *high]);
        (around.map(|(_, row, _)| row), Some(Beyond { values, below: runs.below }))
    }

    /// Copies values that belong to joined ends of a run's row to their places.
    #[inline(always)]
    fn join_ends(&mut self, Runs { rows, below, .. }: Runs<'_>, run: Run) {
        let ends = rows.joined(run);
        for (population, part) in self.0.iter_mut().enumerate() {
            let first = part.place(run.start);
            let last = first + run.length - 1;
            match VELOCITIES[population][2] * below {
                1 if ends.below => part.values[first] = part.values[first + rows.length()],
                -1 if ends.above => part.values[last] = part.values[last - rows.length()],
                _ => {}
            }
        }
    }
}

/// Populations of a sweep as slices, one per component.
pub(super) type Components<'g, T> = [&'g mut [T]; POPULATIONS];

/// Source and target of a sweep.
#[expect(clippy::large_enum_variant, reason = "made once per sweep, of references")]
pub enum Pass<'g, T> {
    /// From one grid into the neighbours' places of another.
    Push {
        /// Populations to read, except those beyond joined ends of rows.
        source: Components<'g, T>,
        /// Way in which the target is written.
        stores: Stores,
        /// Whole components to write.
        target: Components<'g, T>,
    },
    /// In place.
    Local(Components<'g, T>),
    /// In place, in the neighbours.
    Shifted(Components<'g, T>),
}

/// Parameters that are constant between sweeps.
#[derive(Debug, Clone)]
pub struct Sweeper<T> {
    coefficients: Coefficients<T>,
    mirrored: Coefficients<T>,
    is_forced: bool,
    shifts: [isize; POPULATIONS],
    rows: Rows,
    level: SimdLevel,
    threads: Threads,
}

impl<T: LaneReal> Sweeper<T> {
    /// `of_force` returns the constants of the collision for a body force.
    pub(super) fn new(
        of_force: impl Fn([f64; 3]) -> Coefficients<T>,
        force: [f64; 3],
        shifts: [isize; POPULATIONS],
        rows: Rows,
        level: SimdLevel,
        threads: Threads,
    ) -> Self {
        let mirrored = of_force(force.map(|component| -component));
        let is_forced = force != [0.0; 3];
        Self { coefficients: of_force(force), mirrored, is_forced, shifts, rows, level, threads }
    }

    /// Advances the nodes of `runs`, in ascending order, by one time step.
    pub(super) fn sweep(&self, pass: Pass<'_, T>, runs: &[Run]) {
        T::sweep(self, pass, runs);
    }

    /// Implements [`LaneReal::sweep`].
    pub(super) fn sweep_here(&self, pass: Pass<'_, T>, runs: &[Run]) {
        let stay = [0; POPULATIONS];
        let runs = |below: i8| Runs { all: runs, rows: self.rows, below };
        match pass {
            Pass::Push { source, stores, target } => {
                let target = Some((parts(target, self.shifts), stores));
                self.divide(&self.coefficients, Share { runs: runs(1), parts: parts(source, stay), target });
            }
            Pass::Local(grid) => {
                let share = Share { runs: runs(1), parts: parts(grid, stay), target: None };
                self.divide(&self.coefficients, share);
            }
            Pass::Shifted(grid) => {
                let share = Share { runs: runs(-1), parts: parts(grid, self.shifts), target: None };
                self.divide(&self.mirrored, share);
            }
        }
    }

    fn divide(&self, coefficients: &Coefficients<T>, share: Share<'_, T>) {
        self.threads.divide(
            share,
            Share::split,
            |share, _| {
                if self.is_forced {
                    self.run::<Forced>(coefficients, share);
                } else {
                    self.run::<Unforced>(coefficients, share);
                }
            },
            |(), ()| (),
        );
    }

    fn run<F: Forcing>(&self, coefficients: &Coefficients<T>, share: Share<'_, T>) {
        let Share { runs, parts, target } = share;
        let forcing = std::marker::PhantomData::<F>;
        match target {
            Some((target, stores)) => {
                self.level.dispatch(Push { coefficients, source: parts, target, stores, runs, forcing });
            }
            None => self.level.dispatch(InPlace { coefficients, parts, runs, forcing }),
        }
    }
}

fn parts<T>(components: Components<'_, T>, shifts: [isize; POPULATIONS]) -> GridParts<'_, T> {
    let mut shifts = shifts.into_iter();
    GridParts(components.map(|values| Part { values, shift: shifts.next().unwrap_or(0) }))
}

/// A thread's part of a sweep.
struct Share<'g, T> {
    runs: Runs<'g>,
    /// Parts to read.
    parts: GridParts<'g, T>,
    /// Parts to write, if they are of another grid.
    target: Option<(GridParts<'g, T>, Stores)>,
}

impl<T: LaneReal> Share<'_, T> {
    /// Splits between two rows, before the ghost at the start of the second one.
    fn split(self, shares: Range<usize>, middle: usize) -> (Self, Self) {
        let Self { runs: Runs { all, rows, below }, parts, target } = self;
        let row = |run: &Run| rows.around(run.start);
        let mut cut = all.len() * (middle - shares.start) / shares.len();
        while (1..all.len()).contains(&cut) && row(&all[cut - 1]) == row(&all[cut]) {
            cut += 1;
        }
        let (before, after) = all.split_at(cut);
        let start = match (before.last(), after.first()) {
            (_, Some(first)) => row(first)[0],
            (Some(last), None) => row(last)[1],
            (None, None) => 1,
        };
        let (first, second) = parts.split_at(start - 1);
        let targets = target.map(|(parts, stores)| {
            let (first, second) = parts.split_at(start - 1);
            ((first, stores), (second, stores))
        });
        let (first_target, second_target) = targets.unzip();
        let share = |all, parts, target| Self { runs: Runs { all, rows, below }, parts, target };
        (share(before, first, first_target), share(after, second, second_target))
    }
}

struct InPlace<'g, T, F> {
    coefficients: &'g Coefficients<T>,
    parts: GridParts<'g, T>,
    runs: Runs<'g>,
    forcing: std::marker::PhantomData<F>,
}

impl<T: LaneReal, F: Forcing> WithSimd for InPlace<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { coefficients, mut parts, runs, .. } = self;
        let mut copies = Block::default();
        for &run in runs.all {
            let (mut grid, beyond) = parts.run::<S>(runs, run);
            for nodes in whole_and_rest::<S, T>(run) {
                let rows = grid.each_mut().map(|row| &mut row[nodes.clone()]);
                let is_whole = nodes.len() == whole_vectors::<S, T>(nodes.len());
                let vectors = if is_whole { rows } else { copies.filled_up::<S>(rows.map(|row| &*row)) };
                in_place_vectors::<S, T, F>(simd, coefficients, vectors, beyond.as_ref());
                if !is_whole {
                    for (row, copy) in grid.iter_mut().zip(&copies.0) {
                        row[nodes.clone()].copy_from_slice(&copy[..nodes.len()]);
                    }
                }
            }
        }
    }
}

/// Nodes of a vector whose populations are written to the places from which their opposites were
/// read.
struct InPlaceNodes<'n, 'g, V> {
    grid: &'n mut [&'g mut [V]; POPULATIONS],
    at: usize,
}

impl<V: Copy> Node<V> for InPlaceNodes<'_, '_, V> {
    #[inline(always)]
    fn get(&self, population: usize) -> V {
        self.grid[population][self.at]
    }

    #[inline(always)]
    fn put(&mut self, population: usize, value: V) {
        self.grid[opposite(population)][self.at] = value;
    }
}

#[inline(always)]
fn in_place_vectors<S: Simd, T: LaneReal, F: Forcing>(
    simd: S,
    coefficients: &Coefficients<T>,
    grid: [&mut [T]; POPULATIONS],
    beyond: Option<&Beyond<'_, T>>,
) {
    let grid = grid.map(|row| T::vectors_mut(simd, row));
    let count = grid[0].len();
    let mut grid = grid.map(|row| &mut row[..count]);
    for at in in_turn(count) {
        grid.iter().for_each(|row| fetch_ahead(row, at));
        if let Some(beyond) = beyond {
            beyond.put::<S>(simd, &mut grid, at);
        }
        collide::<S, T, F>(simd, coefficients, &mut InPlaceNodes { grid: &mut grid, at });
    }
}

fn lanes<S: Simd, T: LaneReal>() -> usize {
    size_of::<Lanes<S, T>>() / size_of::<T>()
}

/// Returns the number of values in the whole vectors that hold `nodes` nodes.
fn whole_vectors<S: Simd, T: LaneReal>(nodes: usize) -> usize {
    nodes.next_multiple_of(lanes::<S, T>())
}

/// Returns the nodes of a run that fill whole vectors, and the remaining ones, without empty
/// ranges.
#[inline(always)]
fn whole_and_rest<S: Simd, T: LaneReal>(run: Run) -> impl Iterator<Item = Range<usize>> + use<S, T> {
    let whole = run.length - run.length % lanes::<S, T>();
    [0..whole, whole..run.length].into_iter().filter(|nodes| !nodes.is_empty())
}

/// Populations of some nodes, with rows aligned to cache lines.
#[repr(align(64))]
struct Block<T>([[T; MOST_LANES]; POPULATIONS]);

impl<T: LaneReal> Default for Block<T> {
    fn default() -> Self {
        Self([[T::ZERO; MOST_LANES]; POPULATIONS])
    }
}

impl<T: LaneReal> Block<T> {
    /// Returns the rows of the first `count` nodes.
    #[inline(always)]
    fn rows(&mut self, count: usize) -> [&mut [T]; POPULATIONS] {
        self.0.each_mut().map(|row| &mut row[..count])
    }

    /// Copies rows no longer than a block, filled up to whole vectors with a fluid at rest.
    #[inline(always)]
    fn filled_up<S: Simd>(&mut self, rows: [&[T]; POPULATIONS]) -> [&mut [T]; POPULATIONS] {
        let (count, width) = (rows[0].len(), whole_vectors::<S, T>(rows[0].len()));
        for (copy, row) in self.0.iter_mut().zip(rows) {
            copy[..count].copy_from_slice(row);
            copy[count..width].fill(T::ZERO);
        }
        self.rows(width)
    }
}
