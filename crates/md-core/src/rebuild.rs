//! When the neighbourhood is made anew, and whether that came too late.
//!
//! Cells hold all partners while nobody has moved by more than half the skin since the last rebuild. A policy that
//! rebuilds every N steps without looking trusts the user; rebuilds at which somebody had already moved further are
//! counted as *dangerous*: pairs may have been missed in the steps before. The same holds for steps between rebuilds.
//!
//! A policy that looks at displacements needs the largest over all ranks in every step. Waiting for it would cost a step of few
//! particles a large part of its time. So a rank waits only where the answer may be "rebuild": where the largest displacement of the step
//! before, plus twice what it has grown by in any step lately, is more than half the skin. Otherwise the answer arrives while
//! forces are computed, and the next step reads it. The decisions are those of a rank that always waits, as long as nobody becomes
//! twice as fast as the fastest was in the first step after the rebuild (which is what the largest displacement has grown by then);
//! if somebody does, the next step sees it, counts it as dangerous and rebuilds.

use crate::domain::Domain;
use crate::integrate::largest_displacement2;
use crate::memory;
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
    /// At a rebuild.
    full_skin: f64,
    /// What is left of it: pairs come nearer when the box shrinks.
    skin: f64,
    steps_since: u64,
    /// At the last rebuild, and the lengths of the box then.
    reference: [Vec<f64>; 3],
    lengths: [f64; 3],
    /// The same positions in the box as it is now; empty where that has not changed.
    stretched: [Vec<f64>; 3],
    simd: SimdLevel,
    /// Largest displacement over all ranks at the last step that is known.
    known: f64,
    /// The most by which it has grown in a step: of this neighbourhood, of the one before.
    growth: [f64; 2],
}

/// What a [`RebuildWatch`] knows of the steps that have been made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RebuildHistory {
    /// Steps since the last rebuild.
    pub steps_since: u64,
    /// Largest displacement over all ranks since then, at the last step that is known, \[length\].
    pub known: f64,
    /// The most by which it has grown in a step, \[length\]: of this neighbourhood, of the one before.
    pub growth: [f64; 2],
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
        let growth = [0.0, f64::INFINITY];
        let full_skin = skin;
        Self {
            policy,
            full_skin,
            skin,
            steps_since: 0,
            reference: Default::default(),
            lengths: [0.0; 3],
            stretched: Default::default(),
            simd,
            known: 0.0,
            growth,
        }
    }

    /// Positions of the owned particles at the last rebuild, in the box of that time, per dimension, \[length\].
    pub fn reference(&self) -> &[Vec<f64>; 3] {
        &self.reference
    }

    /// Lengths of the box at the last rebuild, \[length\].
    pub fn lengths(&self) -> [f64; 3] {
        self.lengths
    }

    /// Where displacements are measured from.
    fn origins(&self) -> &[Vec<f64>; 3] {
        if self.stretched[0].is_empty() { &self.reference } else { &self.stretched }
    }

    /// What the next decisions depend on beside the policy and those positions; the same on all ranks.
    pub fn history(&self) -> RebuildHistory {
        let Self { steps_since, known, growth, .. } = *self;
        RebuildHistory { steps_since, known, growth }
    }

    /// Goes on where another watch has ended, after a rebuild at the positions of its last one.
    pub fn recall(&mut self, RebuildHistory { steps_since, known, growth }: RebuildHistory) {
        (self.steps_since, self.known, self.growth) = (steps_since, known, growth);
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
        let largest = largest_displacement2(particles, self.origins(), threads, self.simd);
        if largest.is_nan() { f64::INFINITY } else { largest }
    }

    /// The decision of [`RebuildPolicy::Displacement`], from the maximum over all ranks.
    pub fn decide(&self, displacement2: f64) -> Due {
        if 4.0 * displacement2 > self.skin * self.skin { Due::Yes } else { Due::No }
    }

    /// Takes down the maximum over all ranks at a step.
    pub fn hear(&mut self, displacement2: f64) {
        let displacement = displacement2.sqrt();
        self.growth[0] = self.growth[0].max(displacement - self.known);
        self.known = displacement;
    }

    /// Whether the next step may have to rebuild, going by the steps that are known; no if not even someone twice as fast as
    /// the fastest could get that far.
    pub fn may_be_due(&self) -> bool {
        2.0 * (self.known + 2.0 * self.growth[0].max(self.growth[1])) >= self.skin
    }

    /// The box has been stretched to this one, and the positions with it. Lists hold pairs that were within `list_radius` at the last
    /// rebuild, which are now within as much less as the box has shrunk: that is taken off the skin. What follows depends on the box
    /// of the last rebuild and on this one, not on those in between.
    pub fn stretch(&mut self, list_radius: f64, domain: &Domain) {
        let factors = [0, 1, 2].map(|dim| domain.lengths[dim] / self.lengths[dim]);
        self.stretched.iter_mut().for_each(Vec::clear);
        if domain.lengths != self.lengths {
            for (dim, (stretched, reference)) in self.stretched.iter_mut().zip(&self.reference).enumerate() {
                let (origin, factor) = (domain.origin[dim], factors[dim]);
                memory::reserve(stretched, reference.len());
                stretched.extend(reference.iter().map(|x| origin + (x - origin) * factor));
            }
        }
        let least = factors.into_iter().fold(1.0, f64::min);
        self.skin = (self.full_skin - (1.0 - least) * list_radius).max(0.0);
    }

    /// Whether the box has shrunk so much that no skin is left.
    pub fn is_used_up(&self) -> bool {
        self.skin == 0.0 && self.full_skin > 0.0
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
        [0, 1, 2].map(|dim| position[dim] - self.origins()[dim].get(index).copied().unwrap_or(position[dim]))
    }

    /// Remembers the present positions, and the lengths of the box, as those of the rebuild.
    pub fn rebuilt(&mut self, particles: &Particles, lengths: [f64; 3]) {
        if self.steps_since > 0 {
            self.growth = [0.0, self.growth[0]];
        }
        (self.steps_since, self.known) = (0, 0.0);
        (self.skin, self.lengths) = (self.full_skin, lengths);
        self.stretched.iter_mut().for_each(Vec::clear);
        for (reference, column) in self.reference.iter_mut().zip(&particles.position) {
            reference.clear();
            memory::reserve(reference, particles.owned());
            reference.extend_from_slice(&column[..particles.owned()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> RebuildWatch {
        RebuildWatch::new(RebuildPolicy::Displacement, 1.0, SimdLevel::detect())
    }

    /// Steps of this length until it matters; says before which steps somebody has to wait.
    fn waits(watch: &mut RebuildWatch, step: f64) -> Vec<u32> {
        let mut waits = Vec::new();
        for number in 1.. {
            watch.count_step();
            let may_be_due = watch.may_be_due();
            let displacement = f64::from(number) * step;
            waits.extend(may_be_due.then_some(number));
            watch.hear(displacement * displacement);
            if watch.decide(displacement * displacement) == Due::Yes {
                assert!(may_be_due, "seen too late in step {number}");
                break;
            }
        }
        watch.rebuilt(&Particles::default(), [1.0; 3]);
        waits
    }

    #[test]
    fn nobody_waits_before_half_the_skin_is_near() {
        let mut watch = watch();
        assert_eq!(waits(&mut watch, 0.06), [1, 2, 3, 4, 5, 6, 7, 8, 9], "nothing is known yet");
        assert_eq!(waits(&mut watch, 0.06), [8, 9]);
        assert_eq!(waits(&mut watch, 0.11), [4, 5], "nearly twice as fast as before");
        assert_eq!(waits(&mut watch, 0.3), [2], "more than twice, but the first step tells");
    }

    #[test]
    fn without_a_skin_every_step_waits() {
        let mut watch = RebuildWatch::new(RebuildPolicy::Displacement, 0.0, SimdLevel::detect());
        watch.hear(1e-9);
        assert!(watch.may_be_due());
    }
}
