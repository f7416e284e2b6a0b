//! Blocks between planes whose positions follow the work (`fix balance shift` of LAMMPS): `rect`
//! after balancing.
//!
//! The planes of one dimension are chosen with those of the others fixed, such that the heaviest
//! block becomes as light as possible; then the planes of the next dimension.
//!
//! Advantage: the neighbours are those of a grid. Disadvantage: planes extend through the whole
//! box, so a droplet in a corner cannot be divided evenly; [`super::Rcb`] can do that.

use super::form::Form;
use super::weights::CellLoads;
use super::{Ownership, Partition, piece_start};
use crate::grid::{Cell, CellGrid, GridError};
use crate::memory;
use std::sync::Arc;

/// Rounds over all dimensions.
const ROUNDS: usize = 4;
/// Number of bisections in the search for the weight of the heaviest block.
const HALVINGS: usize = 40;
/// Largest movement of a plane in one rebalancing, in per cent of the layers of cells (at least one
/// layer).
const PERCENT_AT_ONCE: usize = 5;

/// Blocks between planes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uneven {
    /// Per dimension: the first layer of cells of every block, and the number of layers.
    planes: [Arc<[usize]>; 3],
}

impl Uneven {
    /// Creates the blocks of an even grid, with this number of blocks per dimension.
    pub(super) fn even(blocks: [usize; 3], grid: &CellGrid) -> Self {
        let planes = |dim: usize| {
            let (layers, blocks) = (grid.counts()[dim] as usize, blocks[dim]);
            (0..=blocks).map(|block| piece_start(layers, blocks, block)).collect()
        };
        Self { planes: [0, 1, 2].map(planes) }
    }

    /// Creates the blocks from the [`Ownership::words`] that follow the form.
    pub(super) fn from_words(words: &[u64], grid: &CellGrid, ranks: usize) -> Option<Self> {
        let (blocks, mut rest) = words.split_first_chunk::<3>()?;
        let mut planes: [Arc<[usize]>; 3] = Default::default();
        let mut places = 1_usize;
        for dim in 0..3 {
            let count = usize::try_from(blocks[dim]).ok()?;
            let (own, others) = rest.split_at_checked(count.checked_add(1)?)?;
            let ends = own.first() == Some(&0) && own.last() == Some(&(grid.counts()[dim] as u64));
            if !ends || own.windows(2).any(|pair| pair[0] >= pair[1]) {
                return None;
            }
            places = places.checked_mul(count)?;
            planes[dim] = own.iter().map(|&plane| plane as usize).collect();
            rest = others;
        }
        (rest.is_empty() && places == ranks).then_some(Self { planes })
    }

    fn blocks(&self, dim: usize) -> usize {
        self.planes[dim].len() - 1
    }

    fn place(&self, dim: usize, layer: i32) -> usize {
        self.planes[dim].partition_point(|&first| first <= layer as usize) - 1
    }

    fn rank_at(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.blocks(1) + y) * self.blocks(0) + x
    }

    /// Returns blocks whose planes divide the work as evenly as planes can.
    fn optimised(&self, grid: &CellGrid, loads: &CellLoads) -> Self {
        let mut best = self.clone();
        for _ in 0..ROUNDS {
            let before = best.clone();
            for dim in (0..3).filter(|&dim| self.blocks(dim) > 1) {
                best.planes[dim] = best.best_planes(grid, loads, dim).into();
            }
            // Planes along a single dimension are optimal after one round.
            if best == before || [0, 1, 2].into_iter().filter(|&dim| self.blocks(dim) > 1).count() == 1 {
                break;
            }
        }
        best
    }

    /// Returns the best planes of one dimension.
    fn best_planes(&self, grid: &CellGrid, loads: &CellLoads, dim: usize) -> Vec<usize> {
        let (layers, blocks) = (grid.counts()[dim] as usize, self.blocks(dim));
        let columns = self.blocks((dim + 1) % 3) * self.blocks((dim + 2) % 3);
        // By layer: the work in each column of blocks.
        let mut work = vec![vec![0.0; columns]; layers];
        for (number, cell_work) in loads.work.iter().enumerate() {
            let cell = grid.at(number);
            let [b, c] = [1, 2].map(|next| self.place((dim + next) % 3, cell[(dim + next) % 3]));
            work[cell[dim] as usize][c * self.blocks((dim + 1) % 3) + b] += cell_work;
        }
        let total: f64 = work.iter().flatten().sum();
        let (mut low, mut high) = (0.0, total);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if fill(&work, blocks, middle).is_some() { high = middle } else { low = middle }
        }
        fill(&work, blocks, high).unwrap_or_else(|| self.planes[dim].to_vec())
    }

    /// Moves the planes towards those of `goal`, by the largest distance allowed in one
    /// rebalancing.
    fn towards(&self, goal: &Self) -> Self {
        let step = |dim: usize| {
            let layers = self.planes[dim].last().copied().unwrap_or(0);
            let most = (layers * PERCENT_AT_ONCE / 100).max(1);
            let pairs = self.planes[dim].iter().zip(&*goal.planes[dim]);
            pairs.map(|(&now, &goal)| goal.clamp(now.saturating_sub(most), now + most)).collect()
        };
        Self { planes: [0, 1, 2].map(step) }
    }
}

/// Returns planes between which no block has more work than `most` and each has at least one layer,
/// if there are such planes.
fn fill(work: &[Vec<f64>], blocks: usize, most: f64) -> Option<Vec<usize>> {
    let mut planes = vec![0];
    let mut sums = vec![0.0; work.first()?.len()];
    for (layer, columns) in work.iter().enumerate() {
        let fits = sums.iter().zip(columns).all(|(sum, more)| sum + more <= most);
        let is_empty = planes.last() == Some(&layer);
        // Each of the following blocks needs at least one layer.
        let is_needed = work.len() - layer <= blocks - planes.len();
        if !is_empty && (!fits || is_needed) {
            planes.push(layer);
            sums.fill(0.0);
        }
        sums.iter_mut().zip(columns).for_each(|(sum, more)| *sum += more);
        if planes.len() > blocks || sums.iter().any(|&sum| sum > most) {
            return None;
        }
    }
    planes.push(work.len());
    (planes.len() == blocks + 1).then_some(planes)
}

impl Ownership for Uneven {
    fn owner(&self, _: &CellGrid, cell: Cell) -> usize {
        self.rank_at([0, 1, 2].map(|dim| self.place(dim, cell[dim])))
    }

    fn cells_of(&self, _: &CellGrid, rank: usize) -> Vec<Cell> {
        let (nx, ny) = (self.blocks(0), self.blocks(1));
        let place = [rank % nx, rank / nx % ny, rank / (nx * ny)];
        let range = |dim: usize| {
            let planes = &self.planes[dim];
            planes[place[dim]] as i32..planes[place[dim] + 1] as i32
        };
        let rows = range(2).flat_map(|z| range(1).map(move |y| (y, z)));
        rows.flat_map(|(y, z)| range(0).map(move |x| [x, y, z])).collect()
    }

    fn owners(&self, grid: &CellGrid) -> Vec<usize> {
        let places = |dim: usize| (0..grid.counts()[dim]).map(|layer| self.place(dim, layer)).collect();
        let [along_x, along_y, along_z]: [Vec<usize>; 3] = [0, 1, 2].map(places);
        let mut owners = memory::with_capacity(grid.len());
        for z in along_z {
            for &y in &along_y {
                owners.extend(along_x.iter().map(|&x| self.rank_at([x, y, z])));
            }
        }
        owners
    }

    fn rank_grid(&self) -> Option<[usize; 3]> {
        Some([0, 1, 2].map(|dim| self.blocks(dim)))
    }

    fn rebalanced(&self, grid: &CellGrid, loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        loads.check()?;
        let goal = self.optimised(grid, loads);
        Ok(vec![Arc::new(self.towards(&goal)), Arc::new(goal)])
    }

    fn words(&self, _: &CellGrid) -> Vec<u64> {
        let blocks = [0, 1, 2].map(|dim| self.blocks(dim));
        Form::Planes
            .with(blocks.iter().chain(self.planes.iter().flat_map(|planes| &**planes)).map(|&it| it as u64))
    }
}
