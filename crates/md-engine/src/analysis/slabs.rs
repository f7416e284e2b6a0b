//! Sums over the particles in slabs of equal width across an axis of the box.

use md_comm::{CommError, World};
use md_core::momentum::MotionSums;

use crate::observer::Snapshot;

/// Slabs that fill the box, and follow it where it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slabs {
    /// Across which they lie.
    pub axis: usize,
    /// Their number.
    pub bins: usize,
}

/// Sums over the particles in one slab.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlabSums {
    /// Particles by species.
    pub counts: Vec<f64>,
    /// Of masses times squared velocities, about that of the whole system where nothing changes its
    /// momentum.
    pub twice_kinetic: f64,
    /// Of velocities.
    pub velocity: [f64; 3],
    /// Of momenta.
    momentum: [f64; 3],
    /// Of masses.
    mass: f64,
    /// Of momentum fluxes, about the same velocity, and virials, which over the volume are the
    /// pressures xx, yy and zz.
    pub stress: [f64; 3],
}

impl SlabSums {
    /// From counts by species and the sums behind them.
    fn of_words(words: &[f64], masses: &[f64]) -> Self {
        let (counts, sums) = words.split_at(masses.len());
        let three = |first: usize| [0, 1, 2].map(|dim| sums[first + dim]);
        let mass = counts.iter().zip(masses).map(|(count, mass)| count * mass).sum();
        Self {
            counts: counts.to_vec(),
            twice_kinetic: sums[0],
            velocity: three(1),
            stress: three(4),
            momentum: three(7),
            mass,
        }
    }

    /// Makes the squares of velocities those about a common one u: m (v - u)^2 is
    /// m v^2 - 2 u m v + u^2 m.
    fn take_off(&mut self, common: [f64; 3]) {
        for (dim, velocity) in common.into_iter().enumerate() {
            let share = velocity * (velocity * self.mass - 2.0 * self.momentum[dim]);
            self.twice_kinetic += share;
            self.stress[dim] += share;
        }
    }
}

/// The motion of the particles in all slabs.
fn motion(slabs: &[SlabSums]) -> MotionSums {
    let mut sums = MotionSums::default();
    for slab in slabs {
        sums.twice_kinetic += slab.twice_kinetic;
        sums.momentum.iter_mut().zip(slab.momentum).for_each(|(sum, momentum)| *sum += momentum);
        sums.mass += slab.mass;
    }
    sums
}

/// Sums beside the numbers of particles.
const SUMS: usize = 10;

impl Slabs {
    /// Sums over the particles of all ranks, slab by slab. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn sums(
        &self,
        now: &Snapshot,
        masses: &[f64],
        world: &dyn World,
    ) -> Result<Vec<SlabSums>, CommError> {
        let (particles, species) = (now.particles, masses.len());
        let width = species + SUMS;
        let mut words = vec![0.0; self.bins * width];
        for index in 0..particles.owned() {
            let kind = particles.species[index] as usize;
            let mass = masses.get(kind).copied().unwrap_or_default();
            let velocity = particles.get(index).velocity;
            let [px, py, pz] = velocity.map(|v| mass * v);
            let flux = velocity.map(|v| mass * v * v);
            let virial =
                now.particle_virials.map_or([0.0; 3], |columns| columns.each_ref().map(|it| it[index]));
            let slab = &mut words[width * self.slab(now, particles.position_of(index))..][..width];
            let (counts, sums) = slab.split_at_mut(species);
            counts[kind] += 1.0;
            let [vx, vy, vz] = velocity;
            let [xx, yy, zz] = [0, 1, 2].map(|dim: usize| flux[dim] + virial[dim]);
            let terms = [flux.iter().sum(), vx, vy, vz, xx, yy, zz, px, py, pz];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        world.sum(&mut words)?;
        let slabs = words.chunks_exact(width).map(|words| SlabSums::of_words(words, masses));
        let mut slabs: Vec<SlabSums> = slabs.collect();
        let drift = now.conserved_momentum.drift(&motion(&slabs));
        if drift != [0.0; 3] {
            slabs.iter_mut().for_each(|slab| slab.take_off(drift));
        }
        Ok(slabs)
    }

    /// Where a position lies.
    fn slab(&self, now: &Snapshot, position: [f64; 3]) -> usize {
        let Self { axis, bins } = *self;
        let (domain, wrapped) = (now.domain, now.domain.wrap_position(position));
        let share = (wrapped[axis] - domain.origin[axis]) / domain.lengths[axis];
        // Beyond a face that reflects there is no slab.
        ((share * bins as f64).max(0.0) as usize).min(bins - 1)
    }
}
