//! Langevin dynamics by the splitting B A O A B, in one pass over memory.
//!
//! Between the half kicks of velocity Verlet (B), the drift is divided into two halves (A). Between
//! these, velocities are damped and get a random push (O): v' = c v + sqrt((1 - c^2) kT / m) n with
//! a standard normal number n. The decay c per step selects the method:
//!
//! - c = exp(-friction dt): BAOAB (Leimkuhler and Matthews, Appl. Math. Res. eXpress 2013, 34). The
//!   positions of a harmonic oscillator have the correct variance for every time step.
//! - c = (1 - friction dt / 2) / (1 + friction dt / 2): the method of Gronbech-Jensen and Farago
//!   (Mol. Phys. 111, 983 (2013)). With b = (1 + c) / 2, its equations x' = x + b dt v + b dt^2 f /
//!   2m + b dt r / 2m and v' = c v + (c f + f') dt / 2m + b r / m are these five parts, because its
//!   noise r has the variance 2 friction m kT dt, so b r / m is the random push of O.

use super::{HalfKicks, VelocityVerlet};
use crate::domain::Domain;
use crate::force::Summation;
use crate::noise::{self, NoiseKey, NormalBlock};
use crate::particles::Particles;
use crate::quantum::{ENERGY_QUANTUM, POSITION_QUANTUM, rounded};
use crate::threads::Threads;

/// The loops of Langevin dynamics with their constant parameters.
#[derive(Debug, Clone)]
pub struct LangevinDynamics {
    verlet: VelocityVerlet,
    masses: Vec<f64>,
    /// Factor by which velocities decay in a step.
    decay: f64,
    key: NoiseKey,
}

/// Parameters of drift and push in one step.
struct Push<'a> {
    half_step: f64,
    decay: f64,
    /// Standard deviation of the random push, per species.
    spreads: &'a [f64],
    masses: &'a [f64],
}

impl LangevinDynamics {
    /// Creates the dynamics with the factor `decay`, from 0 to 1, by which velocities decay in a
    /// step, and the key of the noise.
    pub fn new(verlet: VelocityVerlet, masses: &[f64], decay: f64, key: NoiseKey) -> Self {
        Self { verlet, masses: masses.to_vec(), decay, key }
    }

    /// Applies the second half kick, see [`VelocityVerlet::kick`].
    pub fn kick(&self, particles: &mut Particles, threads: &Threads) {
        self.verlet.kick(particles, threads);
    }

    /// Applies half kicks, drift, random push and drift; see also
    /// [`VelocityVerlet::kick_and_drift`]. Returns the heat that this rank's particles have
    /// absorbed, which is the kinetic energy added by damping and push.
    pub fn kick_and_drift(
        &self,
        kicks: HalfKicks,
        particles: &mut Particles,
        domain: &Domain,
        threads: &Threads,
        Bath { temperature, step }: Bath,
    ) -> f64 {
        let spread = |mass: &f64| ((1.0 - self.decay * self.decay) * temperature / mass).sqrt();
        let spreads: Vec<f64> = self.masses.iter().map(spread).collect();
        let push = Push {
            half_step: 0.5 * self.verlet.timestep,
            decay: self.decay,
            spreads: &spreads,
            masses: &self.masses,
        };
        let (owned, dimensions) = (particles.owned(), domain.dimension.count());
        let Particles { position, velocity, force, species, id, .. } = particles;
        let position = position.each_mut().map(|column| &mut column[..owned]);
        let velocity = velocity.each_mut().map(|column| &mut column[..owned]);
        let force = force.each_mut().map(|column| &mut column[..owned]);
        let columns = ((position, velocity), (force, (&species[..owned], &id[..owned])));
        let work = |((position, velocity), (mut force, (species, id))): MovedColumns| {
            let (mut normals, mut heat) = (NormalBlock::default(), 0.0);
            for (number, id) in id.chunks(noise::BLOCK).enumerate() {
                let block = number * noise::BLOCK..number * noise::BLOCK + id.len();
                self.key.fill(step, id, self.verlet.simd, &mut normals);
                for dim in 0..dimensions {
                    let (velocity, force) =
                        (&mut velocity[dim][block.clone()], &mut force[dim][block.clone()]);
                    let species = &species[block.clone()];
                    self.verlet.kick_column(kicks, velocity, force, species);
                    force.fill(0.0);
                    let position = &mut position[dim][block.clone()];
                    heat += match self.verlet.summation {
                        Summation::Rounded => {
                            self.push_column(&push, position, velocity, &normals.0[dim], species, |path| path)
                        }
                        Summation::Exact => {
                            let round = |path| rounded(path, POSITION_QUANTUM);
                            self.push_column(&push, position, velocity, &normals.0[dim], species, round)
                        }
                    };
                }
                force[dimensions..].iter_mut().for_each(|column| column[block.clone()].fill(0.0));
            }
            heat
        };
        let heat = threads.fold(columns, work, |a, b| a + b);
        if domain.has_walls() {
            domain.reflect(particles);
        }
        heat
    }

    /// Applies drift, push and drift, with paths on which `round` has been called, and returns the
    /// heat.
    #[inline(always)]
    fn push_column(
        &self,
        push: &Push,
        position: &mut [f64],
        velocity: &mut [f64],
        normals: &[f32],
        species: &[u64],
        round: impl Fn(f64) -> f64,
    ) -> f64 {
        /// Number of separate partial sums, so that the sum is vectorised.
        const LANES: usize = 8;
        let mut gains = [0.0; noise::BLOCK];
        let moved = position.iter_mut().zip(velocity).zip(normals).zip(&mut gains);
        match (push.spreads, push.masses) {
            (&[spread], &[mass]) => self.verlet.simd.vectorise(
                #[inline(always)]
                || {
                    for (((position, velocity), &normal), gain) in moved {
                        *gain = mass * push.particle(position, velocity, spread * f64::from(normal), &round);
                    }
                },
            ),
            (spreads, masses) => {
                for ((((position, velocity), &normal), gain), &kind) in moved.zip(species) {
                    let push_by = spreads[kind as usize] * f64::from(normal);
                    *gain = masses[kind as usize] * push.particle(position, velocity, push_by, &round);
                }
            }
        }
        let mut sums = [0.0; LANES];
        for gains in gains.as_chunks::<LANES>().0 {
            for (sum, gain) in sums.iter_mut().zip(gains) {
                *sum += self.verlet.summation.term(*gain, ENERGY_QUANTUM);
            }
        }
        0.5 * sums.iter().sum::<f64>()
    }
}

impl Push<'_> {
    /// Applies drift, push and drift to one particle. Returns the increase of its squared velocity.
    #[inline(always)]
    fn particle(&self, position: &mut f64, velocity: &mut f64, push: f64, round: impl Fn(f64) -> f64) -> f64 {
        let before = *velocity;
        let after = self.decay * before + push;
        *position += round(self.half_step * (before + after));
        *velocity = after;
        after * after - before * before
    }
}

/// Columns of position and velocity, then of force, species and id.
type MovedColumns<'a> =
    (([&'a mut [f64]; 3], [&'a mut [f64]; 3]), ([&'a mut [f64]; 3], (&'a [u64], &'a [u64])));

/// State of the heat bath in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bath {
    /// Temperature, \[energy\].
    pub temperature: f64,
    /// Number of the step, used as a counter for the noise.
    pub step: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension};
    use crate::particles::Particle;
    use crate::simd::SimdLevel;

    const BOX: Domain = Domain {
        dimension: Dimension::Three,
        origin: [0.0; 3],
        lengths: [1e6; 3],
        boundary: [Boundary::Periodic; 3],
    };

    /// Returns averages over three-dimensional harmonic oscillators at the end of steps: <x^2> k /
    /// kT and <p^2> / m kT.
    fn oscillator(decay: f64, mass: f64, stiffness: f64, timestep: f64) -> [f64; 2] {
        const TEMPERATURE: f64 = 1.7;
        let simd = SimdLevel::detect();
        let dynamics = LangevinDynamics::new(
            VelocityVerlet::new(timestep, &[mass], simd),
            &[mass],
            decay,
            NoiseKey::of_seed(3),
        );
        let threads = Threads::one();
        let at_rest = |id| Particle { id, species: 0, ..Particle::default() };
        let mut particles: Particles = (1..=500).map(at_rest).collect();
        particles.clear_forces(&threads);
        let owned = particles.owned();
        let (mut sums, mut samples) = ([0.0; 2], 0.0);
        for step in 1..=2000 {
            let bath = Bath { temperature: TEMPERATURE, step };
            dynamics.kick_and_drift(HalfKicks::Single, &mut particles, &BOX, &threads, bath);
            for (force, position) in particles.force.iter_mut().zip(&particles.position) {
                for (f, x) in force[..owned].iter_mut().zip(&position[..owned]) {
                    *f = -stiffness * x;
                }
            }
            dynamics.kick(&mut particles, &threads);
            if step > 200 {
                let squares = |columns: &[crate::aligned::Column<f64>; 3]| -> f64 {
                    columns.iter().flat_map(|column| &column[..owned]).map(|value| value * value).sum()
                };
                sums[0] += squares(&particles.position) * stiffness / TEMPERATURE;
                sums[1] += squares(&particles.velocity) * mass / TEMPERATURE;
                samples += 3.0 * owned as f64;
            }
        }
        sums.map(|sum| sum / samples)
    }

    /// The result is exact for both schemes and every time step: positions have the correct
    /// variance, and that of momenta is smaller by the factor 1 - (h w)^2 / 4.
    #[test]
    fn oscillators_have_their_exact_variances() {
        let (mass, stiffness) = (2.0, 8.0_f64);
        for phase in [0.2_f64, 0.8, 1.4] {
            let timestep = phase / (stiffness / mass).sqrt();
            let friction = 1.0 / timestep;
            let half = 0.5 * friction * timestep;
            for decay in [(-friction * timestep).exp(), (1.0 - half) / (1.0 + half)] {
                let [position, momentum] = oscillator(decay, mass, stiffness, timestep);
                let expected = 1.0 - phase * phase / 4.0;
                assert!((position - 1.0).abs() < 0.01, "{phase} {decay}: <x^2> k / kT = {position}");
                assert!((momentum - expected).abs() < 0.01, "{phase} {decay}: <p^2> / m kT = {momentum}");
            }
        }
    }

    #[test]
    fn without_friction_it_is_velocity_verlet() {
        let (threads, simd) = (Threads::one(), SimdLevel::detect());
        let moving = |id: u64| Particle {
            id,
            species: (id % 2) as u32,
            position: [1.0; 3],
            velocity: [id as f64, 0.5, 0.0],
            ..Particle::default()
        };
        for masses in [&[1.3, 1.3][..], &[1.3, 0.7]] {
            let mut particles: Particles = (1..=1000).map(moving).collect();
            particles.clear_forces(&threads);
            let mut expected = particles.clone();
            let verlet = VelocityVerlet::new(0.01, masses, simd);
            verlet.kick_and_drift(HalfKicks::Single, &mut expected, &BOX, &threads);
            let dynamics = LangevinDynamics::new(verlet, masses, 1.0, NoiseKey::of_seed(1));
            let bath = Bath { temperature: 1.0, step: 1 };
            let heat = dynamics.kick_and_drift(HalfKicks::Single, &mut particles, &BOX, &threads, bath);
            assert_eq!(heat, 0.0);
            for (found, wanted) in particles.position.iter().zip(&expected.position) {
                assert!(found.iter().zip(wanted.iter()).all(|(a, b)| (a - b).abs() < 1e-12));
            }
        }
    }

    #[test]
    fn the_heat_is_what_kinetic_energies_gain() {
        let threads = Threads::one();
        let moving = |id: u64| Particle {
            id,
            species: (id % 2) as u32,
            position: [1.0; 3],
            velocity: [0.1, 0.5, -1.0],
            ..Particle::default()
        };
        let masses = [1.5, 0.5];
        let mut particles: Particles = (1..=777).map(moving).collect();
        particles.clear_forces(&threads);
        let kinetic =
            |particles: &Particles| 0.5 * crate::observables::twice_kinetic_energy(particles, &masses);
        let before = kinetic(&particles);
        let verlet = VelocityVerlet::new(0.01, &masses, SimdLevel::detect());
        let dynamics = LangevinDynamics::new(verlet, &masses, 0.5, NoiseKey::of_seed(1));
        let bath = Bath { temperature: 2.0, step: 9 };
        let heat = dynamics.kick_and_drift(HalfKicks::Single, &mut particles, &BOX, &threads, bath);
        let gained = kinetic(&particles) - before;
        assert!((heat - gained).abs() < 1e-9 * gained.abs(), "{heat} {gained}");
    }
}
