//! What a run reports about its physics, by LAMMPS's definitions (`compute temp`, `compute pressure`, `units lj`).

use crate::domain::{Dimension, Domain};
use crate::force::PairSums;
use crate::particles::Particles;
use crate::potential::Tail;

/// Sums over the particles of one rank, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SystemSums {
    /// Number of particles.
    pub atoms: f64,
    /// Sum of m v^2: twice the kinetic energy.
    pub twice_kinetic: f64,
    /// Sums over pairs.
    pub pairs: PairSums,
}

/// Intensive quantities of the whole system.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Observables {
    /// Temperature over d (N - 1) degrees of freedom.
    pub temperature: f64,
    /// Potential energy per particle, tail included.
    pub potential_per_atom: f64,
    /// Kinetic energy per particle.
    pub kinetic_per_atom: f64,
    /// Virial pressure, tail included.
    pub pressure: f64,
}

/// Degrees of freedom: the total momentum's are not counted.
pub fn degrees_of_freedom(atoms: u64, dimension: Dimension) -> f64 {
    (dimension.count() as u64 * atoms.saturating_sub(1)).max(1) as f64
}

/// Sum of m v^2 over owned particles.
pub fn twice_kinetic_energy(particles: &Particles, masses: &[f64]) -> f64 {
    let owned = particles.owned();
    let [vx, vy, vz] = particles.velocity.each_ref().map(|column| &column[..owned]);
    let species = &particles.species[..owned];
    (0..owned).map(|i| masses[species[i] as usize] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i])).sum()
}

impl SystemSums {
    /// Number of values in [`SystemSums::to_array`].
    pub const LEN: usize = 6;

    /// As numbers to be summed over ranks.
    pub fn to_array(self) -> [f64; Self::LEN] {
        let PairSums { energy, virial, useful_pairs, computed_pairs } = self.pairs;
        [self.atoms, self.twice_kinetic, energy, virial, useful_pairs, computed_pairs]
    }

    /// From [`SystemSums::to_array`].
    pub fn from_array(values: [f64; Self::LEN]) -> Self {
        let [atoms, twice_kinetic, energy, virial, useful_pairs, computed_pairs] = values;
        Self { atoms, twice_kinetic, pairs: PairSums { energy, virial, useful_pairs, computed_pairs } }
    }

    /// The observables of the sums over all ranks.
    pub fn observables(&self, domain: &Domain, tail: Tail) -> Observables {
        let degrees = degrees_of_freedom(self.atoms as u64, domain.dimension);
        let dimensions = domain.dimension.count() as f64;
        let atoms = self.atoms.max(1.0);
        Observables {
            temperature: self.twice_kinetic / degrees,
            potential_per_atom: (self.pairs.energy + tail.energy) / atoms,
            kinetic_per_atom: 0.5 * self.twice_kinetic / atoms,
            pressure: (self.twice_kinetic + self.pairs.virial) / (dimensions * domain.volume())
                + tail.pressure,
        }
    }
}
