//! Solid walls at faces of the box. A half space filled with Lennard-Jones particles, integrated
//! over, acts on the particles inside by a 9-3 potential (Steele, Surf. Sci. 36, 317 (1973);
//! LAMMPS's `fix wall/lj93`).
//!
//! E(r) = epsilon [2/15 (sigma/r)^9 - (sigma/r)^3] - E(cutoff), where r is the distance from the
//! face. The force is zero beyond the cutoff.

use md_core::force::Summation;
use md_core::quantum::{ENERGY_QUANTUM, FORCE_QUANTUM};
use md_core::{Domain, PairSums, Particles};

/// One of two opposite faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Face at the origin of the box.
    Low,
    /// Opposite face.
    High,
}

/// Solid wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolidWall {
    /// Axis normal to the wall: 0, 1, 2 for x, y, z.
    pub axis: usize,
    /// Face at which the wall is.
    pub side: Side,
    /// Strength of the interaction, \[energy\].
    pub epsilon: f64,
    /// Length parameter between the wall's particles and those inside, \[length\].
    pub sigma: f64,
    /// Distance from the face up to which the wall acts, \[length\].
    pub cutoff: f64,
}

impl SolidWall {
    /// Returns energy and force on a particle at this distance; the force is positive away from the
    /// wall. Both are zero beyond the cutoff and infinite at the face.
    pub fn energy_and_force(&self, distance: f64) -> (f64, f64) {
        if distance >= self.cutoff {
            return (0.0, 0.0);
        }
        let cubed = |distance: f64| (self.sigma / distance).powi(3);
        let energy = |cubed: f64| self.epsilon * (2.0 / 15.0 * cubed.powi(3) - cubed);
        let own = cubed(distance);
        let force = 3.0 * self.epsilon * (0.4 * own.powi(3) - own) / distance;
        (energy(own) - energy(cubed(self.cutoff)), force)
    }

    /// Returns the distance of a coordinate along the axis from the face, positive inside.
    pub fn distance(&self, x: f64, domain: &Domain) -> f64 {
        match self.side {
            Side::Low => x - domain.origin[self.axis],
            Side::High => domain.upper(self.axis) - x,
        }
    }

    /// Returns the force on a particle at this coordinate, along the axis.
    pub fn force_at(&self, x: f64, domain: &Domain) -> f64 {
        self.inwards() * self.energy_and_force(self.distance(x, domain)).1
    }

    fn inwards(&self) -> f64 {
        match self.side {
            Side::Low => 1.0,
            Side::High => -1.0,
        }
    }

    /// Adds the wall's forces on owned particles. Returns their energy, and force times distance
    /// from the face as their virial, so that the normal pressure of the whole box is the mean
    /// force on the wall per area.
    pub fn add_forces(&self, particles: &mut Particles, domain: &Domain, summation: Summation) -> PairSums {
        let (axis, owned) = (self.axis, particles.owned());
        let (mut sums, inwards) = (PairSums::default(), self.inwards());
        let position = &particles.position[axis][..owned];
        for (x, total) in position.iter().zip(&mut particles.force[axis][..owned]) {
            let distance = self.distance(*x, domain);
            if distance < self.cutoff {
                let (energy, force) = self.energy_and_force(distance);
                *total += inwards * summation.term(force, FORCE_QUANTUM);
                sums.energy += summation.term(energy, ENERGY_QUANTUM);
                sums.virial.0[axis] += summation.term(force * distance, ENERGY_QUANTUM);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: SolidWall = SolidWall { axis: 2, side: Side::Low, epsilon: 1.7, sigma: 1.2, cutoff: 3.0 };

    #[test]
    fn the_minimum_is_where_it_has_to_be() {
        // dE/dr = 0 at r = (2/5)^(1/6) sigma, where E = -sqrt(10)/3 epsilon.
        let (energy, force) = WALL.energy_and_force(0.4_f64.powf(1.0 / 6.0) * WALL.sigma);
        let at_cutoff = WALL.epsilon * (2.0 / 15.0 * 0.4_f64.powi(9) - 0.4_f64.powi(3));
        assert!((energy - (-10_f64.sqrt() / 3.0 * WALL.epsilon - at_cutoff)).abs() < 1e-14);
        assert!(force.abs() < 1e-13);
        assert_eq!(WALL.energy_and_force(WALL.cutoff), (0.0, 0.0));
    }

    #[test]
    fn the_force_is_the_slope_of_the_energy() {
        for distance in [0.6, 0.8, 1.0, 1.5, 2.9] {
            let step = 1e-5;
            let [below, above] = [-step, step].map(|by| WALL.energy_and_force(distance + by).0);
            let (_, force) = WALL.energy_and_force(distance);
            let slope = (below - above) / (2.0 * step);
            assert!((force - slope).abs() < 1e-7 * (1.0 + force.abs()), "{distance}: {force} {slope}");
        }
    }
}
