//! Sampling of loop times: warm-up, loops long enough for the clock, samples within a budget.

use std::time::Instant;

use md_comm::{CommError, World};

use crate::statistics::SAMPLES_FOR_CONFIDENCE;

/// Seconds of a sample's loop; fewer if the budget does not suffice.
const SAMPLE_S: f64 = 0.02;
/// Largest number of samples, where the budget allows them.
const MOST_SAMPLES: f64 = 30.0;
/// Smallest number of samples, whatever the budget, unless a number is requested.
const LEAST_SAMPLES: f64 = SAMPLES_FOR_CONFIDENCE as f64;
/// Number of warm-up samples, which are discarded, as a fraction of the number of samples.
const WARM_UP: f64 = 0.1;
/// Shortest trial that shows how many iterations a sample needs, as a fraction of a sample.
const SHORTEST_TRIAL: f64 = 0.1;
/// Factor by which the iterations of a trial grow.
const GROWTH: usize = 4;
const MOST_ITERATIONS: f64 = 1e7;
/// Number of slices of a loop. Between slices the ranks compare times; this is not counted.
const SLICES: usize = 4;
/// A loop that takes longer than this multiple of the planned time ends with the current slice; the
/// following loops of its kind have as many iterations.
const OVERRUN: f64 = 4.0;

/// Amount of measuring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Seconds for all kinds in total.
    pub budget_s: f64,
    /// Seconds after which sampling ends once each kind has a sample, if `samples` is `None`.
    pub limit_s: f64,
    /// Number of samples of each kind, with shorter loops if the budget does not suffice; `None`
    /// derives the number from the budget.
    pub samples: Option<usize>,
}

/// Like [`sample_timed`], for loops whose whole time counts. *Collective.*
///
/// # Errors
/// Those of `run` and of communication.
pub fn sample_in_turn<E: From<CommError>>(
    world: &dyn World,
    kinds: usize,
    effort: Effort,
    mut run: impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<Vec<Vec<f64>>, E> {
    sample_timed(world, kinds, effort, |kind, iterations| run(kind, iterations).map(|()| None))
}

/// Like [`sample_in_turn`], for one kind of iterations. *Collective.*
///
/// # Errors
/// Those of `run` and of communication.
pub fn sample_one(
    world: &dyn World,
    effort: Effort,
    mut run: impl FnMut() -> Result<(), CommError>,
) -> Result<Vec<Vec<f64>>, CommError> {
    sample_in_turn(world, 1, effort, |_, iterations| (0..iterations).try_for_each(|_| run()))
}

/// Returns the seconds per iteration of loops of several kinds, as a list of samples for each kind.
/// Each sample is that of the slowest rank, so that all ranks return equal lists. `run` takes a
/// kind and a number of iterations, and returns the seconds that count, or `None` if all do. The
/// kinds are sampled in turn, so that any drift affects all of them alike. *Collective.*
///
/// # Errors
/// Those of `run` and of communication.
pub fn sample_timed<E: From<CommError>>(
    world: &dyn World,
    kinds: usize,
    effort: Effort,
    run: impl FnMut(usize, usize) -> Result<Option<f64>, E>,
) -> Result<Vec<Vec<f64>>, E> {
    let least_samples = effort.samples.map_or(LEAST_SAMPLES, |samples| samples as f64);
    let rounds_at_least = (1.0 + WARM_UP) * least_samples + 1.0;
    let planned_s = SAMPLE_S.min(effort.budget_s / (kinds as f64 * rounds_at_least));
    let mut loops = Loops { world, run, planned_s, begun: Instant::now(), spent_s: 0.0 };
    let (mut iterations, mut round_s) = (vec![1; kinds], 0.0);
    for (kind, iterations) in iterations.iter_mut().enumerate() {
        round_s += loops.plan(kind, iterations)?;
    }
    let affordable = effort.budget_s / round_s / (1.0 + WARM_UP);
    let samples = effort.samples.unwrap_or(affordable.clamp(LEAST_SAMPLES, MOST_SAMPLES) as usize);
    let warm_up = (WARM_UP * samples as f64).ceil() as usize;
    let mut samples_s = vec![Vec::with_capacity(samples); kinds];
    for round in 0..warm_up + samples {
        let is_late = effort.samples.is_none() && loops.spent_s > effort.limit_s;
        if is_late && samples_s.iter().all(|samples| !samples.is_empty()) {
            break;
        }
        for (kind, samples_s) in samples_s.iter_mut().enumerate() {
            let [_, counted_s] = loops.time(kind, &mut iterations[kind])?;
            if round >= warm_up || is_late {
                samples_s.push(counted_s / iterations[kind] as f64);
            }
        }
    }
    Ok(samples_s)
}

/// Loops of several kinds, timed on all ranks.
struct Loops<'w, R> {
    world: &'w dyn World,
    run: R,
    /// Planned time of a loop, in seconds.
    planned_s: f64,
    begun: Instant,
    /// Seconds since `begun` at the end of the last slice that was run, on the slowest rank.
    spent_s: f64,
}

impl<E: From<CommError>, R: FnMut(usize, usize) -> Result<Option<f64>, E>> Loops<'_, R> {
    /// Finds by trials how many iterations take the planned time, and returns the seconds that they
    /// take. *Collective.*
    fn plan(&mut self, kind: usize, iterations: &mut usize) -> Result<f64, E> {
        let [mut taken_s, _] = self.time(kind, iterations)?;
        while taken_s < SHORTEST_TRIAL * self.planned_s {
            *iterations *= GROWTH;
            [taken_s, _] = self.time(kind, iterations)?;
        }
        let once_s = (taken_s / *iterations as f64).max(f64::MIN_POSITIVE);
        *iterations = (self.planned_s / once_s).ceil().clamp(1.0, MOST_ITERATIONS) as usize;
        Ok(*iterations as f64 * once_s)
    }

    /// Runs a loop in slices, and returns the seconds that it took and those that count, each on
    /// the slowest rank. After an overrun, `iterations` is the number that was done. *Collective.*
    fn time(&mut self, kind: usize, iterations: &mut usize) -> Result<[f64; 2], E> {
        let slice = iterations.div_ceil(SLICES);
        let (mut done, mut taken_s, mut counted_s) = (0, 0.0, 0.0);
        loop {
            let some = slice.min(*iterations - done);
            self.world.barrier()?;
            let begun = Instant::now();
            let counted = (self.run)(kind, some)?;
            let slice_s = begun.elapsed().as_secs_f64();
            (done, taken_s) = (done + some, taken_s + slice_s);
            counted_s += counted.unwrap_or(slice_s);
            let mut slowest = [taken_s, counted_s, self.begun.elapsed().as_secs_f64()];
            self.world.max(&mut slowest)?;
            let [taken_s, counted_s, spent_s] = slowest;
            self.spent_s = spent_s;
            if taken_s > OVERRUN * self.planned_s || done == *iterations {
                *iterations = done;
                return Ok([taken_s, counted_s]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use md_comm::local;

    use super::*;
    use crate::bench::compute_for;

    fn sampled([budget_s, limit_s]: [f64; 2], samples: Option<usize>, sleep: [u64; 2]) -> Vec<Vec<Vec<f64>>> {
        let ended = local::run(2, Duration::from_secs(20), |world| {
            sample_in_turn(world, 2, Effort { budget_s, limit_s, samples }, |kind, iterations| {
                let us = sleep[kind] * (1 + world.rank() as u64);
                (0..iterations).for_each(|_| std::thread::sleep(Duration::from_micros(us)));
                Ok::<_, CommError>(())
            })
            .unwrap()
        });
        ended.into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn samples_are_those_of_the_slowest_rank() {
        let all = sampled([0.3, 60.0], None, [200, 2000]);
        assert_eq!(all[0], all[1], "the same on all ranks");
        let least = |kind: usize| all[0][kind].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least(0) >= 4e-4 && least(1) >= 4e-3, "{all:?}");
        assert!(all[0].iter().all(|samples| (6..=30).contains(&samples.len())));
    }

    #[test]
    fn without_a_budget_there_are_enough_for_an_interval_or_as_many_as_asked_for() {
        let counts =
            |samples| sampled([0.0, 60.0], samples, [10, 10])[0].iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!((counts(None), counts(Some(7))), (vec![6, 6], vec![7, 7]));
    }

    #[test]
    fn a_loop_that_was_fast_at_first_is_cut() {
        const FAST: usize = 2000;
        let effort = Effort { budget_s: 0.0076, limit_s: 60.0, samples: None };
        let count = local::run(1, Duration::from_secs(20), |world| {
            let done = Cell::new(0);
            let run = |_, iterations| {
                for _ in 0..iterations {
                    done.set(done.get() + 1);
                    compute_for(Duration::from_micros(if done.get() < FAST { 1 } else { 1000 }));
                }
                Ok::<_, CommError>(())
            };
            sample_in_turn(world, 1, effort, run).unwrap();
            done.get()
        });
        // The plan is six samples and the warm-up, with a thousand iterations each.
        assert!(*count[0].as_ref().unwrap() < FAST + 1000, "{count:?}");
    }

    #[test]
    fn as_many_as_asked_for_share_the_budget() {
        const ASKED: usize = 50;
        let effort = Effort { budget_s: 0.05, limit_s: 60.0, samples: Some(ASKED) };
        let ended = local::run(1, Duration::from_secs(20), |world| {
            let done = Cell::new(0);
            let run = |_, iterations| {
                (0..iterations).for_each(|_| compute_for(Duration::from_micros(1)));
                done.set(done.get() + iterations);
                Ok::<_, CommError>(())
            };
            let samples_s = sample_in_turn(world, 1, effort, run).unwrap();
            (samples_s[0].len(), done.get())
        });
        let &(samples, iterations) = ended[0].as_ref().unwrap();
        // The budget is 50,000 iterations, in addition to the trials. Loops as long as those of six
        // samples would be 360,000 iterations.
        assert!(samples == ASKED && iterations < 60_000, "{samples} samples, {iterations} iterations");
    }

    /// Also if the trials alone have used up the limit.
    #[test]
    fn beyond_the_limit_there_is_one_or_as_many_as_asked_for() {
        let counts =
            |samples| sampled([0.0; 2], samples, [10, 10])[0].iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!((counts(None), counts(Some(7))), (vec![1, 1], vec![7, 7]));
    }
}
