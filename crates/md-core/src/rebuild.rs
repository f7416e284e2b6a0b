//! The decision when to rebuild cells and neighbour lists, and the detection of rebuilds that come
//! too late.
//!
//! The cells hold all partners of a particle as long as no particle has moved by more than half the
//! skin since the last rebuild. A policy that rebuilds every N steps does not check this. Rebuilds
//! at which a particle had already moved further are counted as *dangerous*: pairs may have been
//! missed in the steps before. Steps between rebuilds are checked in the same way.
//!
//! A policy that checks displacements needs the largest displacement over all ranks in every step.
//! In a run with few particles, waiting for it would take a large part of each step. A rank
//! therefore waits only where the result may require a rebuild: where the largest displacement of
//! the previous step, plus twice its largest growth in a recent step, exceeds half the skin.
//! Otherwise the result arrives while forces are computed, and the next step reads it. The
//! decisions are the same as if a rank always waited, as long as no particle becomes twice as fast
//! as the fastest was in the first step after the rebuild (the growth of the largest displacement
//! in that step). If one does, the next step detects it, counts it as dangerous and rebuilds.

use crate::domain::Domain;
use crate::integrate::largest_displacement2;
use crate::memory;
use crate::particles::Particles;
use crate::simd::SimdLevel;
use crate::threads::Threads;

/// Rule that decides when to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildPolicy {
    /// After this number of steps.
    Every(u64),
    /// As soon as a particle has moved by more than half the skin. Takes the maximum over all ranks
    /// in every step.
    Displacement,
}

/// Positions at the last rebuild and the steps since.
#[derive(Debug, Clone)]
pub struct RebuildWatch {
    policy: RebuildPolicy,
    /// Skin at a rebuild.
    full_skin: f64,
    /// Remaining skin: pairs come closer when the box shrinks.
    skin: f64,
    steps_since: u64,
    /// Positions at the last rebuild, followed by the box lengths at that time.
    reference: [Vec<f64>; 3],
    lengths: [f64; 3],
    /// The reference positions scaled to the current box; empty if the box has not changed.
    stretched: [Vec<f64>; 3],
    simd: SimdLevel,
    /// Largest displacement over all ranks in the last step for which it is known.
    known: f64,
    /// Largest growth of the displacement in one step: since the last rebuild, and between the two
    /// rebuilds before.
    growth: [f64; 2],
}

/// State of a [`RebuildWatch`] that depends on the steps so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RebuildHistory {
    /// Steps since the last rebuild.
    pub steps_since: u64,
    /// Largest displacement over all ranks since then, in the last step for which it is known,
    /// \[length\].
    pub known: f64,
    /// Largest growth of the displacement in one step, \[length\]: since the last rebuild, and
    /// between the two rebuilds before.
    pub growth: [f64; 2],
}

/// Result of counting a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildDecision {
    /// The decision does not depend on other ranks.
    Known(Due),
    /// The decision depends on the largest displacement over all ranks.
    AskAllRanks,
}

/// Whether this step rebuilds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Rebuild now.
    Yes,
    /// The cells and neighbour lists are still valid.
    No,
}

impl RebuildWatch {
    /// Creates a watch without reference positions.
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

    /// Returns the positions of the owned particles at the last rebuild, in the box of that time,
    /// per dimension, \[length\].
    pub fn reference(&self) -> &[Vec<f64>; 3] {
        &self.reference
    }

    /// Returns the lengths of the box at the last rebuild, \[length\].
    pub fn lengths(&self) -> [f64; 3] {
        self.lengths
    }

    /// Returns the positions from which displacements are measured.
    fn origins(&self) -> &[Vec<f64>; 3] {
        if self.stretched[0].is_empty() { &self.reference } else { &self.stretched }
    }

    /// Returns the state on which the next decisions depend, apart from the policy and the
    /// reference positions. It is the same on all ranks.
    pub fn history(&self) -> RebuildHistory {
        let Self { steps_since, known, growth, .. } = *self;
        RebuildHistory { steps_since, known, growth }
    }

    /// Restores the history of another watch, after a rebuild at its reference positions.
    pub fn recall(&mut self, RebuildHistory { steps_since, known, growth }: RebuildHistory) {
        (self.steps_since, self.known, self.growth) = (steps_since, known, growth);
    }

    /// Counts a step and returns whether it rebuilds.
    pub fn count_step(&mut self) -> RebuildDecision {
        self.steps_since += 1;
        match self.policy {
            RebuildPolicy::Every(steps) if self.steps_since >= steps => RebuildDecision::Known(Due::Yes),
            RebuildPolicy::Every(_) => RebuildDecision::Known(Due::No),
            RebuildPolicy::Displacement => RebuildDecision::AskAllRanks,
        }
    }

    /// Returns the largest squared displacement of this rank's particles since the last rebuild, or
    /// infinity if a position is NaN.
    pub fn displacement2(&self, particles: &Particles, threads: &Threads) -> f64 {
        if self.reference[0].len() != particles.owned() {
            return 0.0;
        }
        let largest = largest_displacement2(particles, self.origins(), threads, self.simd);
        if largest.is_nan() { f64::INFINITY } else { largest }
    }

    /// Returns the decision of [`RebuildPolicy::Displacement`] for the maximum over all ranks.
    pub fn decide(&self, displacement2: f64) -> Due {
        if 4.0 * displacement2 > self.skin * self.skin { Due::Yes } else { Due::No }
    }

    /// Records the maximum over all ranks in a step.
    pub fn hear(&mut self, displacement2: f64) {
        let displacement = displacement2.sqrt();
        self.growth[0] = self.growth[0].max(displacement - self.known);
        self.known = displacement;
    }

    /// Returns whether the next step may have to rebuild, estimated from the steps known so far.
    /// Returns `false` only if even a particle twice as fast as the fastest could not move that
    /// far.
    pub fn may_be_due(&self) -> bool {
        2.0 * (self.known + 2.0 * self.growth[0].max(self.growth[1])) >= self.skin
    }

    /// Adapts the watch to a box that has been stretched to `domain` together with the positions.
    /// Lists hold the pairs that were within `list_radius` at the last rebuild. If the box has
    /// shrunk, that radius has shrunk by the same factor, and the difference is subtracted from the
    /// skin. The result depends only on the box of the last rebuild and on this one, not on those
    /// in between.
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

    /// Returns whether no skin is left because the box has shrunk.
    pub fn is_used_up(&self) -> bool {
        self.skin == 0.0 && self.full_skin > 0.0
    }

    /// Returns whether a rebuild can come too late because the policy does not check displacements.
    pub fn can_be_late(&self) -> bool {
        matches!(self.policy, RebuildPolicy::Every(steps) if steps > 1)
    }

    /// Returns the ratio of a displacement (maximum over all ranks) to half the skin. Above 1,
    /// pairs may have been missed.
    pub fn over_half_skin(&self, displacement2: f64) -> f64 {
        if displacement2 == 0.0 { 0.0 } else { 2.0 * displacement2.sqrt() / self.skin }
    }

    /// Returns the displacement of one particle since the last rebuild.
    pub fn displacement_of(&self, particles: &Particles, index: usize) -> [f64; 3] {
        let position = particles.position_of(index);
        [0, 1, 2].map(|dim| position[dim] - self.origins()[dim].get(index).copied().unwrap_or(position[dim]))
    }

    /// Stores the current positions and the lengths of the box as those of the last rebuild.
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

    /// Takes steps of length `step` until a rebuild is due. Returns the steps that had to wait for
    /// the maximum over all ranks.
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
