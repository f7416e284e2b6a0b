//! Sums over all fluid nodes of all ranks.

use md_comm::World;

use crate::GridError;

/// Sums and extremes over all fluid nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Number of fluid nodes.
    pub fluid_nodes: f64,
    /// Sum of the density.
    pub mass: f64,
    /// Sum of density times velocity.
    pub momentum: [f64; 3],
    /// Sum of half of density times velocity squared.
    pub kinetic_energy: f64,
    /// Maximum speed of a node; infinite if a velocity is not finite.
    pub highest_speed: f64,
    /// Minimum density of a node.
    pub least_density: f64,
}

/// Sums over the nodes of a rank so far.
pub(super) struct Sums {
    /// Density minus 1, momentum, kinetic energy, number of nodes.
    sums: [f64; 6],
    highest_speed: f64,
    least_density: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { sums: [0.0; 6], highest_speed: 0.0, least_density: f64::INFINITY }
    }
}

impl Sums {
    pub(super) fn add(&mut self, density: f64, velocity: [f64; 3]) {
        let square: f64 = velocity.iter().map(|u| u * u).sum();
        let [x, y, z] = velocity.map(|u| density * u);
        let node = [density - 1.0, x, y, z, 0.5 * density * square, 1.0];
        self.sums.iter_mut().zip(node).for_each(|(sum, value)| *sum += value);
        self.highest_speed = if square.is_finite() { self.highest_speed.max(square) } else { f64::INFINITY };
        self.least_density = self.least_density.min(density);
    }

    /// Returns the totals over all ranks. *Collective.*
    ///
    /// # Errors
    /// Communication errors.
    pub(super) fn over_ranks(mut self, world: &dyn World) -> Result<Totals, GridError> {
        world.sum(&mut self.sums)?;
        let mut most = [self.highest_speed.sqrt(), -self.least_density];
        world.max(&mut most)?;
        let [excess, x, y, z, kinetic_energy, fluid_nodes] = self.sums;
        Ok(Totals {
            fluid_nodes,
            mass: fluid_nodes + excess,
            momentum: [x, y, z],
            kinetic_energy,
            highest_speed: most[0],
            least_density: -most[1],
        })
    }
}
