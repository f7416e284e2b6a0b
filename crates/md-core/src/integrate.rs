//! Velocity Verlet (Swope et al. 1982): half kick, drift, new forces, half kick.
//!
//! After [`kick_and_drift`] positions are at t + dt and velocities at t + dt/2; after the forces there, [`kick`] brings
//! the velocities to t + dt.

use crate::domain::Domain;
use crate::particles::Particles;
use crate::simd::SimdLevel;
use crate::threads::Threads;

/// Particles that are kicked and then drift together: three columns of them fill a third of a nearest cache.
const BLOCK: usize = 512;

/// What integration needs beside the particles.
#[derive(Debug, Clone)]
pub struct Integrator {
    /// Time step, \[time\].
    timestep: f64,
    /// timestep / (2 mass) per species.
    half_step_per_mass: Vec<f64>,
    simd: SimdLevel,
}

impl Integrator {
    /// For particles of the given masses.
    pub fn new(timestep: f64, masses: &[f64], simd: SimdLevel) -> Self {
        let half_step_per_mass = masses.iter().map(|mass| 0.5 * timestep / mass).collect();
        Self { timestep, half_step_per_mass, simd }
    }

    /// Half kick, then drift: v += f dt / 2m; x += v dt; bounces off reflecting walls.
    pub fn kick_and_drift(&self, particles: &mut Particles, domain: &Domain, threads: &Threads) {
        let owned = particles.owned();
        let Particles { position, velocity, force, species, .. } = particles;
        let position = position.each_mut().map(|column| &mut column[..owned]);
        let velocity = velocity.each_mut().map(|column| &mut column[..owned]);
        let force = force.each_ref().map(|column| &column[..owned]);
        let columns = (position, velocity, (force, &species[..owned]));
        threads.each(columns, |(position, velocity, (force, species))| {
            for (dim, ((position, velocity), force)) in
                position.into_iter().zip(velocity).zip(force).enumerate()
            {
                // Block by block, so that the drift finds the kicked velocities in the nearest cache.
                let blocks = velocity.chunks_mut(BLOCK).zip(force.chunks(BLOCK)).zip(species.chunks(BLOCK));
                for (((velocity, force), species), position) in blocks.zip(position.chunks_mut(BLOCK)) {
                    self.kick_column(velocity, force, species);
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

    /// Half kick: v += f dt / 2m.
    pub fn kick(&self, particles: &mut Particles, threads: &Threads) {
        let owned = particles.owned();
        let Particles { velocity, force, species, .. } = particles;
        let velocity = velocity.each_mut().map(|column| &mut column[..owned]);
        let force = force.each_ref().map(|column| &column[..owned]);
        threads.each((velocity, force, &species[..owned]), |(velocity, force, species)| {
            for (velocity, force) in velocity.into_iter().zip(force) {
                self.kick_column(velocity, force, species);
            }
        });
    }

    fn kick_column(&self, velocity: &mut [f64], force: &[f64], species: &[u64]) {
        match self.half_step_per_mass[..] {
            [factor] => self.simd.vectorise(|| {
                for (v, f) in velocity.iter_mut().zip(force) {
                    *v += factor * *f;
                }
            }),
            _ => {
                for ((v, f), &kind) in velocity.iter_mut().zip(force).zip(species) {
                    *v += self.half_step_per_mass[kind as usize] * *f;
                }
            }
        }
    }

    fn drift_column(&self, position: &mut [f64], velocity: &[f64]) {
        self.simd.vectorise(|| {
            for (x, v) in position.iter_mut().zip(velocity) {
                *x += self.timestep * *v;
            }
        });
    }
}

/// Largest squared displacement of an owned particle since `reference` was taken; NaN if a position is NaN.
pub fn largest_displacement2(
    particles: &Particles,
    reference: &[Vec<f64>; 3],
    (threads, simd): (&Threads, SimdLevel),
) -> f64 {
    let owned = particles.owned();
    let now = particles.position.each_ref().map(|column| &column[..owned]);
    let then = reference.each_ref().map(|column| &column[..owned]);
    let larger = |a: f64, b: f64| if a > b || a.is_nan() { a } else { b };
    threads.fold((now, then), |(now, then)| largest_of_part(now, then, simd), larger)
}

fn largest_of_part([x, y, z]: [&[f64]; 3], [x0, y0, z0]: [&[f64]; 3], simd: SimdLevel) -> f64 {
    let len = x.len();
    let ([x, y, z], [x0, y0, z0]) = ([x, y, z].map(|c| &c[..len]), [x0, y0, z0].map(|c| &c[..len]));
    simd.vectorise(|| {
        let mut largest = [0.0f64; 8];
        let mut not_a_number = false;
        for i in 0..len {
            let d2 = (x[i] - x0[i]).powi(2) + (y[i] - y0[i]).powi(2) + (z[i] - z0[i]).powi(2);
            let lane = &mut largest[i % 8];
            *lane = if d2 > *lane { d2 } else { *lane };
            not_a_number |= d2.is_nan();
        }
        if not_a_number { f64::NAN } else { largest.into_iter().fold(0.0, f64::max) }
    })
}
