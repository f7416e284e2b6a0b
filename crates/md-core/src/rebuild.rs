//! The decision when to rebuild cells and neighbour lists, and the detection of rebuilds that come
//! too late.
//!
//! The cells hold all partners of a particle as long as no particle is further than half the skin
//! from its position of reference, for which cells and lists were made at the last rebuild. That is
//! its predicted position in the middle of the time to the next rebuild ([`crate::prediction`]):
//! the displacement from there first falls, then grows. A policy that rebuilds every N steps does
//! not check this. Rebuilds at which a particle had already moved further are counted as
//! *dangerous*: pairs may have been missed in the steps before. Steps between rebuilds are checked
//! in the same way.
//!
//! A policy that checks displacements needs the largest displacement over all ranks in every step.
//! In a run with few particles, waiting for it would take a large part of each step. A rank
//! therefore waits only where the result may require a rebuild: where the largest displacement of
//! the previous step, plus twice its largest growth in a recent step, exceeds half the skin.
//! Otherwise the result arrives while forces are computed, and the next step reads it. The
//! decisions are the same as if a rank always waited, as long as no particle becomes twice as fast
//! as the fastest was (the largest growth of the largest displacement in a step). If one does, the
//! next step detects it, counts it as dangerous and rebuilds.

use crate::domain::Domain;
use crate::integrate::largest_displacement2;
use crate::memory;
use crate::particles::Particles;
use crate::prediction::{Prediction, places};
use crate::simd::SimdLevel;
use crate::threads::Threads;

/// Longest displacement from the predicted position just after a rebuild, over half the skin. The
/// rest is for particles that do not go on as predicted.
const LONGEST_SHIFT: f64 = 0.9;

/// Longest interval of [`RebuildPolicy::Every`] at which positions are predicted. Over more steps,
/// with the usual time steps, particles of a solid turn round.
pub const LONGEST_PREDICTED_INTERVAL: u64 = 20;

/// Rule that decides when to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildPolicy {
    /// After this number of steps.
    Every(u64),
    /// As soon as a particle is further than half the skin from its position of reference. Takes
    /// the maximum over all ranks in every step.
    Displacement,
}

/// Positions of reference of the last rebuild and the steps since.
#[derive(Debug, Clone)]
pub struct RebuildWatch {
    policy: RebuildPolicy,
    /// Skin at a rebuild.
    full_skin: f64,
    /// Remaining skin: pairs come closer when the box shrinks.
    skin: f64,
    steps_since: u64,
    /// Positions for which cells and lists were made, followed by the box lengths at that time.
    /// During a rebuild, the true positions.
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
    /// Steps by which the reference of the last rebuild was ahead of the positions.
    steps_ahead: f64,
    /// Steps since the last rebuild in which the largest displacement fell without interruption.
    falling: u64,
    prediction: Prediction,
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
    /// Steps by which the reference of the last rebuild was ahead of the positions.
    pub steps_ahead: f64,
    /// Steps since the last rebuild in which the largest displacement fell without interruption.
    pub falling: u64,
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
            steps_ahead: 0.0,
            falling: 0,
            prediction: Prediction::NOW,
        }
    }

    /// Returns the positions of the owned particles for which the last rebuild was made, in the box
    /// of that time, per dimension, \[length\].
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
        let Self { steps_since, known, growth, steps_ahead, falling, .. } = *self;
        RebuildHistory { steps_since, known, growth, steps_ahead, falling }
    }

    /// Restores the history of another watch, after a rebuild at its reference positions.
    pub fn recall(&mut self, history: RebuildHistory) {
        let RebuildHistory { steps_since, known, growth, steps_ahead, falling } = history;
        (self.steps_since, self.known, self.growth) = (steps_since, known, growth);
        (self.steps_ahead, self.falling) = (steps_ahead, falling);
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

    /// Returns the largest squared displacement of this rank's particles from their positions of
    /// reference, or infinity if a position is NaN.
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
        if displacement < self.known && self.falling + 1 >= self.steps_since {
            self.falling = self.steps_since;
        }
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

    /// Returns the displacement of one particle from its position of reference.
    pub fn displacement_of(&self, particles: &Particles, index: usize) -> [f64; 3] {
        let position = particles.position_of(index);
        [0, 1, 2].map(|dim| position[dim] - self.origins()[dim].get(index).copied().unwrap_or(position[dim]))
    }

    /// Chooses the time for which the coming rebuild predicts positions: half the life of the
    /// previous lists, but hardly longer than the largest displacement has fallen, because
    /// particles of a solid turn round before. Without this call, a rebuild is for the present
    /// positions.
    pub fn predict(&mut self, timestep: f64, domain: &Domain) {
        match self.policy {
            RebuildPolicy::Every(interval) if interval <= LONGEST_PREDICTED_INTERVAL => {
                self.steps_ahead = interval.saturating_sub(1) as f64 / 2.0;
            }
            RebuildPolicy::Displacement if self.steps_since > 0 && 2.0 * self.known > self.skin => {
                let half_life = (self.steps_since - 1) as f64 / 2.0;
                self.steps_ahead = half_life.min(self.falling as f64 + 2.0);
            }
            RebuildPolicy::Every(_) | RebuildPolicy::Displacement => {}
        }
        let longest = LONGEST_SHIFT * 0.5 * self.full_skin;
        self.prediction = Prediction::after(self.steps_ahead * timestep, longest, domain);
    }

    /// Returns the prediction for the coming rebuild.
    pub fn prediction(&self) -> Prediction {
        self.prediction
    }

    /// Moves the owned particles to their predicted positions until [`Self::rebuilt`] moves them
    /// back.
    pub fn move_ahead(&mut self, particles: &mut Particles, threads: &Threads) {
        if self.prediction.is_now() {
            return;
        }
        let owned = particles.owned();
        for reference in &mut self.reference {
            reference.clear();
            memory::resize(reference, owned, 0.0);
        }
        let position = particles.position.each_mut().map(|column| &mut column[..owned]);
        let velocity = particles.velocity.each_ref().map(|column| &column[..owned]);
        let reference = self.reference.each_mut().map(|column| &mut column[..]);
        let prediction = self.prediction;
        threads.each(((position, velocity), reference), |(([x, y, z], velocity), [x0, y0, z0])| {
            x0.copy_from_slice(x);
            y0.copy_from_slice(y);
            z0.copy_from_slice(z);
            let places = places(prediction, [x0, y0, z0], velocity);
            for (((x, y), z), place) in x.iter_mut().zip(y).zip(z).zip(places) {
                [*x, *y, *z] = place;
            }
        });
    }

    /// Stores the positions for which lists have been made, and the lengths of the box. Moves
    /// particles from predicted positions back to the true ones.
    pub fn rebuilt(&mut self, particles: &mut Particles, lengths: [f64; 3]) {
        if self.steps_since > 0 {
            // A list that another event ends may not have seen the displacement grow.
            let [last, before] = self.growth;
            let has_grown = 2.0 * self.known > self.skin;
            self.growth = [0.0, if has_grown { last } else { last.max(before) }];
        }
        let owned = particles.owned();
        let prediction = std::mem::replace(&mut self.prediction, Prediction::NOW);
        let is_ahead = !prediction.is_now();
        (self.steps_since, self.falling) = (0, 0);
        self.known = prediction.longest();
        (self.skin, self.lengths) = (self.full_skin, lengths);
        self.stretched.iter_mut().for_each(Vec::clear);
        for (reference, column) in self.reference.iter_mut().zip(&mut particles.position) {
            if is_ahead {
                reference.swap_with_slice(&mut column[..owned]);
            } else {
                reference.clear();
                memory::reserve(reference, owned);
                reference.extend_from_slice(&column[..owned]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundary, Dimension, Particle};

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
        watch.rebuilt(&mut Particles::default(), [1.0; 3]);
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

    /// Takes steps of `timestep` with the position given by `path`, and rebuilds as in a simulation.
    /// Returns the lives of the lists in steps.
    fn lives(path: impl Fn(f64) -> [f64; 2], timestep: f64, steps: u32) -> Vec<u64> {
        let (origin, boundary, threads) = ([-50.0; 3], [Boundary::Periodic; 3], Threads::one());
        let domain = Domain { dimension: Dimension::Three, origin, lengths: [100.0; 3], boundary };
        let mut particles: Particles = [Particle::default()].into_iter().collect();
        let (mut watch, mut lives) = (watch(), Vec::new());
        for step in 0..steps {
            let [position, velocity] = path(f64::from(step) * timestep);
            (particles.position[0][0], particles.velocity[0][0]) = (position, velocity);
            if step > 0 {
                watch.count_step();
                let displacement2 = watch.displacement2(&particles, &threads);
                watch.hear(displacement2);
                if watch.decide(displacement2) == Due::No {
                    continue;
                }
                lives.push(watch.history().steps_since);
            }
            watch.predict(timestep, &domain);
            watch.move_ahead(&mut particles, &threads);
            watch.rebuilt(&mut particles, domain.lengths);
            assert_eq!(particles.position[0][0].to_bits(), position.to_bits(), "it is where it was");
        }
        lives
    }

    #[test]
    fn lists_for_the_middle_of_their_life_last_twice_as_long() {
        // Half the skin is 0.5, which a particle at a speed of 1 passes in step 11.
        assert_eq!(lives(|time| [time, 1.0], 0.048, 100), [11, 13, 15, 17, 19, 20]);
    }

    #[test]
    fn particles_that_oscillate_are_not_predicted_over_many_periods() {
        // A jump ends the first list after 25 periods. The second one lasts as long.
        let (amplitude, frequency) = (0.2, std::f64::consts::TAU / 40.0);
        let path = |time: f64| {
            let [sin, cos] = [f64::sin, f64::cos].map(|of| of(frequency * time));
            [amplitude * sin + if time >= 1000.0 { 0.6 } else { 0.0 }, amplitude * frequency * cos]
        };
        assert_eq!(lives(path, 1.0, 2000), [1000]);
    }

    #[test]
    fn without_a_skin_every_step_waits() {
        let mut watch = RebuildWatch::new(RebuildPolicy::Displacement, 0.0, SimdLevel::detect());
        watch.hear(1e-9);
        assert!(watch.may_be_due());
    }
}
