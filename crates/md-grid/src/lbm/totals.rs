//! Sums over all fluid nodes of all ranks.

use md_comm::World;

use crate::GridError;

/// Sums over all fluid nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Fluid nodes.
    pub fluid_nodes: f64,
    /// Density, summed.
    pub mass: f64,
    /// Density times velocity, summed.
    pub momentum: [f64; 3],
    /// Half of density times velocity squared, summed.
    pub kinetic_energy: f64,
    /// Greatest speed of a node; infinite where a velocity is no number.
    pub highest_speed: f64,
    /// Least density of a node.
    pub least_density: f64,
}

/// The nodes of a rank so far.
pub(super) struct Sums {
    /// Density minus 1, momentum, kinetic energy, nodes.
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

    /// *Collective.*
    ///
    /// # Errors
    /// Communication.
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
