//! Who is checked and measured when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::{Backend, Blocking, CommError, World};
use md_engine::{RowVector, Setup};

use super::lock;
use super::measure::{self, Subject};
use super::outcome::{Exclusion, agree};
use super::reference::Reference;
use super::results::{Entry, Results};
use super::strategies::{fit, groups};
use super::transports::Transports;
use crate::commands::{context, context_without_setup};
use crate::comparison::Status;
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::warnings::first_danger;
use crate::report::{RunContext, Strategy};
use crate::scenario::Scenario;
use crate::session::warn;
use crate::{memory, setup};
use md_comm::monitor::Heartbeat;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    /// Samples per strategy.
    pub(super) repeat: usize,
    /// Steps per sample.
    pub(super) steps: u64,
    /// Longest wait for other ranks.
    pub(super) timeout: Duration,
}

/// A strategy to be tried.
struct Candidate<'c> {
    strategy: Strategy,
    /// `None` if it is out.
    prepared: Option<Prepared<'c>>,
    /// Why it is out; the same on all ranks.
    exclusion: Option<Status>,
    /// Exchanges per sample.
    exchanges: usize,
}

/// Everything a trial of a strategy needs.
struct Prepared<'c> {
    world: Box<dyn World + 'c>,
    setup: Setup,
    scenario: Scenario,
    /// What is to be said of it in any case.
    note: String,
}

/// What a sample is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The strategy's own row.
    Row,
    /// Comparing the baseline with itself at another time, beside this group.
    Control(Blocking),
}

/// The trials of all candidates on one rank.
pub(super) struct Trials<'c> {
    transports: &'c dyn Transports,
    inputs: &'c Inputs,
    /// How much is measured.
    pub(super) sampling: Sampling,
    /// What shows that the trials go on.
    pub(super) heartbeat: Heartbeat,
    /// On rank 0.
    results: Option<Arc<Mutex<Results>>>,
    reference: Reference,
    /// Bytes that each rank can have; `None` where nothing tells.
    available: Option<f64>,
    candidates: Vec<Candidate<'c>>,
    /// Whether stale neighbourhoods have been warned of.
    warned: bool,
}

impl<'c> Trials<'c> {
    /// Without candidates yet; results are for rank 0.
    pub(super) fn new(
        transports: &'c dyn Transports,
        inputs: &'c Inputs,
        sampling: Sampling,
        available: Option<f64>,
        results: Option<Arc<Mutex<Results>>>,
        reference: Reference,
    ) -> Self {
        let (heartbeat, candidates, warned) = (Heartbeat::default(), Vec::new(), false);
        Self { transports, inputs, sampling, heartbeat, results, reference, available, candidates, warned }
    }

    /// Checks and measures all strategies; says what was wrong with each. *Collective.*
    ///
    /// # Errors
    /// The agreement's world is broken.
    pub(super) fn run(&mut self, strategies: &[Strategy]) -> Result<Vec<Option<Status>>, RunError> {
        strategies.iter().try_for_each(|&strategy| self.admit(strategy))?;
        let mut measured = Vec::new();
        for (group, members) in groups(strategies, self.inputs.scenario.parallel.between_nodes) {
            let passed = self.qualify(&members)?;
            let baseline = self.baseline(&measured).filter(|_| !passed.is_empty());
            let control = baseline.map(|number| (number, Purpose::Control(group)));
            let rows = passed.iter().map(|&number| (number, Purpose::Row));
            self.measure(&rows.chain(control).collect::<Vec<_>>())?;
            measured.extend(passed);
        }
        Ok(self.candidates.iter().map(|candidate| candidate.exclusion).collect())
    }

    /// What later groups are measured beside: two-sided messages, or else the first that is still in.
    fn baseline(&self, measured: &[usize]) -> Option<usize> {
        let mut valid = measured.iter().copied().filter(|&number| self.candidates[number].prepared.is_some());
        let two_sided = |&number: &usize| self.candidates[number].strategy.backend == Backend::P2p;
        valid.clone().find(two_sided).or_else(|| valid.next())
    }

    /// Takes a strategy in, or finds out why it cannot be. *Collective.*
    fn admit(&mut self, strategy: Strategy) -> Result<(), RunError> {
        let agreement = self.transports.agreement();
        self.heartbeat.beat();
        let outcome = agree(agreement, self.prepare(strategy))?;
        if let Some(results) = &self.results {
            let (context, note) = match &outcome {
                Ok(prepared) => (
                    context(agreement, &prepared.scenario, &prepared.setup, self.sampling.steps),
                    prepared.note.clone(),
                ),
                Err(_) => (self.context_without_setup(strategy), String::new()),
            };
            lock(results).entries.push(Entry::new(context, note));
        }
        let candidate = Candidate { strategy, prepared: None, exclusion: None, exchanges: 0 };
        self.candidates.push(candidate);
        let number = self.candidates.len() - 1;
        match outcome {
            Ok(prepared) => self.candidates[number].prepared = Some(prepared),
            Err(exclusion) => self.leave_out(number, exclusion),
        }
        Ok(())
    }

    fn prepare(&self, strategy: Strategy) -> Result<Prepared<'c>, RunError> {
        let unavailable = |reason: String| CommError::Unavailable { backend: "compared", reason };
        if strategy.backend == Backend::Auto {
            // It chooses while it negotiates, which a frozen halo never does.
            return Err(unavailable("chooses among the others; compare those".to_owned()).into());
        }
        let fitted = fit(strategy, &self.inputs.scenario).map_err(unavailable)?;
        let (note, scenario) = (fitted.note(), fitted.scenario);
        strategy.backend.availability().map_err(unavailable)?;
        let ranks = self.transports.agreement().ranks();
        let setup = setup::of_scenario(self.inputs, &scenario, ranks)?;
        memory::expect(self.inputs, &setup, self.available)?;
        let world = self.transports.world(strategy.backend, scenario.parallel.rma.options())?;
        world.set_watchdog(self.sampling.timeout);
        Ok(Prepared { world, setup, scenario, note })
    }

    /// Of a strategy that cannot be.
    fn context_without_setup(&self, strategy: Strategy) -> RunContext {
        let atoms = self.reference.atoms();
        let (agreement, scenario) = (self.transports.agreement(), &self.inputs.scenario);
        RunContext { strategy, atoms, ..context_without_setup(agreement, scenario, self.sampling.steps) }
    }

    /// Checks strategies and finds out how many exchanges make a sample; those that pass. *Collective.*
    fn qualify(&mut self, numbers: &[usize]) -> Result<Vec<usize>, RunError> {
        let mut passed = Vec::new();
        for &number in numbers {
            if !self.check(number)? {
                continue;
            }
            if let Some(exchanges) = self.attempt(number, measure::calibrate)? {
                self.candidates[number].exchanges = exchanges;
                passed.push(number);
            }
        }
        Ok(passed)
    }

    /// Compares a strategy's forces with the reference. *Collective.*
    fn check(&mut self, number: usize) -> Result<bool, RunError> {
        let Scenario { interaction, species, .. } = &self.inputs.scenario;
        let diameter = interaction.diameter(species);
        let rows = self.attempt(number, |subject, heartbeat| {
            let setup = subject.setup.displaced(diameter);
            Subject { setup: &setup, ..subject }.simulate(heartbeat, |simulation| {
                simulation.recompute_from_fresh_halo()?;
                Ok(simulation.rows(RowVector::Force)?)
            })
        })?;
        let Some(rows) = rows else { return Ok(false) };
        let judged = self.reference.check(self.transports.agreement(), &self.heartbeat, &rows)?;
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
    fn measure(&mut self, lanes: &[(usize, Purpose)]) -> Result<(), RunError> {
        let steps = self.sampling.steps;
        for repetition in 0..self.sampling.repeat {
            for turn in 0..lanes.len() {
                let (number, purpose) = lanes[(turn + repetition) % lanes.len()];
                let exchanges = self.candidates[number].exchanges;
                let sample = self.attempt(number, |subject, heartbeat| {
                    measure::sample(subject, exchanges, steps, heartbeat)
                })?;
                if let (Some(sample), Some(results)) = (sample, &self.results) {
                    if let Some(danger) = first_danger(&sample.neighborhood).filter(|_| !self.warned) {
                        self.warned = true;
                        warn(&danger);
                    }
                    let mut results = lock(results);
                    match purpose {
                        Purpose::Row => results.entries[number].samples.push(sample),
                        Purpose::Control(group) => results.add_control(group, number, sample),
                    }
                }
            }
        }
        Ok(())
    }

    /// Does a piece of work with a strategy that still takes part; `None` if it does not, or is out now. *Collective.*
    fn attempt<T>(
        &mut self,
        number: usize,
        work: impl FnOnce(Subject, &Heartbeat) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        let Some(Prepared { world, setup, .. }) = &self.candidates[number].prepared else {
            return Ok(None);
        };
        if let Some(results) = &self.results {
            lock(results).current = Some(number);
        }
        self.heartbeat.beat();
        let mine = work(Subject { world: &**world, setup }, &self.heartbeat);
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
        (candidate.prepared, candidate.exclusion) = (None, Some(status));
        if let Some(results) = &self.results {
            lock(results).entries[number].fail(status, &note);
        }
    }
}
