//! Box, lattice, cells and partition.

use md_core::grid::{GridError, axis, balanced_count};
use md_core::lattice::Lattice;
use md_core::partition::{PartitionKind, Rect, Stripe, choose_grid};
use md_core::{CellGrid, Dimension, Domain, Partition};

use super::ParticleSource;
use crate::scenario::{Scenario, ScenarioError, ScenarioSource};

/// More cells than this only cost memory: almost all of them would be empty. Enough to spread over the ranks.
pub(super) fn cell_limit(atoms: u64, ranks: usize) -> u64 {
    const PER_ATOM: u64 = 8;
    const PER_RANK: u64 = 1000;
    (PER_ATOM * atoms).max(PER_RANK * ranks as u64)
}

pub(super) fn located(source: &ScenarioSource, scenario: &Scenario, error: &GridError) -> ScenarioError {
    let message = error.to_string();
    match error {
        GridError::BoxTooSmall { dim, .. } => ScenarioError::at(
            source,
            "interaction.cutoff",
            message,
            format!("a larger box along {}, a smaller cutoff or a smaller skin", axis(*dim)),
        ),
        GridError::WrongGrid(..) => {
            ScenarioError::at(source, "parallel.grid", message, "a grid whose product is the number of ranks")
        }
        _ => {
            let chosen = scenario.parallel.grid.is_some();
            let key = if chosen { "parallel.grid" } else { "parallel.partition" };
            ScenarioError::at(source, key, message, "fewer ranks, another partition or a larger box")
        }
    }
}

pub(super) fn divide(
    scenario: &Scenario,
    domain: &Domain,
    most: [i32; 3],
    ranks: usize,
) -> Result<(CellGrid, Partition), GridError> {
    match scenario.parallel.partition {
        PartitionKind::Stripe => {
            let grid = CellGrid::new(*domain, most);
            let stripe = Stripe::new(&grid, ranks)?;
            Ok((grid, Partition::Stripe(stripe)))
        }
        PartitionKind::Rect => {
            let rank_grid = match scenario.parallel.grid {
                Some(grid) => grid,
                None => choose_grid(domain, most, ranks)?,
            };
            let rect = Rect::new(rank_grid, most, ranks)?;
            let counts = [0, 1, 2].map(|dim| balanced_count(most[dim], rank_grid[dim] as i32));
            Ok((CellGrid::new(*domain, counts), Partition::Rect(rect)))
        }
    }
}

pub(super) fn domain(scenario: &Scenario, particles: &ParticleSource) -> Domain {
    let (origin, lengths) = match particles {
        ParticleSource::Lattice(lattice) => ([0.0; 3], lattice.lengths()),
        ParticleSource::File(file) => (file.origin, file.lengths),
    };
    Domain {
        dimension: if scenario.simulation.dimension == 2 { Dimension::Two } else { Dimension::Three },
        origin,
        lengths,
        boundary: scenario.system.boundary,
    }
}

pub(super) fn lattice(source: &ScenarioSource, scenario: &Scenario) -> Result<Lattice, ScenarioError> {
    let Some(lattice) = &scenario.system.lattice else {
        return Err(ScenarioError::at(
            source,
            "system",
            "no source of particles",
            "give `lattice` or `file`",
        ));
    };
    let spacing = lattice.spacing.or_else(|| lattice.density.map(|density| lattice.kind.spacing(density)));
    Ok(Lattice::new(lattice.kind, spacing.unwrap_or(1.0), lattice.cells))
}

/// Between a site and its nearest neighbour, which may be a periodic image.
pub(super) fn nearest_distance(lattice: &Lattice) -> f64 {
    let lengths = lattice.lengths();
    let image = |dim: usize, distance: f64| distance.min(lengths[dim] - distance);
    let from_origin = |[x, y, z]: [f64; 3]| image(0, x).hypot(image(1, y)).hypot(image(2, z));
    let others = lattice.sites().skip(1).map(|(_, position)| from_origin(position));
    others.chain(lengths).fold(f64::INFINITY, f64::min)
}
