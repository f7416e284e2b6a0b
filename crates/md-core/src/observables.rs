//! What a run reports about its physics, by LAMMPS's definitions (`compute temp`, `compute pressure`, `units lj`).

use crate::domain::{Dimension, Domain};
use crate::force::PairSums;
use crate::particles::Particles;
use crate::potential::Tail;
use crate::tensor::SymmetricTensor;

/// Sums over the particles of one rank, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SystemSums {
    /// Number of particles.
    pub atoms: f64,
    /// Sum of m v v; its trace is twice the kinetic energy.
    pub momentum_flux: SymmetricTensor,
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
    /// Virial pressure, tail included: a third (in 2D half) of the tensor's trace.
    pub pressure: f64,
    /// The pressure tensor, tail included.
    pub pressure_tensor: SymmetricTensor,
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

/// Sum of m v v over owned particles.
pub fn momentum_flux(particles: &Particles, masses: &[f64]) -> SymmetricTensor {
    let owned = particles.owned();
    let [vx, vy, vz] = particles.velocity.each_ref().map(|column| &column[..owned]);
    let species = &particles.species[..owned];
    let mut flux = SymmetricTensor::default();
    for i in 0..owned {
        let (velocity, mass) = ([vx[i], vy[i], vz[i]], masses[species[i] as usize]);
        flux += SymmetricTensor::product(velocity.map(|v| mass * v), velocity);
    }
    flux
}

impl SystemSums {
    /// Number of values in [`SystemSums::to_array`].
    pub const LEN: usize = 4 + 2 * SymmetricTensor::LEN;

    /// Sum of m v^2: twice the kinetic energy.
    pub fn twice_kinetic(&self) -> f64 {
        self.momentum_flux.trace()
    }

    /// As numbers to be summed over ranks.
    pub fn to_array(self) -> [f64; Self::LEN] {
        let PairSums { energy, virial, useful_pairs, computed_pairs } = self.pairs;
        let mut values = [0.0; Self::LEN];
        let (scalars, tensors) = values.split_at_mut(4);
        scalars.copy_from_slice(&[self.atoms, energy, useful_pairs, computed_pairs]);
        let components = self.momentum_flux.0.into_iter().chain(virial.0);
        tensors.iter_mut().zip(components).for_each(|(value, component)| *value = component);
        values
    }

    /// From [`SystemSums::to_array`].
    pub fn from_array(values: [f64; Self::LEN]) -> Self {
        let [atoms, energy, useful_pairs, computed_pairs, ..] = values;
        let tensor =
            |first: usize| SymmetricTensor(std::array::from_fn(|component| values[first + component]));
        let (momentum_flux, virial) = (tensor(4), tensor(4 + SymmetricTensor::LEN));
        Self { atoms, momentum_flux, pairs: PairSums { energy, virial, useful_pairs, computed_pairs } }
    }

    /// The observables of the sums over all ranks.
    pub fn observables(&self, domain: &Domain, tail: Tail) -> Observables {
        let degrees = degrees_of_freedom(self.atoms as u64, domain.dimension);
        let dimensions = domain.dimension.count();
        let (atoms, twice_kinetic) = (self.atoms.max(1.0), self.twice_kinetic());
        let of_tail = [0, 1, 2].map(|dim| if dim < dimensions { tail.pressure } else { 0.0 });
        let pressure_tensor = (self.momentum_flux + self.pairs.virial) * domain.volume().recip();
        Observables {
            temperature: twice_kinetic / degrees,
            potential_per_atom: (self.pairs.energy + tail.energy) / atoms,
            kinetic_per_atom: 0.5 * twice_kinetic / atoms,
            pressure: (twice_kinetic + self.pairs.virial.trace()) / (dimensions as f64 * domain.volume())
                + tail.pressure,
            pressure_tensor: pressure_tensor + SymmetricTensor::diagonal(of_tail),
        }
    }
}
