//! The length of trials, the turns of the candidates, the watch over the chosen one, and the clock
//! for all this.

use std::time::{Duration, Instant};

/// Whether exchanges are timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ClockState {
    /// Exchanges are timed.
    On,
    /// Exchanges are not timed.
    #[default]
    Off,
}

/// Time spent on moving messages, exchange by exchange. The clock can be switched off: reading it
/// costs as much as a small message.
#[derive(Debug, Default)]
pub(crate) struct TransportClock {
    state: ClockState,
    running_since: Option<Instant>,
    spent: Duration,
}

impl TransportClock {
    /// Starts from zero, switched on or off.
    pub(super) fn reset(&mut self, state: ClockState) {
        *self = Self { state, ..Self::default() };
    }

    /// Starts the clock, if it is on and does not run already.
    #[inline]
    pub(crate) fn run(&mut self) {
        if self.state == ClockState::On && self.running_since.is_none() {
            self.running_since = Some(Instant::now());
        }
    }

    /// Stops the clock.
    #[inline]
    pub(crate) fn pause(&mut self) {
        if let Some(since) = self.running_since.take() {
            self.spent += since.elapsed();
        }
    }

    /// Returns the seconds since the last lap, if the clock is on.
    pub(super) fn lap_s(&mut self) -> Option<f64> {
        let spent = std::mem::take(&mut self.spent);
        (self.state == ClockState::On).then_some(spent.as_secs_f64())
    }
}

/// One block of the chosen backend in this number is timed; reading the clock takes measurable time
/// beside a message in memory.
const WATCHED_ONE_IN: u64 = 10;

/// Length of the trial of the candidates, and of the watch over the chosen one before it is judged.
/// Zeros count as one.
///
/// ```no_run
/// use md_comm::{Backend, CommError, Trials, mpi};
/// use std::time::Duration;
///
/// // Twice as long as usual, on a machine with changing load.
/// let trials = Trials { blocks: 16, ..Trials::default() };
/// let world = mpi::start(Duration::from_secs(60))?.with_backend(Backend::Auto)?;
/// let world = world.with_trials(trials);
/// # Ok::<(), CommError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// Consecutive exchanges with one candidate.
    pub exchanges_per_block: u32,
    /// Blocks of every candidate. The candidates take turns, so that a change of the machine's load
    /// affects all.
    pub blocks: u32,
    /// Timed blocks of the chosen backend that are compared with its trial; one block in ten is
    /// timed.
    pub watched_blocks: u32,
}

impl Default for Trials {
    fn default() -> Self {
        Self { exchanges_per_block: 6, blocks: 8, watched_blocks: 20 }
    }
}

impl Trials {
    pub(super) fn exchanges_per_block(self) -> u64 {
        self.exchanges_per_block.max(1).into()
    }

    /// Returns the exchanges of a trial with this number of candidates.
    pub(super) fn exchanges(self, candidates: usize) -> u64 {
        self.exchanges_per_block() * u64::from(self.blocks.max(1)) * candidates as u64
    }

    /// Returns the candidate that has the next exchange after `exchanges` of the trial, or `None`
    /// when the trial is over.
    pub(super) fn turn(self, exchanges: u64, candidates: usize) -> Option<usize> {
        let block = exchanges / self.exchanges_per_block();
        (exchanges < self.exchanges(candidates)).then(|| (block % candidates as u64) as usize)
    }

    /// Returns whether exchange `exchanges` of the chosen backend begins a block that is timed.
    pub(super) fn is_watched(self, exchanges: u64) -> bool {
        (exchanges / self.exchanges_per_block()).is_multiple_of(WATCHED_ONE_IN)
    }

    /// Returns the number of consecutive exchanges with one candidate, as a length of lists of
    /// times.
    pub(super) fn times_per_block(self) -> usize {
        self.exchanges_per_block.max(1) as usize
    }

    /// Returns the number of times of the chosen backend that are judged together.
    pub(super) fn watched_times(self) -> usize {
        self.times_per_block() * self.watched_blocks.max(1) as usize
    }

    /// Returns the largest number of times that are kept at once for one candidate.
    pub(super) fn most_times(self) -> usize {
        self.watched_times().max(self.times_per_block() * self.blocks.max(1) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIALS: Trials = Trials { exchanges_per_block: 2, blocks: 2, watched_blocks: 1 };

    #[test]
    fn candidates_take_turns_block_by_block() {
        let turns: Vec<_> = (0..13).map(|exchange| TRIALS.turn(exchange, 3)).collect();
        let expected = [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2].map(Some);
        assert_eq!(turns[..12], expected);
        assert_eq!(turns[12], None);
    }

    #[test]
    fn zeros_count_as_one() {
        let none = Trials { exchanges_per_block: 0, blocks: 0, watched_blocks: 0 };
        assert_eq!((none.exchanges(3), none.watched_times(), none.most_times()), (3, 1, 1));
    }

    #[test]
    fn one_block_in_ten_is_watched() {
        let watched = (0..40).filter(|&exchange| TRIALS.is_watched(exchange)).collect::<Vec<_>>();
        assert_eq!(watched, [0, 1, 20, 21]);
    }
}
