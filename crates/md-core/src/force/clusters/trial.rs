//! The measured choice whether inner lists are used: pruning takes a larger part of the time on
//! CPUs with slow caches. Forces do not depend on the choice.
//!
//! ```text
//! life of lists   0      1      2      3      4      5      6 to 255     256 is 0 again
//!                 with and without inner lists in turn      the faster
//!                 not measured  measured
//! ```

use std::time::Duration;

/// Lives of lists after which the choice is made.
const TRIED: usize = 6;

/// First life that is measured: before, memory is allocated.
const FIRST_MEASURED: usize = 2;

/// Shortest life of lists that counts, in steps. In shorter ones forces are only recomputed.
const SHORTEST: u32 = 3;

/// Lives of lists after which the choice is made again.
const KEPT: usize = 256;

/// Whether inner lists are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum InnerLists {
    #[default]
    Used,
    NotUsed,
}

/// Times of sweeps with and without inner lists.
#[derive(Debug, Clone, Default)]
pub(super) struct Trial {
    /// Number of lives that have begun.
    begun: usize,
    choice: InnerLists,
    /// Time and number of steps of the present life.
    present: (Duration, u32),
    /// Times and numbers of steps of measured lives, indexed by [`InnerLists`].
    times: [Duration; 2],
    steps: [u32; 2],
}

impl Trial {
    /// Returns the choice for the present life of lists.
    pub(super) fn choice(&self) -> InnerLists {
        self.choice
    }

    /// Returns whether inner lists will not be used before the next trial. Their memory is kept
    /// during a trial, because obtaining it anew would count as their time.
    pub(super) fn has_rejected_inner_lists(&self) -> bool {
        self.begun > TRIED && self.choice == InnerLists::NotUsed
    }

    /// Returns whether times matter at present.
    pub(super) fn is_measuring(&self) -> bool {
        (FIRST_MEASURED + 1..=TRIED).contains(&self.begun)
    }

    /// Counts a step.
    pub(super) fn count_step(&mut self) {
        self.present.1 += 1;
    }

    /// Adds the time of pruning and sweeping.
    pub(super) fn add(&mut self, time: Duration) {
        self.present.0 += time;
    }

    /// Begins a life of lists.
    pub(super) fn begin_life(&mut self) {
        let (time, steps) = std::mem::take(&mut self.present);
        if self.begun > 0 && steps < SHORTEST {
            return;
        }
        if self.is_measuring() {
            self.times[self.choice as usize] += time;
            self.steps[self.choice as usize] += steps;
        }
        if self.begun == KEPT {
            *self = Self::default();
        }
        self.choice = match self.begun {
            life if life > TRIED => self.choice,
            TRIED => self.faster(),
            life if life.is_multiple_of(2) => InnerLists::Used,
            _ => InnerLists::NotUsed,
        };
        self.begun += 1;
    }

    fn faster(&self) -> InnerLists {
        let [used, not_used] =
            [0, 1].map(|which| self.times[which].as_secs_f64() * f64::from(self.steps[1 - which]));
        if used < not_used { InnerLists::Used } else { InnerLists::NotUsed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the choices of all lives until the next trial, where a step takes these times.
    fn choices(times_ms: [u64; 2]) -> Vec<InnerLists> {
        let mut trial = Trial::default();
        let mut choices = Vec::new();
        for life in 0..KEPT {
            trial.begin_life();
            choices.push(trial.choice());
            // Lives have different numbers of steps.
            for _ in 0..10 + life {
                trial.count_step();
                if trial.is_measuring() {
                    trial.add(Duration::from_millis(times_ms[trial.choice() as usize]));
                }
            }
        }
        trial.begin_life();
        assert_eq!(trial.choice(), InnerLists::Used, "the next trial begins as the first");
        choices
    }

    #[test]
    fn a_life_without_steps_does_not_count() {
        let mut trial = Trial::default();
        for _ in 0..TRIED {
            trial.begin_life();
            assert_eq!(trial.choice(), InnerLists::Used);
        }
    }

    #[test]
    fn what_is_faster_is_kept() {
        use InnerLists::{NotUsed, Used};
        for (times_ms, faster) in [([9, 10], Used), ([10, 9], NotUsed)] {
            let choices = choices(times_ms);
            assert_eq!(choices[..TRIED], [Used, NotUsed, Used, NotUsed, Used, NotUsed]);
            assert!(choices[TRIED..].iter().all(|&choice| choice == faster));
        }
    }
}
