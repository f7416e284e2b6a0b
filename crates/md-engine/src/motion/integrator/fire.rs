//! Energy minimisation by FIRE 2.0 (Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006); Guenole et
//! al., Comput. Mater. Sci. 175, 109584 (2020)): molecular dynamics whose velocities are turned
//! towards the forces. It accelerates while the motion goes downhill and stops where it would go
//! uphill.
//!
//! Each step is a semi-implicit Euler step, v += dt F / m, v = (1 - a) v + a F |v| / |F|, x += dt
//! v. No particle moves by more than a tenth of sigma in a step, so that minimisation may begin
//! with overlapping particles. It ends when no force exceeds the tolerance. Each step takes one sum
//! and two maxima over all ranks.

use md_core::Particles;
use md_core::integrate::HalfKicks;

use super::{Completion, Integrate, KeyFault, Keys, Minimisation, Motion, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of minimisation by FIRE.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct FireKeys {
    /// Minimisation ends when no force on a particle exceeds this, in units of epsilon / sigma.
    #[cfg_attr(feature = "serde", serde(default = "usual_tolerance"))]
    pub force_tolerance: f64,
}

#[cfg(feature = "serde")]
fn usual_tolerance() -> f64 {
    FireKeys::default().force_tolerance
}

impl Default for FireKeys {
    fn default() -> Self {
        Self { force_tolerance: 1e-6 }
    }
}

impl Keys for FireKeys {
    type Built = Fire;

    fn temperature(&self) -> Option<Temperature> {
        None
    }

    fn check(&self) -> Result<(), KeyFault> {
        KeyFault::unless_positive("force_tolerance", self.force_tolerance)
    }

    fn build(self, system: &System) -> Result<Fire, EngineError> {
        let timestep = system.timestep;
        Ok(Fire {
            tolerance: self.force_tolerance,
            first_timestep: timestep,
            timestep,
            mixing: MIXING,
            downhill: 0,
            steps: 0,
            largest_force: f64::INFINITY,
            is_over: false,
        })
    }
}

/// Constants of Guenole et al.
const MIXING: f64 = 0.25;
const MIXING_FALLS_BY: f64 = 0.99;
const TIMESTEP_GROWS_BY: f64 = 1.1;
const TIMESTEP_FALLS_BY: f64 = 0.5;
const LONGEST_TIMESTEP: f64 = 10.0;
const SHORTEST_TIMESTEP: f64 = 0.02;
const STEPS_BEFORE_FASTER: u64 = 20;
/// The value used by LAMMPS, in units of sigma.
const LONGEST_MOVE: f64 = 0.1;

/// State of a FIRE minimisation.
#[derive(Debug)]
pub(super) struct Fire {
    tolerance: f64,
    first_timestep: f64,
    timestep: f64,
    /// The mixing parameter a in the equations above.
    mixing: f64,
    /// Number of consecutive downhill steps.
    downhill: u64,
    steps: u64,
    /// Largest force on a particle of any rank after the last step.
    largest_force: f64,
    /// Whether a step has been made in which nothing moved, because the minimisation had converged.
    is_over: bool,
}

/// Sums over all particles: F . v, F . F, v . v, F . v / m, F . F / m^2.
#[derive(Debug, Clone, Copy, Default)]
struct Sums([f64; 5]);

/// Largest speed and largest F / m of any particle.
type Fastest = [f64; 2];

fn squared(vector: [f64; 3]) -> f64 {
    dot(vector, vector)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn velocity_of(particles: &Particles, index: usize) -> [f64; 3] {
    [0, 1, 2].map(|dim| particles.velocity[dim][index])
}

/// Returns the sums and maxima over the particles of this rank.
fn sums(particles: &Particles, masses: &[f64]) -> (Sums, Fastest) {
    let (mut sums, mut fastest) = (Sums::default(), [0.0_f64; 2]);
    for i in 0..particles.owned() {
        let (force, velocity) = (particles.force_of(i), velocity_of(particles, i));
        let mass = masses[particles.species[i] as usize];
        let (power, force2, speed2) = (dot(force, velocity), squared(force), squared(velocity));
        let terms = [power, force2, speed2, power / mass, force2 / (mass * mass)];
        sums.0.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        fastest = [fastest[0].max(speed2.sqrt()), fastest[1].max(force2.sqrt() / mass)];
    }
    (sums, fastest)
}

impl Fire {
    /// Adapts time step and mixing to the sign of F . v; returns whether the motion goes downhill.
    fn adapt(&mut self, power: f64) -> bool {
        self.steps += 1;
        if power > 0.0 || self.steps == 1 {
            self.downhill += 1;
            if self.downhill > STEPS_BEFORE_FASTER {
                let longest = LONGEST_TIMESTEP * self.first_timestep;
                self.timestep = (self.timestep * TIMESTEP_GROWS_BY).min(longest);
                self.mixing *= MIXING_FALLS_BY;
            }
            return true;
        }
        self.downhill = 0;
        if self.steps > STEPS_BEFORE_FASTER {
            let shortest = SHORTEST_TIMESTEP * self.first_timestep;
            self.timestep = (self.timestep * TIMESTEP_FALLS_BY).max(shortest);
        }
        self.mixing = MIXING;
        false
    }

    /// Advances every particle of this rank by one step.
    fn advance(&self, motion: &mut Motion, Sums(sums): Sums, fastest: Fastest) {
        let Motion { particles, domain, masses, .. } = motion;
        let [_, force2, speed2, power_per_mass, acceleration2] = sums;
        let dt = self.timestep;
        let speed = (speed2 + 2.0 * dt * power_per_mass + dt * dt * acceleration2).max(0.0).sqrt();
        let turn = if force2 > 0.0 { self.mixing * speed / force2.sqrt() } else { 0.0 };
        let heaviest = masses.iter().copied().fold(0.0, f64::max);
        let bound = (1.0 - self.mixing) * (fastest[0] + dt * fastest[1]) + turn * heaviest * fastest[1];
        let time = if bound * dt > LONGEST_MOVE { LONGEST_MOVE / bound } else { dt };
        for dim in 0..domain.dimension.count() {
            for i in 0..particles.owned() {
                let force = particles.force[dim][i];
                let mass = masses[particles.species[i] as usize];
                let kicked = particles.velocity[dim][i] + dt * force / mass;
                let velocity = (1.0 - self.mixing) * kicked + turn * force;
                particles.velocity[dim][i] = velocity;
                particles.position[dim][i] += time * velocity;
            }
        }
        if domain.has_walls() {
            domain.reflect(particles);
        }
    }
}

impl Integrate for Fire {
    fn before_forces(&mut self, _half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError> {
        self.is_over = self.is_finished();
        if !self.is_over {
            let (mut total, mut fastest) = sums(motion.particles, motion.masses);
            motion.world.sum(&mut total.0)?;
            motion.world.max(&mut fastest)?;
            if !self.adapt(total.0[0]) {
                motion.particles.scale_velocities([0.0; 3], motion.threads);
                let [_, force2, _, _, acceleration2] = total.0;
                total = Sums([0.0, force2, 0.0, 0.0, acceleration2]);
                fastest[0] = 0.0;
            }
            self.advance(motion, total, fastest);
        }
        motion.particles.clear_forces(motion.threads);
        Ok(())
    }

    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        let own = (0..motion.particles.owned()).map(|i| squared(motion.particles.force_of(i)));
        let mut largest = [own.fold(0.0, f64::max).sqrt()];
        motion.world.max(&mut largest)?;
        [self.largest_force] = largest;
        if self.is_finished() {
            motion.particles.scale_velocities([0.0; 3], motion.threads);
        }
        Ok(())
    }

    fn completion(&self) -> Completion {
        Completion::Immediate
    }

    fn is_finished(&self) -> bool {
        self.largest_force <= self.tolerance
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn minimisation(&self) -> Option<Minimisation> {
        let &Self { largest_force, tolerance: force_tolerance, steps, .. } = self;
        (steps > 0).then_some(Minimisation { largest_force, force_tolerance })
    }

    fn memory(&self) -> Vec<f64> {
        let (downhill, steps, is_over) =
            (self.downhill as f64, self.steps as f64, f64::from(u8::from(self.is_over)));
        vec![self.timestep, self.mixing, downhill, steps, self.largest_force, is_over]
    }

    fn recall(&mut self, words: &[f64]) -> Result<(), EngineError> {
        let &[timestep, mixing, downhill, steps, largest_force, is_over] = words else {
            return Err(super::does_not_fit(words.len()));
        };
        (self.timestep, self.mixing, self.largest_force) = (timestep, mixing, largest_force);
        (self.downhill, self.steps, self.is_over) = (downhill as u64, steps as u64, is_over != 0.0);
        Ok(())
    }
}
