//! Early end of a run: ranks vote, and all end after the same step.

use super::Simulation;
use crate::clock::Phase;
use crate::error::EngineError;
use crate::measure::Observer;

/// Number of steps after which the ranks vote, unless the votes have been exchanged with other data
/// in between.
const LONGEST_SILENCE: u64 = 20;

/// State of the vote on this rank. The votes are sent along with
/// [`Simulation::largest_displacement2`], which rebuilds and thermo steps need anyway, so that they
/// cost nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ending {
    wanted: bool,
    /// Result of the last vote, the same on all ranks.
    agreed: bool,
    asked_at: u64,
}

impl Ending {
    /// Returns the state at the start of a run, without votes.
    pub(super) fn not_before(step: u64) -> Self {
        Self { asked_at: step, ..Self::default() }
    }

    /// Returns this rank's vote, for a maximum over all ranks.
    pub(super) fn vote(&self) -> f64 {
        f64::from(u8::from(self.wanted))
    }

    /// Stores the result of a vote: the maximum over all ranks.
    pub(super) fn count(&mut self, votes: f64, step: u64) {
        (self.agreed, self.asked_at) = (votes > 0.0, step);
    }
}

impl Simulation<'_> {
    /// Returns whether the ranks have agreed to end. *Collective.*
    pub(super) fn ends_early(&mut self, observers: &[&mut dyn Observer]) -> Result<bool, EngineError> {
        if observers.is_empty() {
            return Ok(false);
        }
        let step = self.state.step;
        self.ending.wanted |= observers.iter().any(|observer| observer.wants_end());
        let alone = self.world.ranks() == 1;
        if alone || step >= self.ending.asked_at + LONGEST_SILENCE {
            let mut votes = [self.ending.vote()];
            if !alone {
                self.clock.time(Phase::HaloWait, || self.world.max(&mut votes))?;
            }
            self.ending.count(votes[0], step);
        }
        Ok(self.ending.agreed)
    }
}
