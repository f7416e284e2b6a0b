//! The cost of cells: the weights used by the weighted partitions and for judging any division.

use super::Ownership;
use crate::grid::{CellGrid, GridError, add};
use crate::memory;
use crate::shell::Shell;
use crate::words::counted;

/// Work of a particle without partners (integration and sorting), in units of computed pairs.
pub const PARTICLE_WORK: f64 = 1.0;

/// Particles and work of every cell of a grid, indexed by [`CellGrid::linear`].
#[derive(Debug, Clone, PartialEq)]
pub struct CellLoads {
    /// Number of particles.
    pub particles: Vec<f64>,
    /// Work, in units of computed pairs.
    pub work: Vec<f64>,
}

impl CellLoads {
    /// Creates the loads of identical cells.
    pub fn uniform(grid: &CellGrid) -> Self {
        let mut ones = Vec::new();
        memory::resize(&mut ones, grid.len(), 1.0);
        let mut work = memory::with_capacity(grid.len());
        work.extend_from_slice(&ones);
        Self { particles: ones, work }
    }

    /// Creates the loads for the number of particles in each cell: the pairs of particles in
    /// adjacent cells that the shell assigns to the owner of this cell, plus [`PARTICLE_WORK`] for
    /// each particle. Exact for shells that return forces. For the full shell, pairs that are
    /// computed twice are counted once.
    pub fn of_counts(grid: &CellGrid, particles: Vec<f64>, shell: Shell) -> Self {
        let dimension = grid.domain().dimension;
        let (rules, share) = match shell {
            Shell::Full => (shell.rules(dimension), 0.5),
            Shell::Half | Shell::Eighth => (shell.rules(dimension), 1.0),
        };
        let in_cell = |cell| grid.wrap(cell).map_or(0.0, |(primary, _)| particles[grid.linear(primary)]);
        let mut work = memory::with_capacity(grid.len());
        for (number, &own) in particles.iter().enumerate() {
            let anchor = grid.at(number);
            let mut pairs = 0.5 * own * (own - 1.0).max(0.0);
            for rule in rules.iter().filter(|rule| rule.a != rule.b) {
                let first = if rule.a == [0; 3] { own } else { in_cell(add(anchor, rule.a)) };
                if first > 0.0 {
                    pairs += share * first * in_cell(add(anchor, rule.b));
                }
            }
            work.push(pairs + PARTICLE_WORK * own);
        }
        Self { particles, work }
    }

    /// Returns the work of all cells.
    pub fn total(&self) -> f64 {
        self.work.iter().sum()
    }

    /// Checks that the weights can be used for a division.
    ///
    /// # Errors
    /// [`GridError::NoWeight`]: a weight is negative or not a finite number, or all are zero.
    pub fn check(&self) -> Result<(), GridError> {
        let is_valid = self.work.iter().all(|work| *work >= 0.0 && work.is_finite());
        if is_valid && self.total() > 0.0 { Ok(()) } else { Err(GridError::NoWeight) }
    }

    /// Returns the work of every rank.
    pub fn by_rank(&self, grid: &CellGrid, partition: &dyn Ownership, ranks: usize) -> Vec<f64> {
        self.by_owner(&partition.owners(grid), ranks)
    }

    /// Returns the work of every rank, given the [`Ownership::owners`] of all cells.
    pub fn by_owner(&self, owners: &[usize], ranks: usize) -> Vec<f64> {
        let mut sums = Vec::new();
        memory::resize(&mut sums, ranks, 0.0);
        for (&owner, work) in owners.iter().zip(&self.work) {
            sums[owner] += work;
        }
        sums
    }

    /// Returns the ratio of the largest work of a rank to the mean.
    pub fn imbalance(&self, grid: &CellGrid, partition: &dyn Ownership, ranks: usize) -> f64 {
        imbalance(&self.by_rank(grid, partition, ranks))
    }
}

/// Returns the ratio of the largest value to the mean, or 1 if all values are zero.
pub fn imbalance(values: &[f64]) -> f64 {
    let total: f64 = values.iter().sum();
    let largest = values.iter().copied().fold(0.0, f64::max);
    if total > 0.0 { largest * values.len() as f64 / total } else { 1.0 }
}

/// Checks that there is a cell for every rank.
pub(super) fn check_enough(grid: &CellGrid, ranks: usize) -> Result<(), GridError> {
    let cells = grid.len();
    if ranks <= cells {
        return Ok(());
    }
    Err(GridError::TooThin(format!(
        "{}, but only {} of at least cutoff + skin",
        counted(ranks, "rank"),
        counted(cells, "cell")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension, Domain};

    fn grid(counts: [i32; 3]) -> CellGrid {
        let lengths = counts.map(f64::from);
        let domain = Domain {
            dimension: Dimension::Three,
            origin: [0.0; 3],
            lengths,
            boundary: [Boundary::Periodic; 3],
        };
        CellGrid::new(domain, counts)
    }

    #[test]
    fn every_pair_of_adjacent_cells_is_counted_once_whatever_the_shell() {
        let grid = grid([4, 5, 3]);
        let counts: Vec<f64> = (0..grid.len()).map(|cell| (cell * 7 % 5) as f64).collect();
        let particles: f64 = counts.iter().sum();
        let around = crate::shell::neighbours(Dimension::Three);
        let mut pairs = 0.0;
        for cell in 0..grid.len() {
            let met: f64 = around
                .iter()
                .map(|&offset| counts[grid.linear(grid.wrap(add(grid.at(cell), offset)).unwrap().0)])
                .sum();
            pairs += 0.5 * counts[cell] * (counts[cell] - 1.0).max(0.0) + 0.5 * counts[cell] * met;
        }
        for shell in [Shell::Full, Shell::Half, Shell::Eighth] {
            let loads = CellLoads::of_counts(&grid, counts.clone(), shell);
            assert!((loads.total() - pairs - PARTICLE_WORK * particles).abs() < 1e-9, "{shell:?}");
        }
    }

    #[test]
    fn weights_that_are_no_weights_are_refused() {
        let grid = grid([2, 2, 2]);
        for work in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let loads = CellLoads { work: vec![work; 8], ..CellLoads::uniform(&grid) };
            assert_eq!(loads.check(), Err(GridError::NoWeight), "{work}");
        }
        assert_eq!(CellLoads::uniform(&grid).check(), Ok(()));
        assert_eq!(imbalance(&[1.0, 3.0]), 1.5);
        assert_eq!(imbalance(&[0.0, 0.0]), 1.0);
    }
}
