//! Who is checked and measured when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::{Backend, Blocking, CommError, World};

use super::board::{Board, Entry};
use super::groups::groups;
use super::lock;
use super::measure::{self, Subject};
use super::monitor::Beat;
use super::outcome::{Trouble, agree};
use super::reference::Reference;
use super::strategies::Strategy;
use super::transports::Transports;
use crate::commands::{context, context_of};
use crate::comparison::Status;
use crate::driver::{RowVector, RunError, Setup};
use crate::inputs::Inputs;
use crate::report::RunContext;
use crate::scenario::Scenario;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Samples per strategy.
    pub(super) repeat: usize,
    /// Steps per sample.
    pub(super) steps: u64,
    /// Longest wait for other ranks.
    pub(super) timeout: Duration,
}

/// A strategy that takes part.
struct Contestant<'c> {
    strategy: Strategy,
    /// What it works with; `None` if it is out.
    gear: Option<Gear<'c>>,
    /// Why it is out; the same on all ranks.
    trouble: Option<Status>,
    /// Exchanges per sample.
    exchanges: usize,
}

struct Gear<'c> {
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

/// A comparison on one rank.
pub(super) struct Contest<'c> {
    transports: &'c dyn Transports,
    inputs: &'c Inputs,
    plan: Plan,
    beat: Beat,
    /// On rank 0.
    board: Option<Arc<Mutex<Board>>>,
    /// On rank 0.
    reference: Option<Reference>,
    contestants: Vec<Contestant<'c>>,
}

impl<'c> Contest<'c> {
    /// Nobody takes part yet.
    pub(super) fn new(
        transports: &'c dyn Transports,
        inputs: &'c Inputs,
        plan: Plan,
        board: Option<Arc<Mutex<Board>>>,
        reference: Option<Reference>,
    ) -> Self {
        let (beat, contestants) = (Beat::default(), Vec::new());
        Self { transports, inputs, plan, beat, board, reference, contestants }
    }

    /// How much is measured.
    pub(super) fn plan(&self) -> Plan {
        self.plan
    }

    /// What shows that the contest goes on.
    pub(super) fn beat(&self) -> Beat {
        self.beat.clone()
    }

    /// Checks and measures all strategies; says what was wrong with each. *Collective.*
    ///
    /// # Errors
    /// The referee's world is broken.
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
        Ok(self.contestants.iter().map(|contestant| contestant.trouble).collect())
    }

    /// What later groups are measured beside: two-sided messages, or else the first that is still in.
    fn baseline(&self, measured: &[usize]) -> Option<usize> {
        let mut valid = measured.iter().copied().filter(|&number| self.contestants[number].gear.is_some());
        let two_sided = |&number: &usize| self.contestants[number].strategy.backend == Backend::P2p;
        valid.clone().find(two_sided).or_else(|| valid.next())
    }

    /// Takes a strategy in, or finds out why it cannot be. *Collective.*
    fn admit(&mut self, strategy: Strategy) -> Result<(), RunError> {
        let referee = self.transports.referee();
        self.beat.beat();
        let outcome = agree(referee, self.gear(strategy))?;
        if let Some(board) = &self.board {
            let (context, note) = match &outcome {
                Ok(gear) => {
                    (context(referee, &gear.scenario, &gear.setup, self.plan.steps), gear.note.clone())
                }
                Err(_) => (self.context_without_setup(strategy), String::new()),
            };
            lock(board).entries.push(Entry::new(context, note));
        }
        let contestant = Contestant { strategy, gear: None, trouble: None, exchanges: 0 };
        self.contestants.push(contestant);
        let number = self.contestants.len() - 1;
        match outcome {
            Ok(gear) => self.contestants[number].gear = Some(gear),
            Err(trouble) => self.leave_out(number, trouble),
        }
        Ok(())
    }

    fn gear(&self, strategy: Strategy) -> Result<Gear<'c>, RunError> {
        let unavailable = |reason: String| CommError::Unavailable { backend: "compared", reason };
        if strategy.backend == Backend::Auto {
            // It chooses while it negotiates, which a frozen halo never does.
            return Err(unavailable("chooses among the others; compare those".to_owned()).into());
        }
        let fitted = strategy.scenario(&self.inputs.scenario).map_err(unavailable)?;
        let (note, scenario) = (fitted.note(), fitted.scenario);
        strategy.backend.availability().map_err(unavailable)?;
        let ranks = self.transports.referee().ranks();
        let setup = Setup::new(&self.inputs.source, &scenario, self.inputs.particles.clone(), ranks)?;
        let world = self.transports.world(strategy.backend, scenario.parallel.rma.options())?;
        world.set_watchdog(self.plan.timeout);
        Ok(Gear { world, setup, scenario, note })
    }

    /// Of a strategy that cannot be.
    fn context_without_setup(&self, strategy: Strategy) -> RunContext {
        let mut scenario = self.inputs.scenario.clone();
        let parallel = &mut scenario.parallel;
        (parallel.backend, parallel.shell) = (strategy.backend, strategy.shell);
        (parallel.exchange, parallel.partition) = (strategy.exchange, strategy.partition);
        let atoms = self.reference.as_ref().map_or(0, Reference::atoms);
        let referee = self.transports.referee();
        context_of(referee, &scenario, "-".to_owned(), atoms, self.plan.steps)
    }

    /// Checks strategies and finds out how many exchanges make a sample; those that pass. *Collective.*
    fn qualify(&mut self, numbers: &[usize]) -> Result<Vec<usize>, RunError> {
        let mut passed = Vec::new();
        for &number in numbers {
            if !self.check(number)? {
                continue;
            }
            if let Some(exchanges) = self.attempt(number, measure::calibrate)? {
                self.contestants[number].exchanges = exchanges;
                passed.push(number);
            }
        }
        Ok(passed)
    }

    /// Compares a strategy's forces with the reference. *Collective.*
    fn check(&mut self, number: usize) -> Result<bool, RunError> {
        let Scenario { interaction, species, .. } = &self.inputs.scenario;
        let diameter = interaction.diameter(species);
        let rows = self.attempt(number, |subject, beat| {
            let setup = subject.setup.displaced(diameter);
            Subject { setup: &setup, ..subject }.simulate(beat, |simulation| {
                simulation.recompute_from_fresh_halo()?;
                simulation.gather_rows(RowVector::Force)
            })
        })?;
        let Some(rows) = rows else { return Ok(false) };
        let judged = self.reference.as_ref().map_or(Ok(()), |reference| reference.check(rows));
        let mut wrong = [f64::from(u8::from(judged.is_err()))];
        self.transports.referee().max(&mut wrong)?;
        let is_right = wrong[0] == 0.0;
        if let Some(board) = &self.board {
            lock(board).entries[number].correct = Some(is_right);
        }
        if !is_right {
            let note = judged.err().unwrap_or_default();
            self.leave_out(number, Trouble { status: Status::Wrong, note });
        }
        Ok(is_right)
    }

    /// Measures strategies in turn, each repetition beginning with another one. *Collective.*
    fn measure(&mut self, lanes: &[(usize, Purpose)]) -> Result<(), RunError> {
        let steps = self.plan.steps;
        for repetition in 0..self.plan.repeat {
            for turn in 0..lanes.len() {
                let (number, purpose) = lanes[(turn + repetition) % lanes.len()];
                let exchanges = self.contestants[number].exchanges;
                let sample =
                    self.attempt(number, |subject, beat| measure::sample(subject, exchanges, steps, beat))?;
                if let (Some(sample), Some(board)) = (sample, &self.board) {
                    let mut board = lock(board);
                    match purpose {
                        Purpose::Row => board.entries[number].samples.push(sample),
                        Purpose::Control(group) => board.add_control(group, number, sample),
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
        work: impl FnOnce(Subject, &Beat) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        let Some(Gear { world, setup, scenario, .. }) = &self.contestants[number].gear else {
            return Ok(None);
        };
        if let Some(board) = &self.board {
            lock(board).current = Some(number);
        }
        self.beat.beat();
        let mine = work(Subject { world: &**world, setup, scenario }, &self.beat);
        self.beat.beat();
        match agree(self.transports.referee(), mine)? {
            Ok(result) => Ok(Some(result)),
            Err(trouble) => {
                self.leave_out(number, trouble);
                Ok(None)
            }
        }
    }

    fn leave_out(&mut self, number: usize, Trouble { status, note }: Trouble) {
        let contestant = &mut self.contestants[number];
        (contestant.gear, contestant.trouble) = (None, Some(status));
        if let Some(board) = &self.board {
            lock(board).entries[number].fail(status, &note);
        }
    }
}
