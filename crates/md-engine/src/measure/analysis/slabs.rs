//! Sums over the particles in slabs of equal width perpendicular to an axis of the box.

use md_comm::{CommError, World};
use md_core::momentum::MotionSums;

use crate::measure::Snapshot;

/// Slabs that fill the box, and follow its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slabs {
    /// Axis perpendicular to the slabs.
    pub axis: usize,
    /// Number of slabs.
    pub bins: usize,
}

/// Sums over the particles in one slab.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlabSums {
    /// Particles by species.
    pub counts: Vec<f64>,
    /// Sum of masses times squared velocities, relative to the velocity of the whole system where
    /// its momentum is conserved.
    pub twice_kinetic: f64,
    /// Sum of velocities.
    pub velocity: [f64; 3],
    /// Sum of momenta.
    momentum: [f64; 3],
    /// Sum of masses.
    mass: f64,
    /// Sum of momentum fluxes, relative to the same velocity, and virials; divided by the volume,
    /// the pressures xx, yy and zz.
    pub stress: [f64; 3],
}

impl SlabSums {
    /// Reads the counts by species and the sums after them.
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

    /// Makes the squares of velocities relative to a common velocity u: m (v - u)^2 = m v^2 - 2 u m
    /// v + u^2 m.
    fn take_off(&mut self, common: [f64; 3]) {
        for (dim, velocity) in common.into_iter().enumerate() {
            let share = velocity * (velocity * self.mass - 2.0 * self.momentum[dim]);
            self.twice_kinetic += share;
            self.stress[dim] += share;
        }
    }
}

/// Returns the motion sums over all slabs.
fn motion(slabs: &[SlabSums]) -> MotionSums {
    let mut sums = MotionSums::default();
    for slab in slabs {
        sums.twice_kinetic += slab.twice_kinetic;
        sums.momentum.iter_mut().zip(slab.momentum).for_each(|(sum, momentum)| *sum += momentum);
        sums.mass += slab.mass;
    }
    sums
}

/// Number of sums per slab besides the particle counts.
const SUMS: usize = 10;

impl Slabs {
    /// Returns the sums over the particles of all ranks, slab by slab. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
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

    /// Returns the slab of a position.
    fn slab(&self, now: &Snapshot, position: [f64; 3]) -> usize {
        let Self { axis, bins } = *self;
        let (domain, wrapped) = (now.domain, now.domain.wrap_position(position));
        let share = (wrapped[axis] - domain.origin[axis]) / domain.lengths[axis];
        // Positions beyond a reflecting face count to the nearest slab.
        ((share * bins as f64).max(0.0) as usize).min(bins - 1)
    }
}
