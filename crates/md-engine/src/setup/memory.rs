//! Estimate of the memory that a rank needs, made before anything is allocated.

use md_core::force::{MethodKind, Precision};
use md_core::{Dimension, Shell};

use super::Setup;
use crate::config::ParticleSource;

/// Bytes of a process without particles: program and MPI library.
const PROCESS: f64 = 16e6;
/// Bytes per particle: its fields, buffers for sorting, positions of reference.
const PARTICLE: f64 = 145.0;
/// Bytes per ghost: its fields and its part of messages.
const GHOST: f64 = 112.0;
/// Bytes per cell: its coordinates, indices, and the cells that it interacts with.
const CELL: f64 = 225.0;
/// Bytes per particle and additional thread: reaction forces.
const THREAD: f64 = 30.0;
/// Bytes per particle of a list, as read and as passed to the engine.
const LISTED: f64 = 228.0;

impl Setup {
    /// Returns the estimated bytes of memory that a rank needs in a run. Measured systems at rest
    /// need between 0.8 and 1.3 times as many. Particles are assumed to fill the box evenly.
    pub fn estimated_bytes(&self) -> f64 {
        let NeighborCells { own, ghosts } = self.neighbor_cells();
        let atoms = self.atoms() as f64;
        let per_cell = atoms / self.division.grid.len() as f64;
        let threads = self.config.parallel.threads.saturating_sub(1) as f64;
        let listed = match self.config.particles {
            ParticleSource::List { .. } => LISTED,
            _ => 0.0,
        };
        let per_particle = PARTICLE + self.bytes_of_lists() + THREAD * threads + listed;
        let cells = (own + ghosts) * CELL;
        PROCESS + atoms / self.ranks as f64 * per_particle + ghosts * per_cell * GHOST + cells
    }

    /// Returns the number of owned and ghost cells of a rank in the middle of the box.
    fn neighbor_cells(&self) -> NeighborCells {
        let counts = self.division.grid.counts().map(f64::from);
        // Stripes are nearly whole layers.
        let rank_grid = self.division.partition.rank_grid().unwrap_or([1, 1, self.ranks]);
        let layers = if self.config.parallel.shell == Shell::Full { 2.0 } else { 1.0 };
        let (mut own, mut all) = (1.0, 1.0);
        for dim in 0..self.domain.dimension.count() {
            let length = counts[dim] / rank_grid[dim] as f64;
            let has_neighbours = self.domain.is_periodic(dim) || rank_grid[dim] > 1;
            own *= length;
            all *= if has_neighbours { length + layers } else { length };
        }
        NeighborCells { own, ghosts: all - own }
    }

    /// Returns the number of pairs per particle within the cutoff and the skin, if particles are
    /// spread at random.
    pub fn random_pairs_per_particle(&self) -> f64 {
        let radius = self.config.forces.cutoff() + self.config.neighbor.skin;
        let sphere = match self.domain.dimension {
            Dimension::Two => std::f64::consts::PI * radius.powi(2),
            Dimension::Three => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
        };
        0.5 * sphere * self.atoms() as f64 / self.domain.volume()
    }

    /// Returns the bytes per particle of the pair lists.
    fn bytes_of_lists(&self) -> f64 {
        let neighbor = &self.config.neighbor;
        let pairs = self.random_pairs_per_particle();
        // An inner list has as much room as the list.
        let lists = if neighbor.skin > 0.0 { 2.0 } else { 1.0 };
        match (neighbor.method, neighbor.precision) {
            (MethodKind::Clusters, Precision::Double) => 33.0 + 1.25 * pairs * lists,
            (MethodKind::Clusters, Precision::Mixed) => 60.0 + 0.75 * pairs * lists,
            (MethodKind::Cells | MethodKind::DirectSum, _) => 0.0,
        }
    }
}

/// Numbers of owned and ghost cells of a rank.
struct NeighborCells {
    own: f64,
    ghosts: f64,
}
