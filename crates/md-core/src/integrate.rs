//! Velocity Verlet (Swope et al. 1982): half kick, drift, new forces, half kick.
//!
//! After [`VelocityVerlet::kick_and_drift`] positions are at t + dt and velocities at t + dt/2.
//! After the forces have been computed, [`VelocityVerlet::kick`] advances the velocities to t + dt.
//! If these velocities are not needed, the next step begins with both half kicks
//! ([`HalfKicks::Fused`]). The sums and their order are the same, so the results are bit-identical.
//! This saves a pass over velocities and forces, whose cost is that of memory access: a twentieth
//! of a step once the particles exceed the cache.

mod langevin;

pub use langevin::{Bath, LangevinDynamics};

use crate::displacement;
use crate::domain::Domain;
use crate::force::Summation;
use crate::particles::Particles;
use crate::quantum::{POSITION_QUANTUM, VELOCITY_QUANTUM, rounded};
use crate::simd::SimdLevel;
use crate::threads::Threads;

/// Number of particles that are kicked and then drift together; three columns of them fill a third
/// of the first-level cache.
const BLOCK: usize = 512;

/// Half kicks before a drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfKicks {
    /// The half kick of the current step.
    Single,
    /// Also the half kick of the previous step, which was left out there.
    Fused,
}

impl HalfKicks {
    /// Returns the velocity after the half kicks, each of which adds `kick`.
    #[inline(always)]
    fn kicked(self, velocity: f64, kick: f64) -> f64 {
        match self {
            Self::Single => velocity + kick,
            Self::Fused => velocity + kick + kick,
        }
    }
}

/// The loops of velocity Verlet with their constant parameters.
#[derive(Debug, Clone)]
pub struct VelocityVerlet {
    /// Time step, \[time\].
    timestep: f64,
    /// timestep / (2 mass) per species.
    half_step_per_mass: Vec<f64>,
    summation: Summation,
    simd: SimdLevel,
}

impl VelocityVerlet {
    /// Creates the integrator for particles of the given masses.
    pub fn new(timestep: f64, masses: &[f64], simd: SimdLevel) -> Self {
        let half_step_per_mass = masses.iter().map(|mass| 0.5 * timestep / mass).collect();
        Self { timestep, half_step_per_mass, summation: Summation::Rounded, simd }
    }

    /// Returns the integrator with this summation. With [`Summation::Exact`], changes of positions
    /// and velocities are multiples of their quanta ([`crate::quantum`]).
    #[must_use]
    pub fn with_summation(self, summation: Summation) -> Self {
        Self { summation, ..self }
    }

    /// Applies half kicks, then drift: v += f dt / 2m; x += v dt. Reflects particles at walls. Sets
    /// the forces on owned particles to zero, ready for the new ones.
    pub fn kick_and_drift(
        &self,
        kicks: HalfKicks,
        particles: &mut Particles,
        domain: &Domain,
        threads: &Threads,
    ) {
        let owned = particles.owned();
        let Particles { position, velocity, force, species, .. } = particles;
        let position = position.each_mut().map(|column| &mut column[..owned]);
        let velocity = velocity.each_mut().map(|column| &mut column[..owned]);
        let force = force.each_mut().map(|column| &mut column[..owned]);
        let columns = ((position, velocity), (force, &species[..owned]));
        threads.each(columns, |((position, velocity), (force, species))| {
            for (dim, ((position, velocity), force)) in
                position.into_iter().zip(velocity).zip(force).enumerate()
            {
                // Work in blocks, so that all loops but the first find their data in the
                // first-level cache.
                let blocks = velocity.chunks_mut(BLOCK).zip(force.chunks_mut(BLOCK));
                let blocks = blocks.zip(species.chunks(BLOCK)).zip(position.chunks_mut(BLOCK));
                for (((velocity, force), species), position) in blocks {
                    self.kick_column(kicks, velocity, force, species);
                    force.fill(0.0);
                    if dim < domain.dimension.count() {
                        self.drift_column(position, velocity);
                    }
                }
            }
        });
        if domain.has_walls() {
            domain.reflect(particles);
        }
    }

    /// Applies a half kick: v += f dt / 2m.
    pub fn kick(&self, particles: &mut Particles, threads: &Threads) {
        let owned = particles.owned();
        let Particles { velocity, force, species, .. } = particles;
        let velocity = velocity.each_mut().map(|column| &mut column[..owned]);
        let force = force.each_ref().map(|column| &column[..owned]);
        threads.each(((velocity, force), &species[..owned]), |((velocity, force), species)| {
            for (velocity, force) in velocity.into_iter().zip(force) {
                self.kick_column(HalfKicks::Single, velocity, force, species);
            }
        });
    }

    fn kick_column(&self, kicks: HalfKicks, velocity: &mut [f64], force: &[f64], species: &[u64]) {
        match self.summation {
            Summation::Rounded => self.kick_column_by(kicks, velocity, force, species, |kick| kick),
            Summation::Exact => {
                self.kick_column_by(kicks, velocity, force, species, |kick| rounded(kick, VELOCITY_QUANTUM));
            }
        }
    }

    /// Changes velocities by half kicks on which `round` has been called.
    #[inline(always)]
    fn kick_column_by(
        &self,
        kicks: HalfKicks,
        velocity: &mut [f64],
        force: &[f64],
        species: &[u64],
        round: impl Fn(f64) -> f64,
    ) {
        let pairs = velocity.iter_mut().zip(force);
        match self.half_step_per_mass[..] {
            [factor] => self.simd.vectorise(
                #[inline(always)]
                || {
                    for (v, f) in pairs {
                        *v = kicks.kicked(*v, round(factor * f));
                    }
                },
            ),
            ref factors => {
                for ((v, f), &kind) in pairs.zip(species) {
                    *v = kicks.kicked(*v, round(factors[kind as usize] * f));
                }
            }
        }
    }

    fn drift_column(&self, position: &mut [f64], velocity: &[f64]) {
        match self.summation {
            Summation::Rounded => self.drift_column_by(position, velocity, |path| path),
            Summation::Exact => {
                self.drift_column_by(position, velocity, |path| rounded(path, POSITION_QUANTUM));
            }
        }
    }

    /// Changes positions by paths on which `round` has been called.
    #[inline(always)]
    fn drift_column_by(&self, position: &mut [f64], velocity: &[f64], round: impl Fn(f64) -> f64) {
        self.simd.vectorise(
            #[inline(always)]
            || {
                for (x, v) in position.iter_mut().zip(velocity) {
                    *x += round(self.timestep * *v);
                }
            },
        );
    }
}

/// Returns the largest squared displacement of an owned particle from its position in `reference`;
/// NaN if a position is NaN.
pub fn largest_displacement2(
    particles: &Particles,
    reference: &[Vec<f64>; 3],
    threads: &Threads,
    simd: SimdLevel,
) -> f64 {
    let owned = particles.owned();
    let now = particles.position.each_ref().map(|column| &column[..owned]);
    let then = reference.each_ref().map(|column| &column[..owned]);
    displacement::largest_displacement2(now, then, [0.0; 3], threads, simd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Boundary;
    use crate::particles::Particle;
    use crate::{Dimension, random};

    const PERIODIC: Domain = Domain {
        dimension: Dimension::Three,
        origin: [0.0; 3],
        lengths: [10.0; 3],
        boundary: [Boundary::Periodic; 3],
    };

    /// Returns more particles than a block holds, of two species and with forces.
    fn particles(threads: &Threads) -> Particles {
        let normal = |id: u64, which: u64| random::normal_vector(7, 10 * id + which);
        let particle = |id: u64| Particle {
            id,
            species: (id % 2) as u32,
            position: normal(id, 0),
            velocity: normal(id, 1),
            ..Particle::default()
        };
        let mut particles: Particles = (1..=1000).map(particle).collect();
        particles.clear_forces(threads);
        for index in 0..particles.owned() {
            for (column, value) in particles.force.iter_mut().zip(normal(particles.id[index], 2)) {
                column[index] = value;
            }
        }
        particles
    }

    #[test]
    fn both_kicks_at_once_are_the_same_to_the_last_bit() {
        let threads = Threads::one();
        for masses in [&[1.3][..], &[1.3, 0.7]] {
            let integrator = VelocityVerlet::new(0.005, masses, SimdLevel::detect());
            let mut apart = particles(&threads);
            let mut at_once = apart.clone();
            integrator.kick(&mut apart, &threads);
            integrator.kick_and_drift(HalfKicks::Single, &mut apart, &PERIODIC, &threads);
            integrator.kick_and_drift(HalfKicks::Fused, &mut at_once, &PERIODIC, &threads);
            let state = |particles: &Particles| {
                particles.position.iter().chain(&particles.velocity).map(|c| c.to_vec()).collect::<Vec<_>>()
            };
            assert_eq!(state(&apart), state(&at_once));
        }
    }

    /// Holds for every time step h: x = x0 cos(n a), where cos a = 1 - (h w)^2 / 2, and m v^2 + k
    /// x^2 (1 - (h w)^2 / 4) is conserved.
    #[test]
    fn an_oscillator_goes_its_exact_way() {
        const MASS: f64 = 2.0;
        const STIFFNESS: f64 = 8.0;
        const START: f64 = 0.7;
        let threads = Threads::one();
        let pull = |particles: &mut Particles| particles.force[0][0] = -STIFFNESS * particles.position[0][0];
        for phase in [0.1_f64, 0.8, 1.9] {
            let timestep = phase / (STIFFNESS / MASS).sqrt();
            let integrator = VelocityVerlet::new(timestep, &[MASS], SimdLevel::detect());
            let start = Particle { id: 1, species: 0, position: [START, 0.0, 0.0], ..Particle::default() };
            let mut particles: Particles = std::iter::once(start).collect();
            particles.clear_forces(&threads);
            pull(&mut particles);
            let conserved = |particles: &Particles| {
                let [x, v] = [particles.position[0][0], particles.velocity[0][0]];
                MASS * v * v + STIFFNESS * x * x * (1.0 - 0.25 * phase * phase)
            };
            let before = conserved(&particles);
            let angle = (1.0 - 0.5 * phase * phase).acos();
            for step in 1..=1000 {
                integrator.kick_and_drift(HalfKicks::Single, &mut particles, &PERIODIC, &threads);
                pull(&mut particles);
                integrator.kick(&mut particles, &threads);
                let expected = START * (f64::from(step) * angle).cos();
                assert!((particles.position[0][0] - expected).abs() < 1e-11, "{phase}, step {step}");
                assert!((conserved(&particles) / before - 1.0).abs() < 1e-12, "{phase}, step {step}");
            }
        }
    }

    #[test]
    fn the_drift_leaves_no_forces() {
        let threads = Threads::one();
        let mut particles = particles(&threads);
        let integrator = VelocityVerlet::new(0.005, &[1.0, 1.0], SimdLevel::detect());
        integrator.kick_and_drift(HalfKicks::Single, &mut particles, &PERIODIC, &threads);
        assert!(particles.force.iter().all(|column| column.iter().all(|&force| force == 0.0)));
    }
}
