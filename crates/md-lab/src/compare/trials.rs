//! Who is checked and measured when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::monitor::Heartbeat;
use md_comm::{Backend, Blocking, RmaOptions, World};
use md_engine::EngineError;

use super::comparison::{RowContext, Status};
use super::measure::Sample;
use super::outcome::{Exclusion, Problem, agree};
use super::results::{Entry, Results};
use crate::{Transports, Variant, lock};

/// What strategies are tried on: particles, or nodes of a grid.
pub trait Ground {
    /// What a strategy becomes there.
    type Setup;
    /// What makes its row stand alone.
    type Context: RowContext;
    /// What it is judged by.
    type Seen;

    /// Everything that a strategy needs.
    ///
    /// # Errors
    /// Why there is none.
    fn prepare(&self, variant: &Variant) -> Result<Prepared<Self::Setup, Self::Context>, Problem>;

    /// What makes the row of a strategy stand alone for which there is no set-up.
    fn context(&self, variant: &Variant) -> Self::Context;

    /// Computes what a strategy is judged by. *Collective.*
    ///
    /// # Errors
    /// What went wrong.
    fn look(&self, subject: Subject<Self::Setup>) -> Result<Self::Seen, Problem>;

    /// Whether that is right, and if not, what is wrong, the same on all ranks. *Collective* in the agreement's world.
    ///
    /// # Errors
    /// The agreement's world is broken.
    fn judge(
        &self,
        agreement: &dyn World,
        heartbeat: &Heartbeat,
        seen: &Self::Seen,
    ) -> Result<Result<(), String>, EngineError>;

    /// Exchanges that make a sample, the same number on all ranks. *Collective.*
    ///
    /// # Errors
    /// What went wrong.
    fn calibrate(&self, subject: Subject<Self::Setup>) -> Result<usize, Problem>;

    /// One sample of so many exchanges and steps. *Collective.*
    ///
    /// # Errors
    /// What went wrong.
    fn sample(&self, subject: Subject<Self::Setup>, exchanges: usize, steps: u64) -> Result<Sample, Problem>;

    /// Makes so many steps more, and writes their timeline, where that is wanted: the same on all ranks. *Collective.*
    ///
    /// # Errors
    /// What went wrong.
    fn record(&self, subject: Subject<Self::Setup>, variant: &Variant, steps: u64) -> Result<(), Problem>;
}

/// A strategy on its ground.
pub struct Prepared<S, C> {
    /// What is measured.
    pub setup: S,
    /// For the transport.
    pub options: RmaOptions,
    /// What is to be said of it in any case.
    pub note: String,
    /// What makes its row stand alone.
    pub context: C,
}

/// What a piece of work is done with.
pub struct Subject<'s, S> {
    /// The strategy's own world.
    pub world: &'s dyn World,
    /// Everything that does not change.
    pub setup: &'s S,
    /// To be told that the work goes on.
    pub heartbeat: &'s Heartbeat,
}

impl<S> Clone for Subject<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Subject<'_, S> {}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// Samples per strategy.
    pub repeat: usize,
    /// Steps per sample.
    pub steps: u64,
    /// Longest wait for other ranks.
    pub timeout: Duration,
}

/// A strategy to be tried.
struct Candidate<'c, S> {
    variant: Variant,
    /// Its own world and set-up; `None` if it is out.
    ready: Option<(Box<dyn World + 'c>, S)>,
    /// Why it is out; the same on all ranks.
    exclusion: Option<Status>,
    /// Exchanges per sample.
    exchanges: usize,
}

/// What a sample is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The strategy's own row.
    Row,
    /// Comparing the baseline with itself at another time, beside this group.
    Control(Blocking),
}

/// Its own world, and what it becomes.
type Ready<'c, G> = (Box<dyn World + 'c>, Prepared<<G as Ground>::Setup, <G as Ground>::Context>);

/// The trials of all candidates on one rank.
pub struct Trials<'c, G: Ground> {
    transports: &'c dyn Transports,
    ground: &'c G,
    /// What `hybrid` uses between nodes.
    between_nodes: Backend,
    sampling: Sampling,
    /// What shows that the trials go on.
    pub heartbeat: Heartbeat,
    /// On rank 0.
    results: Option<Arc<Mutex<Results<G::Context>>>>,
    candidates: Vec<Candidate<'c, G::Setup>>,
}

impl<'c, G: Ground> Trials<'c, G> {
    /// Without candidates yet; results are for rank 0.
    pub fn new(
        transports: &'c dyn Transports,
        ground: &'c G,
        between_nodes: Backend,
        sampling: Sampling,
        results: Option<Arc<Mutex<Results<G::Context>>>>,
    ) -> Self {
        let (heartbeat, candidates) = (Heartbeat::default(), Vec::new());
        Self { transports, ground, between_nodes, sampling, heartbeat, results, candidates }
    }

    /// Checks and measures all strategies; says what was wrong with each, and meanwhile how many samples of all repetitions are done.
    /// *Collective.*
    ///
    /// # Errors
    /// The agreement's world is broken.
    pub fn run(
        &mut self,
        variants: &[Variant],
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<Status>>, EngineError> {
        tell(0);
        variants.iter().try_for_each(|variant| self.admit(variant))?;
        let (mut measured, mut done) = (Vec::new(), 0);
        for (group, members) in groups(variants, self.between_nodes) {
            let passed = self.qualify(&members)?;
            let baseline = self.baseline(&measured).filter(|_| !passed.is_empty());
            let control = baseline.map(|number| (number, Purpose::Control(group)));
            let rows = passed.iter().map(|&number| (number, Purpose::Row));
            let lanes: Vec<_> = rows.chain(control).collect();
            self.measure(&lanes, &mut |samples| tell(done + samples))?;
            done += members.len() * self.sampling.repeat;
            tell(done);
            self.record(&passed)?;
            measured.extend(passed);
        }
        Ok(self.candidates.iter().map(|candidate| candidate.exclusion).collect())
    }

    /// What later groups are measured beside: two-sided messages, or else the first that is still in.
    fn baseline(&self, measured: &[usize]) -> Option<usize> {
        let mut valid = measured.iter().copied().filter(|&number| self.candidates[number].ready.is_some());
        let two_sided = |&number: &usize| self.candidates[number].variant.strategy.backend == Backend::P2p;
        valid.clone().find(two_sided).or_else(|| valid.next())
    }

    /// Takes a strategy in, or finds out why it cannot be. *Collective.*
    fn admit(&mut self, variant: &Variant) -> Result<(), EngineError> {
        let agreement = self.transports.agreement();
        self.heartbeat.beat();
        let outcome = agree(agreement, self.prepare(variant))?;
        if let Some(results) = &self.results {
            let (context, note) = match &outcome {
                Ok((_, prepared)) => (prepared.context.clone(), prepared.note.clone()),
                Err(_) => (self.ground.context(variant), String::new()),
            };
            lock(results).entries.push(Entry::new(variant.clone(), context, note));
        }
        let variant = variant.clone();
        self.candidates.push(Candidate { variant, ready: None, exclusion: None, exchanges: 0 });
        let number = self.candidates.len() - 1;
        match outcome {
            Ok((world, prepared)) => self.candidates[number].ready = Some((world, prepared.setup)),
            Err(exclusion) => self.leave_out(number, exclusion),
        }
        Ok(())
    }

    fn prepare(&self, variant: &Variant) -> Result<Ready<'c, G>, Problem> {
        let backend = variant.strategy.backend;
        if backend == Backend::Auto {
            // It chooses while it negotiates, which a frozen halo never does.
            return Err(Problem::unavailable("chooses among the others; compare those".to_owned()));
        }
        let prepared = self.ground.prepare(variant)?;
        let world = self.transports.world(backend, prepared.options)?;
        world.set_watchdog(self.sampling.timeout);
        Ok((world, prepared))
    }

    /// Checks strategies and finds out how many exchanges make a sample; those that pass. *Collective.*
    fn qualify(&mut self, numbers: &[usize]) -> Result<Vec<usize>, EngineError> {
        let mut passed = Vec::new();
        for &number in numbers {
            if !self.check(number)? {
                continue;
            }
            if let Some(exchanges) = self.attempt(number, G::calibrate)? {
                self.candidates[number].exchanges = exchanges;
                passed.push(number);
            }
        }
        Ok(passed)
    }

    /// Judges what a strategy computes. *Collective.*
    fn check(&mut self, number: usize) -> Result<bool, EngineError> {
        let Some(seen) = self.attempt(number, G::look)? else { return Ok(false) };
        let judged = self.ground.judge(self.transports.agreement(), &self.heartbeat, &seen)?;
        if let Some(results) = &self.results {
            lock(results).entries[number].correct = Some(judged.is_ok());
        }
        let is_right = judged.is_ok();
        if let Err(note) = judged {
            self.leave_out(number, Exclusion { status: Status::Wrong, note });
        }
        Ok(is_right)
    }

    /// Measures strategies in turn, each repetition beginning with another one. *Collective.*
    fn measure(
        &mut self,
        lanes: &[(usize, Purpose)],
        tell: &mut dyn FnMut(usize),
    ) -> Result<(), EngineError> {
        let (steps, mut done) = (self.sampling.steps, 0);
        for repetition in 0..self.sampling.repeat {
            for turn in 0..lanes.len() {
                let (number, purpose) = lanes[(turn + repetition) % lanes.len()];
                let exchanges = self.candidates[number].exchanges;
                let sample =
                    self.attempt(number, |ground, subject| ground.sample(subject, exchanges, steps))?;
                if let (Some(sample), Some(results)) = (sample, &self.results) {
                    let mut results = lock(results);
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

    /// Makes the steps of one more sample of each strategy, where a timeline is wanted. *Collective.*
    fn record(&mut self, numbers: &[usize]) -> Result<(), EngineError> {
        let steps = self.sampling.steps;
        for &number in numbers {
            let variant = self.candidates[number].variant.clone();
            self.attempt(number, |ground, subject| ground.record(subject, &variant, steps))?;
        }
        Ok(())
    }

    /// Does a piece of work with a strategy that still takes part; `None` if it does not, or is out now. *Collective.*
    fn attempt<T>(
        &mut self,
        number: usize,
        work: impl FnOnce(&G, Subject<G::Setup>) -> Result<T, Problem>,
    ) -> Result<Option<T>, EngineError> {
        let Some((world, setup)) = &self.candidates[number].ready else {
            return Ok(None);
        };
        if let Some(results) = &self.results {
            lock(results).current = Some(number);
        }
        self.heartbeat.beat();
        let mine = work(self.ground, Subject { world: &**world, setup, heartbeat: &self.heartbeat });
        self.heartbeat.beat();
        match agree(self.transports.agreement(), mine)? {
            Ok(result) => Ok(Some(result)),
            Err(exclusion) => {
                self.leave_out(number, exclusion);
                Ok(None)
            }
        }
    }

    fn leave_out(&mut self, number: usize, Exclusion { status, note }: Exclusion) {
        let candidate = &mut self.candidates[number];
        (candidate.ready, candidate.exclusion) = (None, Some(status));
        if let Some(results) = &self.results {
            lock(results).entries[number].fail(status, &note);
        }
    }
}

/// Numbers of the strategies that are measured together, in the order of measurement; a group may be empty. Calls that
/// hang inside the MPI library cannot be taken back: the job ends, and what has not been measured is lost. So those
/// strategies come first that can hang least.
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
