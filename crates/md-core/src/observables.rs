//! Physical observables of a run, as LAMMPS defines them (`compute temp`, `compute pressure`,
//! `units lj`).

use crate::domain::Domain;
use crate::force::{PairSums, Summation};
use crate::momentum::{ConservedMomentum, MotionSums};
use crate::particles::Particles;
use crate::potential::Tail;
use crate::quantum::ENERGY_QUANTUM;
use crate::tensor::SymmetricTensor;

/// Sums over the particles of one rank or of all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SystemSums {
    /// Number of particles.
    pub atoms: f64,
    /// Sum of m.
    pub mass: f64,
    /// Sum of m v.
    pub momentum: [f64; 3],
    /// Sum of m v v; its trace is twice the kinetic energy.
    pub momentum_flux: SymmetricTensor,
    /// The motion that enters temperature and pressure. It is known only after the other sums have
    /// been added up over all ranks.
    pub thermal: ThermalMotion,
    /// Sums over pairs.
    pub pairs: PairSums,
}

/// The motion of all particles that enters temperature and pressure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThermalMotion {
    /// The axes along which the total momentum is conserved.
    pub conserved: ConservedMomentum,
    /// The velocity that is subtracted: the velocity of the centre of mass along these axes, or
    /// zero if that is negligible.
    pub drift: [f64; 3],
    /// Sum of m (v - drift) (v - drift).
    pub flux: SymmetricTensor,
}

/// Intensive quantities of the whole system.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Observables {
    /// Temperature: the kinetic energy of the thermal motion divided by its degrees of freedom.
    pub temperature: f64,
    /// Potential energy per particle, including the tail correction.
    pub potential_per_atom: f64,
    /// Kinetic energy per particle.
    pub kinetic_per_atom: f64,
    /// Virial pressure, including the tail correction: a third (in 2D half) of the tensor's trace.
    pub pressure: f64,
    /// The pressure tensor, including the tail correction.
    pub pressure_tensor: SymmetricTensor,
}

/// Returns the sum of m v^2 over owned particles.
pub fn twice_kinetic_energy(particles: &Particles, masses: &[f64]) -> f64 {
    MotionSums::of(particles, masses, Summation::Rounded).twice_kinetic
}

/// Returns the sum of m (v - drift) (v - drift) over owned particles.
pub fn momentum_flux(
    drift: [f64; 3],
    particles: &Particles,
    masses: &[f64],
    summation: Summation,
) -> SymmetricTensor {
    let owned = particles.owned();
    let [vx, vy, vz] = particles.velocity.each_ref().map(|column| &column[..owned]);
    let species = &particles.species[..owned];
    let mut flux = SymmetricTensor::default();
    for i in 0..owned {
        let velocity = [vx[i] - drift[0], vy[i] - drift[1], vz[i] - drift[2]];
        let mass = masses[species[i] as usize];
        let SymmetricTensor(terms) = SymmetricTensor::product(velocity.map(|v| mass * v), velocity);
        flux += SymmetricTensor(terms.map(|term| summation.term(term, ENERGY_QUANTUM)));
    }
    flux
}

/// Number of values of [`SystemSums::to_array`] that are not components of a tensor.
const SCALARS: usize = 8;

impl SystemSums {
    /// Number of values in [`SystemSums::to_array`].
    pub const LEN: usize = SCALARS + 2 * SymmetricTensor::LEN;

    /// Returns the sum of m v^2, twice the kinetic energy.
    pub fn twice_kinetic(&self) -> f64 {
        self.momentum_flux.trace()
    }

    /// Returns the sums as numbers that can be added over ranks.
    pub fn to_array(self) -> [f64; Self::LEN] {
        let PairSums { energy, virial, useful_pairs, computed_pairs } = self.pairs;
        let mut values = [0.0; Self::LEN];
        let ([px, py, pz], (scalars, tensors)) = (self.momentum, values.split_at_mut(SCALARS));
        scalars.copy_from_slice(&[self.atoms, energy, useful_pairs, computed_pairs, self.mass, px, py, pz]);
        let components = self.momentum_flux.0.into_iter().chain(virial.0);
        tensors.iter_mut().zip(components).for_each(|(value, component)| *value = component);
        values
    }

    /// Creates sums from the values of [`SystemSums::to_array`].
    pub fn from_array(values: [f64; Self::LEN]) -> Self {
        let [atoms, energy, useful_pairs, computed_pairs, mass, px, py, pz, ..] = values;
        let tensor =
            |first: usize| SymmetricTensor(std::array::from_fn(|component| values[first + component]));
        let (momentum_flux, virial) = (tensor(SCALARS), tensor(SCALARS + SymmetricTensor::LEN));
        let pairs = PairSums { energy, virial, useful_pairs, computed_pairs };
        Self { atoms, mass, momentum: [px, py, pz], momentum_flux, thermal: ThermalMotion::default(), pairs }
    }

    /// Returns the sums from which the drift is computed.
    pub fn motion(&self) -> MotionSums {
        MotionSums { twice_kinetic: self.twice_kinetic(), momentum: self.momentum, mass: self.mass }
    }

    /// Returns the observables for sums over all ranks.
    pub fn observables(&self, domain: &Domain, tail: Tail) -> Observables {
        let (thermal, dimensions) = (&self.thermal, domain.dimension.count());
        let degrees = thermal.conserved.degrees_of_freedom(self.atoms as u64, domain.dimension);
        let (atoms, twice_thermal) = (self.atoms.max(1.0), thermal.flux.trace());
        let of_tail = [0, 1, 2].map(|dim| if dim < dimensions { tail.pressure } else { 0.0 });
        let pressure_tensor = (thermal.flux + self.pairs.virial) * domain.volume().recip();
        Observables {
            temperature: if degrees > 0 { twice_thermal / degrees as f64 } else { 0.0 },
            potential_per_atom: (self.pairs.energy + tail.energy) / atoms,
            kinetic_per_atom: 0.5 * self.twice_kinetic() / atoms,
            pressure: (twice_thermal + self.pairs.virial.trace()) / (dimensions as f64 * domain.volume())
                + tail.pressure,
            pressure_tensor: pressure_tensor + SymmetricTensor::diagonal(of_tail),
        }
    }
}
