//! When the neighbourhood is made anew, and whether that came too late.
//!
//! Cells hold all partners while nobody has moved by more than half the skin since the last rebuild. A policy that
//! rebuilds every N steps without looking trusts the user; rebuilds at which somebody had already moved further are
//! counted as *dangerous*: pairs may have been missed in the steps before. The same holds for steps between rebuilds.

use crate::integrate::largest_displacement2;
use crate::particles::Particles;
use crate::simd::SimdLevel;
use crate::threads::Threads;

/// When to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildPolicy {
    /// Every so many steps.
    Every(u64),
    /// As soon as a particle has moved by more than half the skin: asks all ranks in every step.
    Displacement,
}

/// Positions at the last rebuild and what has happened since.
#[derive(Debug, Clone)]
pub struct RebuildWatch {
    policy: RebuildPolicy,
    skin: f64,
    steps_since: u64,
    reference: [Vec<f64>; 3],
    simd: SimdLevel,
}

/// The policy's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildDecision {
    /// Known without asking other ranks.
    Known(Due),
    /// Depends on the largest displacement over all ranks.
    AskAllRanks,
}

/// Whether this step rebuilds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Rebuild now.
    Yes,
    /// The neighbourhood still holds.
    No,
}

impl RebuildWatch {
    /// Nothing built yet.
    pub fn new(policy: RebuildPolicy, skin: f64, simd: SimdLevel) -> Self {
        Self { policy, skin, steps_since: 0, reference: Default::default(), simd }
    }

    /// Counts a step.
    pub fn count_step(&mut self) -> RebuildDecision {
        self.steps_since += 1;
        match self.policy {
            RebuildPolicy::Every(steps) if self.steps_since >= steps => RebuildDecision::Known(Due::Yes),
            RebuildPolicy::Every(_) => RebuildDecision::Known(Due::No),
            RebuildPolicy::Displacement => RebuildDecision::AskAllRanks,
        }
    }

    /// Largest squared displacement of this rank's particles since the last rebuild; infinite if a position is not a
    /// number any more.
    pub fn displacement2(&self, particles: &Particles, threads: &Threads) -> f64 {
        if self.reference[0].len() != particles.owned() {
            return 0.0;
        }
        let largest = largest_displacement2(particles, &self.reference, threads, self.simd);
        if largest.is_nan() { f64::INFINITY } else { largest }
    }

    /// The decision of [`RebuildPolicy::Displacement`], from the maximum over all ranks.
    pub fn decide(&self, displacement2: f64) -> Due {
        if 4.0 * displacement2 > self.skin * self.skin { Due::Yes } else { Due::No }
    }

    /// Whether a rebuild can come too late: the policy does not look at displacements.
    pub fn can_be_late(&self) -> bool {
        matches!(self.policy, RebuildPolicy::Every(steps) if steps > 1)
    }

    /// A displacement (maximum over all ranks) over half the skin: above 1, pairs may have been missed.
    pub fn over_half_skin(&self, displacement2: f64) -> f64 {
        if displacement2 == 0.0 { 0.0 } else { 2.0 * displacement2.sqrt() / self.skin }
    }

    /// Displacement of one particle since the last rebuild.
    pub fn displacement_of(&self, particles: &Particles, index: usize) -> [f64; 3] {
        let position = particles.position_of(index);
        [0, 1, 2].map(|dim| position[dim] - self.reference[dim].get(index).copied().unwrap_or(position[dim]))
    }

    /// Remembers the present positions as those of the rebuild.
    pub fn rebuilt(&mut self, particles: &Particles) {
        self.steps_since = 0;
        for (reference, column) in self.reference.iter_mut().zip(&particles.position) {
            reference.clear();
            reference.extend_from_slice(&column[..particles.owned()]);
        }
    }
}
