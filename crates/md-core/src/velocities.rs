//! Initial velocities: Maxwell-Boltzmann distributed, with zero total momentum and the exact
//! temperature, bit-identical on any number of ranks.
//!
//! They are made in three passes: draw, subtract the velocity of the centre of mass, scale. Between
//! the passes the caller adds up exact sums over all ranks.

use crate::domain::Dimension;
use crate::exact_sum::ExactSum;
use crate::particles::Particles;
use crate::random;

/// Momentum and mass of a rank's particles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MomentumSums {
    /// Momentum per dimension.
    pub momentum: [ExactSum; 3],
    /// Mass.
    pub mass: ExactSum,
}

/// Draws velocities at unit temperature and returns this rank's sums.
pub fn draw(particles: &mut Particles, masses: &[f64], seed: u64, dimension: Dimension) -> MomentumSums {
    let mut sums = MomentumSums::default();
    for i in 0..particles.owned() {
        let mass = masses[particles.species[i] as usize];
        let normal = random::normal_vector(seed, particles.id[i]);
        for (dim, value) in normal.into_iter().enumerate() {
            let velocity = if dim < dimension.count() { value / mass.sqrt() } else { 0.0 };
            particles.velocity[dim][i] = velocity;
            sums.momentum[dim].add(mass * velocity);
        }
        sums.mass.add(mass);
    }
    sums
}

/// Subtracts the velocity of the centre of mass; returns this rank's sum of m v^2.
pub fn remove_drift(particles: &mut Particles, masses: &[f64], drift: [f64; 3]) -> ExactSum {
    let mut twice_kinetic = ExactSum::default();
    for i in 0..particles.owned() {
        let mass = masses[particles.species[i] as usize];
        for (dim, drift) in drift.into_iter().enumerate() {
            let velocity = &mut particles.velocity[dim][i];
            *velocity -= drift;
            twice_kinetic.add(mass * *velocity * *velocity);
        }
    }
    twice_kinetic
}

/// Scales all velocities so that the temperature for `degrees_of_freedom` is exactly `temperature`.
pub fn rescale(particles: &mut Particles, twice_kinetic: f64, temperature: f64, degrees_of_freedom: f64) {
    let present = twice_kinetic / degrees_of_freedom;
    let factor = if present > 0.0 { (temperature / present).sqrt() } else { 0.0 };
    let owned = particles.owned();
    for column in &mut particles.velocity {
        column[..owned].iter_mut().for_each(|velocity| *velocity *= factor);
    }
}
