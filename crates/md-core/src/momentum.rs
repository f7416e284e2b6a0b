//! The total momentum: the axes along which it is conserved, the remaining degrees of freedom, and
//! the velocity of the centre of mass. Temperature and pressure are defined relative to that
//! velocity along the axes on which it does not change.

use crate::domain::{Dimension, Domain};
use crate::force::Summation;
use crate::particles::Particles;
use crate::quantum::ENERGY_QUANTUM;

/// Effect of an integrator on the total momentum of a system without walls.
///
/// See [`ConservedMomentum`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalMomentum {
    /// The total momentum does not change.
    Conserved,
    /// Friction and random forces change the total momentum.
    Thermostatted,
}

/// The axes along which the total momentum is conserved.
///
/// ```
/// use md_core::{Boundary, ConservedMomentum, Dimension, Domain, TotalMomentum};
///
/// let (origin, lengths, boundary) = ([0.0; 3], [10.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let degrees = |domain, momentum| {
///     ConservedMomentum::new(&domain, momentum).degrees_of_freedom(500, Dimension::Three)
/// };
/// assert_eq!(degrees(domain, TotalMomentum::Conserved), 3 * 500 - 3);
/// assert_eq!(degrees(domain, TotalMomentum::Thermostatted), 3 * 500);
/// // Walls along z take up momentum.
/// let slit = Domain { boundary: [boundary[0], boundary[1], Boundary::Reflecting], ..domain };
/// assert_eq!(degrees(slit, TotalMomentum::Conserved), 3 * 500 - 2);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConservedMomentum(pub [bool; 3]);

impl ConservedMomentum {
    /// Returns the conserved axes for a system in this box; the momentum is not conserved across
    /// walls.
    pub fn new(domain: &Domain, momentum: TotalMomentum) -> Self {
        Self([0, 1, 2].map(|dim| momentum == TotalMomentum::Conserved && domain.is_periodic(dim)))
    }

    /// Returns the degrees of freedom: one for each particle and dimension, less the conserved
    /// components.
    pub fn degrees_of_freedom(self, atoms: u64, dimension: Dimension) -> u64 {
        let conserved = self.0.iter().filter(|&&conserved| conserved).count();
        (atoms * dimension.count() as u64).saturating_sub(conserved as u64)
    }

    /// Returns the velocity of the centre of mass along these axes, or zero if it is small enough
    /// to be caused by rounding or by the limited digits of a file.
    pub fn drift(self, sums: &MotionSums) -> [f64; 3] {
        /// Ratio of kinetic energies; it corresponds to a millionth of the particles' mean speed.
        const NEGLIGIBLE: f64 = 1e-12;
        let least = NEGLIGIBLE * sums.twice_kinetic;
        [0, 1, 2].map(|dim: usize| {
            let velocity = sums.momentum[dim] / sums.mass;
            if self.0[dim] && sums.mass * velocity * velocity > least { velocity } else { 0.0 }
        })
    }
}

/// Sums over the motion of particles.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MotionSums {
    /// Sum of m v^2.
    pub twice_kinetic: f64,
    /// Sum of m v.
    pub momentum: [f64; 3],
    /// Sum of m.
    pub mass: f64,
}

impl MotionSums {
    /// Number of values in [`MotionSums::to_array`].
    pub const LEN: usize = 5;

    /// Adds up the owned particles.
    pub fn of(particles: &Particles, masses: &[f64], summation: Summation) -> Self {
        let owned = particles.owned();
        let [vx, vy, vz] = particles.velocity.each_ref().map(|column| &column[..owned]);
        let species = &particles.species[..owned];
        let mut sums = Self::default();
        for i in 0..owned {
            let mass = masses[species[i] as usize];
            let twice_kinetic = mass * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
            sums.twice_kinetic += summation.term(twice_kinetic, ENERGY_QUANTUM);
            for (sum, velocity) in sums.momentum.iter_mut().zip([vx[i], vy[i], vz[i]]) {
                *sum += summation.term(mass * velocity, ENERGY_QUANTUM);
            }
            sums.mass += summation.term(mass, ENERGY_QUANTUM);
        }
        sums
    }

    /// Returns numbers to be summed over ranks.
    pub fn to_array(self) -> [f64; Self::LEN] {
        let [x, y, z] = self.momentum;
        [self.twice_kinetic, x, y, z, self.mass]
    }

    /// Creates sums from the values of [`MotionSums::to_array`].
    pub fn from_array([twice_kinetic, x, y, z, mass]: [f64; Self::LEN]) -> Self {
        Self { twice_kinetic, momentum: [x, y, z], mass }
    }
}

/// Returns the sum of m (v - drift)^2 over owned particles.
pub fn twice_kinetic_about(
    drift: [f64; 3],
    particles: &Particles,
    masses: &[f64],
    summation: Summation,
) -> f64 {
    let of = |i: usize| {
        let squares = [0, 1, 2].map(|dim: usize| (particles.velocity[dim][i] - drift[dim]).powi(2));
        let twice_kinetic = masses[particles.species[i] as usize] * squares.iter().sum::<f64>();
        summation.term(twice_kinetic, ENERGY_QUANTUM)
    };
    (0..particles.owned()).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Boundary::{self, Periodic, Reflecting};
    use crate::fields::ImageCounts;
    use crate::particles::Particle;

    fn domain(dimension: Dimension, boundary: [Boundary; 3]) -> Domain {
        Domain { dimension, origin: [0.0; 3], lengths: [5.0; 3], boundary }
    }

    #[test]
    fn degrees_of_freedom_lack_the_conserved_components() {
        use Dimension::{Three, Two};
        use TotalMomentum::{Conserved, Thermostatted};
        for (dimension, boundary, momentum, atoms, expected) in [
            (Three, [Periodic; 3], Conserved, 10, 27),
            (Three, [Periodic, Reflecting, Periodic], Conserved, 10, 28),
            (Three, [Reflecting; 3], Conserved, 3, 9),
            (Three, [Periodic; 3], Thermostatted, 10, 30),
            (Two, [Periodic; 3], Conserved, 10, 18),
            (Two, [Periodic, Reflecting, Periodic], Conserved, 10, 19),
            (Two, [Periodic; 3], Thermostatted, 10, 20),
            (Three, [Periodic; 3], Conserved, 1, 0),
            (Three, [Periodic, Periodic, Reflecting], Conserved, 1, 1),
        ] {
            let conserved = ConservedMomentum::new(&domain(dimension, boundary), momentum);
            assert_eq!(conserved.degrees_of_freedom(atoms, dimension), expected, "{boundary:?} {atoms}");
        }
    }

    fn moving(velocities: &[[f64; 3]]) -> Particles {
        let ids = 1..;
        let particle = |(id, &velocity)| Particle {
            id,
            species: 0,
            position: [0.0; 3],
            velocity,
            images: ImageCounts::default(),
        };
        ids.zip(velocities).map(particle).collect()
    }

    #[test]
    fn a_drift_is_that_of_the_centre_of_mass_where_momentum_is_conserved() {
        let particles = moving(&[[4.0, 1.0, 2.0], [2.0, 3.0, -6.0]]);
        let sums = MotionSums::of(&particles, &[2.0], Summation::Rounded);
        assert_eq!(sums.to_array(), [140.0, 12.0, 8.0, -8.0, 4.0]);
        assert_eq!(ConservedMomentum([true, false, true]).drift(&sums), [3.0, 0.0, -2.0]);
        assert_eq!(ConservedMomentum([false; 3]).drift(&sums), [0.0; 3]);
        assert_eq!(twice_kinetic_about([3.0, 2.0, -2.0], &particles, &[2.0], Summation::Rounded), 72.0);
    }

    #[test]
    fn rounding_is_no_drift() {
        for (drift, is_one) in [(1e-17, false), (1e-7, false), (3e-6, true)] {
            let sums = MotionSums::of(
                &moving(&[[1.0 + drift, 0.0, 0.0], [-1.0 + drift, 0.0, 0.0]]),
                &[1.0],
                Summation::Rounded,
            );
            let found = ConservedMomentum([true; 3]).drift(&sums);
            assert_eq!(found != [0.0; 3], is_one, "{drift}: {found:?}");
        }
        assert_eq!(ConservedMomentum([true; 3]).drift(&MotionSums::default()), [0.0; 3]);
        let sums = MotionSums::of(&moving(&[[3.0, 1e-16, 0.0], [4.0, 0.0, 0.0]]), &[1.0], Summation::Rounded);
        assert_eq!(ConservedMomentum([true; 3]).drift(&sums), [3.5, 0.0, 0.0], "by component");
    }
}
