//! Cells without linked lists: particles are kept sorted by cell, so a cell is a range of indices.
//!
//! ```text
//! local cell c holds the particles first[c] .. end[c]
//! ```
//!
//! Owned cells are contiguous and in storage order, so a row of cells along x is one block of
//! memory. Inside a cell, particles are sorted along a space-filling curve that begins where the
//! curve of the preceding cell along x ends, so consecutive particles are close to each other.
//! Ghost cells follow in the plan's order.
//!
//! Advantage: no list and no gather; every load is contiguous. Disadvantage: the order holds only
//! at a rebuild. Between rebuilds, particles move out of their cells by up to half the skin, which
//! is included in the length of the cells.

use crate::aligned::{Place, Storage};
use crate::curve::Curve;
use crate::fields::OnGhosts;
use crate::grid::{Cell, CellGrid};
use crate::memory;
use crate::particles::Particles;
use crate::prediction::{Prediction, places};
use crate::threads::Threads;
use std::ops::Range;

/// The particle ranges of the local cells.
///
/// ```
/// use md_core::lattice::{Lattice, LatticeKind};
/// use md_core::partition::Rect;
/// use md_core::{Boundary, CellGrid, Dimension, Domain, ExchangePattern, HaloPlan, LocalCells};
/// use md_core::{Particle, Particles, Partition, Shell, Threads};
/// use std::sync::Arc;
///
/// // Six unit cells of a simple cubic lattice along each side, and three cells of the grid: eight
/// // particles in each.
/// let lattice = Lattice::new(LatticeKind::Sc, 1.5, [6; 3]);
/// let (lengths, boundary) = (lattice.lengths(), [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin: [0.0; 3], lengths, boundary };
/// let grid = CellGrid::new(domain, [3; 3]);
/// let partition: Partition = Arc::new(Rect { grid: [1; 3] });
/// let offsets = Shell::Half.offsets(Dimension::Three);
/// let plan = HaloPlan::new(&grid, &partition, &offsets, ExchangePattern::Direct, 0);
///
/// let particle = |(id, position)| Particle { id, position, ..Particle::default() };
/// let mut particles: Particles = lattice.sites().map(particle).collect();
/// let mut cells = LocalCells::default();
/// cells.sort(&mut particles, &grid, &plan, &Threads::one());
/// assert!((0..plan.owned.len()).all(|cell| cells.count(cell) == 8));
/// ```
#[derive(Debug, Clone)]
pub struct LocalCells {
    first: Vec<u32>,
    end: Vec<u32>,
    order: Vec<u32>,
    /// Bin of every particle, numbered over all cells.
    keys: Vec<u32>,
    /// Index of the next particle of each bin.
    places: Vec<u32>,
    /// Scratch columns, which swap storage with the particles' columns one by one. Columns without
    /// ghosts have a separate one, so that a column that needs room for ghosts does not get their
    /// shorter storage.
    scratch: Storage,
    owned_scratch: Storage,
}

impl Default for LocalCells {
    fn default() -> Self {
        let (first, end, order, keys, places) = Default::default();
        let (scratch, owned_scratch) = (Storage::at(Place::Scratch), Storage::at(Place::OwnedScratch));
        Self { first, end, order, keys, places, scratch, owned_scratch }
    }
}

impl LocalCells {
    /// Returns the particles of a local cell.
    #[inline]
    pub fn range(&self, cell: usize) -> Range<usize> {
        self.first[cell] as usize..self.end[cell] as usize
    }

    /// Returns the particles of consecutive local cells, which must be all owned or all ghosts;
    /// there must be at least one cell.
    #[inline]
    pub(crate) fn run(&self, cells: &Range<u32>) -> Range<u32> {
        self.first[cells.start as usize]..self.end[cells.end as usize - 1]
    }

    /// Returns the index of the first particle of a local cell, or `None` if there is no such cell.
    pub(crate) fn start(&self, cell: usize) -> Option<usize> {
        self.first.get(cell).map(|&first| first as usize)
    }

    /// Returns the local cell that contains a particle or ghost.
    pub(crate) fn cell_with(&self, particle: usize) -> usize {
        // If several cells start at this index, the last one is the one that is not empty.
        self.first.partition_point(|&first| first as usize <= particle).saturating_sub(1)
    }

    /// Returns the number of particles in a local cell.
    pub fn count(&self, cell: usize) -> usize {
        self.range(cell).len()
    }

    /// Sorts the owned particles by cell and, inside a cell, along a curve. All of them must lie in
    /// the `cells` cells of this rank, which `local_cell` numbers.
    pub(crate) fn sort_by_cell(
        &mut self,
        particles: &mut Particles,
        grid: &CellGrid,
        cells: usize,
        local_cell: impl Fn(Cell) -> u32 + Sync,
        prediction: Prediction,
        threads: &Threads,
    ) {
        let owned = particles.owned();
        let curve = Curve::for_particles(owned / cells.max(1));
        let bins = curve.parts();
        memory::resize(&mut self.keys, owned, 0);
        let position = particles.position.each_ref().map(|column| &column[..owned]);
        let velocity = particles.velocity.each_ref().map(|column| &column[..owned]);
        threads.each((&mut self.keys[..], (position, velocity)), |(keys, (position, velocity))| {
            let places = places(prediction, position, velocity);
            find_keys(keys, places, grid, &local_cell, curve);
        });
        self.lay_out(cells, bins);
        self.find_order(owned);
        let Self { order, scratch, owned_scratch, .. } = self;
        for field in particles.all() {
            let is_absent = particles.spec(field).on_ghosts == OnGhosts::Absent;
            let scratch = if is_absent { &mut *owned_scratch } else { &mut *scratch };
            if particles.moves(field) {
                let columns = particles.columns_mut(field).iter_mut();
                columns.for_each(|column| permute(order, column, scratch, threads));
            }
        }
        particles.set_ghosts(0);
    }

    /// Makes room for the current number of particles and ghosts. The next sort gives this storage
    /// to the columns, which then get ghosts.
    pub fn make_room(&mut self, particles: &Particles) {
        self.scratch.set_len(particles.len());
    }

    /// Counts the particles of each bin and computes the start of bins and cells.
    fn lay_out(&mut self, cells: usize, bins: usize) {
        self.places.clear();
        memory::resize(&mut self.places, cells * bins, 0);
        for &key in &self.keys {
            self.places[key as usize] += 1;
        }
        for bounds in [&mut self.first, &mut self.end] {
            bounds.clear();
            memory::reserve(bounds, cells);
        }
        let mut next = 0;
        for cell in self.places.chunks_exact_mut(bins) {
            self.first.push(next);
            for place in cell {
                let count = std::mem::replace(place, next);
                next += count;
            }
            self.end.push(next);
        }
    }

    fn find_order(&mut self, owned: usize) {
        memory::resize(&mut self.order, owned, 0);
        for (particle, &key) in self.keys.iter().enumerate() {
            let place = &mut self.places[key as usize];
            self.order[*place as usize] = particle as u32;
            *place += 1;
        }
    }

    /// Drops all but the first cells, which are the owned ones.
    pub(crate) fn keep_owned(&mut self, cells: usize) {
        self.first.truncate(cells);
        self.end.truncate(cells);
    }

    /// Appends the next ghost cell, which starts at index `first`.
    pub fn push_ghost_cell(&mut self, first: usize, count: usize) {
        self.first.push(first as u32);
        self.end.push((first + count) as u32);
    }
}

/// Computes the bin of each particle, numbered over all cells.
fn find_keys(
    keys: &mut [u32],
    places: impl Iterator<Item = [f64; 3]>,
    grid: &CellGrid,
    local_cell: impl Fn(Cell) -> u32,
    curve: &Curve,
) {
    let bins = curve.parts() as u32;
    for (key, place) in keys.iter_mut().zip(places) {
        // A particle of another rank cannot occur here: migration has sent it away or reported it
        // as lost.
        let cell = grid.cell_of(place);
        *key = local_cell(cell) * bins + curve.part(grid.depth_in_cell(place, cell));
    }
}

/// Reorders the elements of a column.
fn permute(order: &[u32], column: &mut Storage, scratch: &mut Storage, threads: &Threads) {
    scratch.set_len(order.len());
    let from = &column[..];
    threads.each((&mut scratch[..], order), |(to, order)| {
        for (to, &index) in to.iter_mut().zip(order) {
            *to = from[index as usize];
        }
    });
    std::mem::swap(column, scratch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shell;
    use crate::domain::{Boundary, Dimension, Domain};
    use crate::halo::ExchangePattern;
    use crate::halo::HaloPlan;
    use crate::particles::Particle;
    use crate::partition::{Partition, Rect};
    use crate::random;
    use std::sync::Arc;

    const CELLS: i32 = 4;

    /// Returns a box of cells of length 1 with `count` particles.
    fn sorted(count: u64) -> (CellGrid, HaloPlan, Particles, LocalCells) {
        let domain = Domain {
            dimension: Dimension::Three,
            origin: [0.0; 3],
            lengths: [f64::from(CELLS); 3],
            boundary: [Boundary::Periodic; 3],
        };
        let grid = CellGrid::new(domain, [CELLS; 3]);
        let whole: Partition = Arc::new(Rect { grid: [1; 3] });
        let plan =
            HaloPlan::new(&grid, &whole, &Shell::Half.offsets(Dimension::Three), ExchangePattern::Direct, 0);
        let place = |id| random::normal_vector(7, id).map(|x| x.rem_euclid(f64::from(CELLS)));
        let particle = |id| Particle { id, species: 0, position: place(id), ..Particle::default() };
        let (mut particles, mut cells): (Particles, _) =
            ((0..count).map(particle).collect(), LocalCells::default());
        cells.sort(&mut particles, &grid, &plan, &Threads::one());
        (grid, plan, particles, cells)
    }

    #[test]
    fn particles_lie_in_the_order_of_cells_and_of_the_curve() {
        for count in [100, 640, 5000] {
            let (grid, plan, particles, cells) = sorted(count);
            let curve = Curve::for_particles(particles.owned() / plan.owned.len());
            let mut found = 0;
            for local in 0..plan.owned.len() {
                let positions = cells.range(local).map(|index| particles.get(index).position);
                let parts: Vec<u32> = positions
                    .map(|position| {
                        assert_eq!(plan.local_cell(grid.cell_of(position)), Some(local as u32));
                        curve.part(grid.depth_in_cell(position, grid.cell_of(position)))
                    })
                    .collect();
                assert!(parts.is_sorted(), "{count} particles, cell {local}: {parts:?}");
                found += parts.len();
            }
            assert_eq!(found, particles.owned());
        }
    }
}
