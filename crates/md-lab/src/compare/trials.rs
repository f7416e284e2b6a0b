//! Order of checks and measurements of the strategies.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use md_comm::monitor::Heartbeat;
use md_comm::{Backend, Blocking, RmaOptions, World};
use md_engine::EngineError;

use super::comparison::{BASELINE, RowContext};
use super::conduct::Conditions;
use super::measure::{Place, Running};
use super::results::{Entry, Results};
use crate::trace::TracedWorld;
use crate::{Problem, Variant, agree, lock};

/// System on which strategies are tried: particles, or nodes of a grid.
///
/// # Errors
/// All methods return the failure of the strategy; [`Self::judge`] fails if the agreement world is
/// broken.
#[expect(clippy::missing_errors_doc, reason = "the trait says it of all methods")]
pub trait Ground {
    /// Set-up of a strategy.
    type Setup;
    /// Context that makes its row self-contained.
    type Context: RowContext;
    /// Result by which it is judged.
    type Seen;
    /// A running strategy.
    type Running<'s>: Running
    where
        Self: 's;

    /// Prepares everything that a strategy needs.
    fn prepare(&self, variant: &Variant) -> Result<Prepared<Self::Setup, Self::Context>, Problem>;

    /// Returns the context of the row of a strategy that could not be prepared.
    fn context(&self, variant: &Variant) -> Self::Context;

    /// Starts in the initial state. *Collective.*
    fn open<'s>(&'s self, world: &'s dyn World, setup: &'s Self::Setup)
    -> Result<Self::Running<'s>, Problem>;

    /// Computes the result by which a strategy is judged; what is recognised as wrong at once is an
    /// error. *Collective.*
    fn look(&self, place: Place, setup: &Self::Setup) -> Result<Self::Seen, Problem>;

    /// Judges the result; returns what is wrong in words, identical on all ranks. *Collective* in
    /// the agreement world.
    fn judge(&self, _: Place, _: &Self::Seen) -> Result<Result<(), String>, EngineError> {
        Ok(Ok(()))
    }

    /// Runs a strategy from its initial state. *Collective.*
    fn at_work<'s, T>(
        &'s self,
        Place { world, heartbeat }: Place<'s>,
        setup: &'s Self::Setup,
        work: impl FnOnce(&mut Self::Running<'s>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut running = self.open(world, setup)?;
        heartbeat.beat();
        let result = work(&mut running);
        heartbeat.beat();
        match result {
            Ok(result) => running.finalise().map(|()| result),
            Err(problem) => {
                // Withdrawing pending messages may take long, and the job will be ended from
                // outside.
                std::mem::forget(running);
                Err(problem)
            }
        }
    }
}

/// A prepared strategy.
pub struct Prepared<S, C> {
    /// Set-up to measure.
    pub setup: S,
    /// Options of the transport.
    pub options: RmaOptions,
    /// Note that is reported in any case.
    pub note: String,
    /// Context that makes its row self-contained.
    pub context: C,
}

/// Recording of timelines.
#[derive(Clone, Copy)]
pub struct Recording<'c> {
    /// Number of events that each rank keeps.
    pub events: usize,
    /// Takes the next part of the timeline of the strategy of these names, on rank 0.
    pub take: &'c dyn Fn(&[String], &[u8]),
}

/// A strategy prepared on a system.
type PreparedOn<G> = Prepared<<G as Ground>::Setup, <G as Ground>::Context>;

/// A strategy to be tried.
struct Candidate<'c, S> {
    /// World and set-up of the strategy; `None` if it is excluded.
    ready: Option<(Box<dyn World + 'c>, S)>,
    /// Exchanges per sample.
    exchanges: usize,
}

/// Purpose of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Row of the strategy.
    Row,
    /// Comparison of the baseline with its earlier measurement, next to this group.
    Control(Blocking),
}

/// Trials of all candidates on one rank.
pub(super) struct Trials<'c, G: Ground> {
    ground: &'c G,
    conditions: Conditions<'c>,
    /// Heartbeat that shows that the trials go on.
    pub(super) heartbeat: Heartbeat,
    /// Results, on all ranks; notes on rank 0.
    results: Arc<Mutex<Results<G::Context>>>,
    candidates: Vec<Candidate<'c, G::Setup>>,
}

impl<'c, G: Ground> Trials<'c, G> {
    /// Creates trials without candidates.
    pub(super) fn new(
        ground: &'c G,
        conditions: Conditions<'c>,
        results: Arc<Mutex<Results<G::Context>>>,
    ) -> Self {
        Self { ground, conditions, heartbeat: Heartbeat::default(), results, candidates: Vec::new() }
    }

    /// Checks and measures all strategies; passes the number of samples done, over all repetitions,
    /// to `tell`. *Collective.*
    ///
    /// # Errors
    /// The agreement world is broken.
    pub(super) fn run(&mut self, tell: &mut dyn FnMut(usize)) -> Result<(), EngineError> {
        tell(0);
        self.conditions.variants.iter().try_for_each(|variant| self.admit(variant))?;
        let (mut measured, mut done) = (Vec::new(), 0);
        for (group, members) in groups(self.conditions.variants, self.conditions.between_nodes) {
            let passed = self.qualify(&members)?;
            let baseline = self.baseline(&measured).filter(|_| !passed.is_empty());
            let control = baseline.map(|number| (number, Purpose::Control(group)));
            let rows = passed.iter().map(|&number| (number, Purpose::Row));
            let lanes: Vec<_> = rows.chain(control).collect();
            self.measure(&lanes, &mut |samples| tell(done + samples))?;
            done += members.len() * self.conditions.repeat;
            tell(done);
            self.record(&passed)?;
            measured.extend(passed);
        }
        Ok(())
    }

    /// Returns the baseline of later groups: two-sided messages, or else the first strategy that is
    /// still included.
    fn baseline(&self, measured: &[usize]) -> Option<usize> {
        let mut valid = measured.iter().copied().filter(|&number| self.candidates[number].ready.is_some());
        let two_sided = |&number: &usize| self.conditions.variants[number].strategy.backend == BASELINE;
        valid.clone().find(two_sided).or_else(|| valid.next())
    }

    /// Prepares a strategy and its world; on failure, records the reason. *Collective.*
    fn admit(&mut self, variant: &Variant) -> Result<(), EngineError> {
        self.heartbeat.beat();
        let outcome = agree(self.conditions.transports.agreement(), self.prepare(variant))?;
        let (ready, context, note, problem) = match outcome {
            Ok((world, Prepared { setup, context, note, .. })) => (Some((world, setup)), context, note, None),
            Err(problem) => (None, self.ground.context(variant), String::new(), Some(problem)),
        };
        let mut entry = Entry::new(variant.clone(), context, note);
        problem.into_iter().for_each(|problem| entry.fail(problem));
        lock(&self.results).entries.push(entry);
        self.candidates.push(Candidate { ready, exchanges: 0 });
        Ok(())
    }

    fn prepare(&self, variant: &Variant) -> Result<(Box<dyn World + 'c>, PreparedOn<G>), Problem> {
        let backend = variant.strategy.backend;
        if backend == Backend::Auto {
            // Such a backend chooses while it negotiates, which a frozen halo never does.
            return Err(Problem::unavailable("chooses among the others; compare those"));
        }
        backend.availability().map_err(Problem::unavailable)?;
        let prepared = self.ground.prepare(variant)?;
        let world = self.conditions.transports.world(backend, prepared.options)?;
        world.set_watchdog(self.conditions.timeout);
        Ok((world, prepared))
    }

    /// Checks strategies and determines the exchanges per sample; returns those that pass.
    /// *Collective.*
    fn qualify(&mut self, numbers: &[usize]) -> Result<Vec<usize>, EngineError> {
        let mut passed = Vec::new();
        for &number in numbers {
            if !self.check(number)? {
                continue;
            }
            let calibrated = self.attempt(number, |ground, place, setup| {
                ground.at_work(place, setup, |running| place.calibrate(running))
            })?;
            if let Some(exchanges) = calibrated {
                self.candidates[number].exchanges = exchanges;
                passed.push(number);
            }
        }
        Ok(passed)
    }

    /// Checks the results of a strategy. *Collective.*
    fn check(&mut self, number: usize) -> Result<bool, EngineError> {
        let Some(seen) = self.attempt(number, G::look)? else { return Ok(false) };
        let agreement = Place { world: self.conditions.transports.agreement(), heartbeat: &self.heartbeat };
        let judged = self.ground.judge(agreement, &seen)?;
        let is_right = judged.is_ok();
        match judged {
            Ok(()) => lock(&self.results).entries[number].row.correct = Some(true),
            Err(what) => self.leave_out(number, Problem::wrong(what)),
        }
        Ok(is_right)
    }

    /// Measures strategies in turn; each repetition begins with another one. *Collective.*
    fn measure(
        &mut self,
        lanes: &[(usize, Purpose)],
        tell: &mut dyn FnMut(usize),
    ) -> Result<(), EngineError> {
        let (steps, mut done) = (self.conditions.steps, 0);
        for repetition in 0..self.conditions.repeat {
            for turn in 0..lanes.len() {
                let (number, purpose) = lanes[(turn + repetition) % lanes.len()];
                let exchanges = self.candidates[number].exchanges;
                let sample = self.attempt(number, |ground, place, setup| {
                    ground.at_work(place, setup, |running| place.sample(running, exchanges, steps))
                })?;
                if let Some(sample) = sample {
                    let mut results = lock(&self.results);
                    match purpose {
                        Purpose::Row => results.entries[number].samples.push(sample),
                        Purpose::Control(group) => results.add_control(group, number, sample),
                    }
                }
                done += usize::from(purpose == Purpose::Row);
                tell(done);
            }
        }
        Ok(())
    }

    /// Records the steps of one more sample of each strategy and writes their timeline, if
    /// requested. *Collective.*
    fn record(&mut self, numbers: &[usize]) -> Result<(), EngineError> {
        let Some(Recording { events, take }) = self.conditions.recording else { return Ok(()) };
        let steps = self.conditions.steps;
        for &number in numbers {
            let names = self.conditions.variants[number].names(G::Context::KEYS);
            let context = lock(&self.results).entries[number].row.context.clone();
            self.attempt(number, |ground, place, setup| {
                let world = &TracedWorld::new(place.world, events)?;
                let traced = Place { world, ..place };
                ground.at_work(traced, setup, |running| {
                    world.start(|observer| running.observe(observer))?;
                    traced.time_steps(running, steps)?;
                    world.stop()?;
                    let Ok(_) = world.write(&context, |part| {
                        traced.heartbeat.beat();
                        take(&names, part);
                        Ok::<_, Infallible>(())
                    })?;
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    /// Does a piece of work with a strategy; `None` if the strategy is already excluded or fails
    /// now. *Collective.*
    fn attempt<T>(
        &mut self,
        number: usize,
        work: impl FnOnce(&G, Place, &G::Setup) -> Result<T, Problem>,
    ) -> Result<Option<T>, EngineError> {
        let Some((world, setup)) = &self.candidates[number].ready else {
            return Ok(None);
        };
        lock(&self.results).current = Some(number);
        self.heartbeat.beat();
        let mine = work(self.ground, Place { world: &**world, heartbeat: &self.heartbeat }, setup);
        self.heartbeat.beat();
        match agree(self.conditions.transports.agreement(), mine)? {
            Ok(result) => Ok(Some(result)),
            Err(problem) => {
                self.leave_out(number, problem);
                Ok(None)
            }
        }
    }

    fn leave_out(&mut self, number: usize, problem: Problem) {
        self.candidates[number].ready = None;
        lock(&self.results).entries[number].fail(problem);
    }
}

/// Groups the indices of the strategies that are measured together, in the order of measurement; a
/// group may be empty. Calls that hang inside the MPI library cannot be withdrawn: the job ends,
/// and measurements still to come are lost. Strategies that can hang least therefore come first.
fn groups(variants: &[Variant], between_nodes: Backend) -> Vec<(Blocking, Vec<usize>)> {
    let group = |&blocking| {
        let belongs = |&number: &usize| variants[number].strategy.blocking(between_nodes) == blocking;
        (blocking, (0..variants.len()).filter(belongs).collect())
    };
    Blocking::ALL.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strategy;
    use crate::compare::fixtures::comparison;

    fn grouped(between_nodes: Backend) -> Vec<Vec<usize>> {
        let backends =
            [Backend::RmaFence, Backend::P2p, Backend::RmaRing, Backend::Hybrid, Backend::RmaBarrier];
        let own = comparison(&[(Backend::P2p, 1.0, 1.0)]).rows[0].context.strategy;
        let variants = backends.map(|backend| Strategy { backend, ..own }.into());
        groups(&variants, between_nodes).into_iter().map(|(_, numbers)| numbers).collect()
    }

    #[test]
    fn what_can_hang_comes_later() {
        assert_eq!(grouped(Backend::P2p), [vec![1, 3], vec![2, 4], vec![0]]);
    }

    #[test]
    fn hybrid_hangs_where_its_backend_between_nodes_does() {
        assert_eq!(grouped(Backend::RmaPscw), [vec![1], vec![2, 4], vec![0, 3]]);
    }
}
