//! The steps from candidates to times, to a choice, and back to a new trial.

use crate::auto::decision::{decide, median};
use crate::auto::trials::{ClockState, Trials};
use crate::auto::waiting::{Role, without_waiting};
use crate::auto::{Auto, Phase};
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{Backend, CommError, Growth, Outcome, Reduction, Tried, World};

/// A new trial begins if the bytes per exchange differ by more than this fraction from those at the
/// choice.
const CHANGED_BYTES: f64 = 0.5;
/// A new trial also begins if the time per exchange is longer by this factor.
const SLOWER: f64 = 2.0;

impl Auto {
    /// Records an exchange and gives the next one to the entry whose turn it is.
    pub(crate) fn end_exchange(&mut self, transport: &mut Box<dyn Transport>) {
        self.exchanges += 1;
        let times_s = &mut self.entries[self.current].times_s;
        times_s.extend(self.clock.lap_s());
        if !self.exchanges.is_multiple_of(self.trials.exchanges_per_block()) {
            return;
        }
        match self.phase {
            Phase::Unused => (),
            Phase::Trial => {
                let turn = self.trials.turn(self.exchanges, self.entries.len());
                self.change_to(turn.unwrap_or_default(), transport);
                self.clock.reset(if turn.is_some() { ClockState::On } else { ClockState::Off });
            }
            Phase::Settled { .. } => {
                let room = times_s.len() < self.trials.watched_times();
                let is_timed = room && self.trials.is_watched(self.exchanges);
                self.clock.reset(if is_timed { ClockState::On } else { ClockState::Off });
            }
        }
    }

    /// Gives the next exchange to another entry.
    fn change_to(&mut self, turn: usize, transport: &mut Box<dyn Transport>) {
        if let Some(next) = self.entries[turn].waiting.take() {
            self.entries[self.current].waiting = Some(std::mem::replace(transport, next));
            self.current = turn;
        }
    }

    fn trial_is_over(&self) -> bool {
        self.exchanges >= self.trials.exchanges(self.entries.len())
    }

    /// Negotiates for all candidates of a trial. A candidate that fails on some rank is dropped,
    /// and the others begin anew. *Collective.*
    pub(super) fn negotiate_all(
        &mut self,
        ledger: &mut Ledger,
        transport: &mut Box<dyn Transport>,
        need: &[usize],
    ) -> Result<Growth, CommError> {
        if self.entries.len() == 1 {
            return transport.negotiate(ledger, need);
        }
        let (before, mut growth, mut refused) = (ledger.clone(), Growth::Unchanged, Vec::new());
        for Entry { backend, waiting, .. } in &mut self.entries {
            let mut books = before.clone();
            let mine = waiting.as_mut().unwrap_or(transport).negotiate(&mut books, need);
            match everywhere(self.candidates.world(), mine)? {
                Ok(grown) => (*ledger, growth) = (books, grown),
                Err(why) => refused.push(Tried { backend: *backend, outcome: Outcome::NotTimed { why } }),
            }
        }
        if !refused.is_empty() {
            self.go_on_without(&refused, transport)?;
        }
        Ok(growth)
    }

    /// Drops candidates and begins the trial anew.
    fn go_on_without(
        &mut self,
        refused: &[Tried],
        transport: &mut Box<dyn Transport>,
    ) -> Result<(), CommError> {
        let stays = |entry: &Entry| refused.iter().all(|tried| tried.backend != entry.backend);
        let Some(first) = self.entries.iter().position(stays) else {
            let reason = "no candidate could go on with other lengths".to_owned();
            return Err(CommError::Unavailable { backend: Backend::Auto.name(), reason });
        };
        self.change_to(first, transport);
        self.current = 0;
        self.entries.retain(stays);
        self.entries.iter_mut().for_each(|entry| entry.times_s.clear());
        refused.iter().for_each(|tried| self.note(tried));
        self.enter(Phase::Trial);
        Ok(())
    }

    /// Stores the result of a candidate.
    fn note(&mut self, news: &Tried) {
        let known = self.results.iter_mut().find(|tried| tried.backend == news.backend);
        known.into_iter().for_each(|tried| tried.outcome = news.outcome.clone());
    }

    /// Reconsiders the choice after the capacities were negotiated, when nothing is in flight on
    /// any rank. *Collective.*
    pub(super) fn reconsider(
        &mut self,
        ledger: &Ledger,
        transport: &mut Box<dyn Transport>,
    ) -> Result<(), CommError> {
        match self.phase {
            Phase::Unused if self.exchanges == 0 => Ok(()),
            Phase::Unused => self.try_all(ledger, transport),
            Phase::Trial if self.trial_is_over() => self.choose(ledger, transport),
            Phase::Trial => Ok(()),
            Phase::Settled { bytes, median_s } => {
                let reason = self.reason_for_trial(ledger, bytes, median_s)?;
                reason.map_or(Ok(()), |reason| {
                    self.rechecks += 1;
                    self.reason = reason;
                    self.try_all(ledger, transport)
                })
            }
        }
    }

    /// Agrees on the best candidate and ends the others.
    fn choose(&mut self, ledger: &Ledger, transport: &mut Box<dyn Transport>) -> Result<(), CommError> {
        let mine_s: Vec<f64> = self.entries.iter().flat_map(|entry| &entry.times_s).copied().collect();
        let times_s = without_waiting(self.candidates.world(), role(ledger), &mine_s)?;
        let blocks_s: Vec<f64> = times_s.chunks(self.trials.times_per_block()).map(median).collect();
        let backends: Vec<Backend> = self.entries.iter().map(|entry| entry.backend).collect();
        let decision = decide(&backends, &blocks_s);
        for (&backend, &median_s) in backends.iter().zip(&decision.medians_s) {
            self.note(&Tried { backend, outcome: Outcome::Timed { median_s } });
        }
        self.change_to(decision.chosen, transport);
        let mut others = std::mem::take(&mut self.entries);
        let mut best = others.remove(decision.chosen);
        best.times_s.clear();
        self.chosen = Some(best.backend);
        self.entries.push(best);
        others.into_iter().filter_map(|entry| entry.waiting).try_for_each(<dyn Transport>::finalise)?;
        let bytes = self.bytes(ledger)?;
        let median_s = decision.medians_s[decision.chosen];
        self.reason = decision.reason;
        self.current = 0;
        self.enter(Phase::Settled { bytes, median_s });
        Ok(())
    }

    /// Returns what has changed much since the choice, the same on all ranks.
    fn reason_for_trial(
        &mut self,
        ledger: &Ledger,
        bytes_then: f64,
        median_then_s: f64,
    ) -> Result<Option<String>, CommError> {
        let bytes = self.bytes(ledger)?;
        if (bytes - bytes_then).abs() > CHANGED_BYTES * bytes_then {
            return Ok(Some(format!(
                "an exchange has {bytes:.0} bytes, at the choice it had {bytes_then:.0}"
            )));
        }
        let times_s = &mut self.entries[self.current].times_s;
        if bytes == 0.0 || times_s.len() < self.trials.watched_times() {
            return Ok(None);
        }
        let median_s = median(&without_waiting(self.candidates.world(), role(ledger), times_s)?);
        times_s.clear();
        let slower = median_s > SLOWER * median_then_s;
        Ok(slower.then(|| {
            format!("an exchange takes {:.1} times as long as at the choice", median_s / median_then_s)
        }))
    }

    /// Begins a trial of all candidates.
    fn try_all(&mut self, ledger: &Ledger, transport: &mut Box<dyn Transport>) -> Result<(), CommError> {
        let opened = self.entries[self.current].backend;
        (self.entries, self.results) =
            open_all(&*self.candidates, self.trials, opened, &self.results, ledger)?;
        self.current = self.entries.iter().position(|entry| entry.backend == opened).unwrap_or_default();
        self.change_to(0, transport);
        self.enter(Phase::Trial);
        Ok(())
    }

    fn enter(&mut self, phase: Phase) {
        (self.phase, self.exchanges) = (phase, 0);
        self.clock.reset(ClockState::On);
    }

    /// Returns the bytes that all ranks send in an exchange. *Collective.*
    fn bytes(&self, ledger: &Ledger) -> Result<f64, CommError> {
        let sending = ledger.spec().edges.iter().filter(|edge| edge.flow.sends());
        let mut bytes = [sending.map(|edge| edge.send_capacity as u64).sum()];
        self.candidates.world().reduce(&mut bytes, Reduction::Sum)?;
        Ok(bytes[0] as f64)
    }

    /// Describes the choice in words.
    pub(super) fn account(&self) -> String {
        match self.phase {
            Phase::Settled { .. } => return self.reason.clone(),
            Phase::Unused if self.exchanges == 0 => return "the run had no such exchange".to_owned(),
            Phase::Unused => {
                return "the run was too short: a trial begins at the negotiation after the first exchange"
                    .to_owned();
            }
            Phase::Trial => (),
        }
        let total = self.trials.exchanges(self.entries.len());
        let done = self.exchanges.min(total);
        let state = if done < total {
            format!("the run was too short: {done} of the {total} exchanges of a trial were made")
        } else {
            format!(
                "all {total} exchanges of the trial were made, but no negotiation followed, at which the ranks agree; \
                 `{}` goes on until then",
                self.entries[self.current].backend.name()
            )
        };
        if self.reason.is_empty() {
            state
        } else {
            format!("in a new trial because {}; {state}", self.reason)
        }
    }
}

/// Returns the role of this rank in an exchange.
fn role(ledger: &Ledger) -> Role {
    let edges = &ledger.spec().edges;
    if edges.iter().any(|edge| edge.flow.receives()) {
        Role::Receives
    } else if edges.is_empty() {
        Role::Absent
    } else {
        Role::SendsOnly
    }
}

/// A source of candidates.
pub(crate) trait Candidates {
    /// Returns the world.
    fn world(&self) -> &dyn World;

    /// Returns the candidates in the order of preference, the same on all ranks. *Collective.*
    fn list(&self) -> Result<Vec<Backend>, CommError>;

    /// Opens a transport. *Collective.*
    fn open(&self, backend: Backend, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError>;
}

/// A candidate that is open.
pub(super) struct Entry {
    pub(super) backend: Backend,
    /// Its transport while another entry has the exchange.
    pub(super) waiting: Option<Box<dyn Transport>>,
    /// Seconds that this rank has spent in each timed exchange.
    pub(super) times_s: Vec<f64>,
}

impl Entry {
    pub(super) fn new(trials: Trials, backend: Backend, waiting: Option<Box<dyn Transport>>) -> Self {
        Self { backend, waiting, times_s: Vec::with_capacity(trials.most_times()) }
    }
}

/// Opens all candidates except the one that is open already and those that were refused `before`;
/// another attempt at these would only leak once more what some ranks have opened. *Collective.*
pub(super) fn open_all(
    candidates: &dyn Candidates,
    trials: Trials,
    opened: Backend,
    before: &[Tried],
    ledger: &Ledger,
) -> Result<(Vec<Entry>, Vec<Tried>), CommError> {
    let (mut entries, mut results) = (Vec::new(), Vec::new());
    for backend in candidates.list()? {
        let is_refused = |tried: &&Tried| match tried.outcome {
            Outcome::NotTimed { .. } => tried.backend == backend,
            Outcome::Timed { .. } => false,
        };
        if let Some(refused) = before.iter().find(is_refused) {
            results.push(refused.clone());
            continue;
        }
        let waiting = if backend == opened {
            Ok(None)
        } else {
            everywhere(candidates.world(), candidates.open(backend, &mut ledger.clone()))?.map(Some)
        };
        let why = match waiting {
            Ok(waiting) => {
                entries.push(Entry::new(trials, backend, waiting));
                "the trial is not over".to_owned()
            }
            Err(reason) => reason,
        };
        results.push(Tried { backend, outcome: Outcome::NotTimed { why } });
    }
    // The backend that was opened first need not be on the list.
    if entries.iter().all(|entry| entry.backend != opened) {
        entries.push(Entry::new(trials, opened, None));
    }
    Ok((entries, results))
}

/// Returns the result of a candidate on this rank or, if it is refused on some ranks, the reason of
/// the first of them. *Collective.*
fn everywhere<T>(world: &dyn World, mine: Result<T, CommError>) -> Result<Result<T, String>, CommError> {
    let mine = match mine {
        Err(CommError::Unavailable { reason, .. }) => Err(reason),
        Err(error) if error.refused().is_none() => return Err(error),
        mine => mine.map_err(|error| error.to_string()),
    };
    // The lowest rank that refuses has the highest number.
    let mut refuses = [if mine.is_err() { (world.ranks() - world.rank()) as u64 } else { 0 }];
    world.reduce(&mut refuses, Reduction::Highest)?;
    if refuses == [0] {
        return Ok(mine);
    }
    let first = world.ranks() - refuses[0] as usize;
    // What some ranks have opened without the others cannot be ended collectively; it is dropped.
    let mut reason = mine.err().unwrap_or_default().into_bytes();
    world.broadcast(first, &mut reason)?;
    Ok(Err(String::from_utf8_lossy(&reason).into_owned()))
}
