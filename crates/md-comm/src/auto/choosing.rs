//! The steps from candidates to times, to a choice, and back to a new trial.

use crate::auto::candidates::{Entry, everywhere, open_others};
use crate::auto::decision::{decide, median};
use crate::auto::trials::ClockState;
use crate::auto::waiting::{Role, without_waiting};
use crate::auto::{Auto, Phase};
use crate::ledger::Ledger;
use crate::{Backend, CommError, Growth, Outcome, Reduction, Tried};

/// A new trial begins if the bytes per exchange differ by more than this fraction from those at the
/// choice.
const CHANGED_BYTES: f64 = 0.5;
/// A new trial also begins if the time per exchange is longer by this factor.
const SLOWER: f64 = 2.0;

impl Auto {
    /// Records an exchange and gives the next one to the entry whose turn it is.
    pub(super) fn end_exchange(&mut self) {
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
                self.current = turn.unwrap_or_default();
                self.clock.reset(if turn.is_some() { ClockState::On } else { ClockState::Off });
            }
            Phase::Settled { .. } => {
                let room = times_s.len() < self.trials.watched_times();
                let is_timed = room && self.trials.is_watched(self.exchanges);
                self.clock.reset(if is_timed { ClockState::On } else { ClockState::Off });
            }
        }
    }

    fn trial_is_over(&self) -> bool {
        self.exchanges >= self.trials.exchanges(self.entries.len())
    }

    /// Negotiates for all candidates of a trial. A candidate that fails on some rank is dropped,
    /// and the others begin anew. *Collective.*
    pub(super) fn negotiate_all(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        if let [only] = &mut self.entries[..] {
            return only.transport.negotiate(ledger, need);
        }
        let (before, mut growth, mut refused) = (ledger.clone(), Growth::Unchanged, Vec::new());
        for Entry { backend, transport, .. } in &mut self.entries {
            let mut books = before.clone();
            let mine = transport.negotiate(&mut books, need);
            match everywhere(self.candidates.world(), mine)? {
                Ok(grown) => (*ledger, growth) = (books, grown),
                Err(why) => refused.push(Tried { backend: *backend, outcome: Outcome::NotTimed { why } }),
            }
        }
        if !refused.is_empty() {
            self.go_on_without(&refused)?;
        }
        Ok(growth)
    }

    /// Drops candidates and begins the trial anew.
    fn go_on_without(&mut self, refused: &[Tried]) -> Result<(), CommError> {
        let stays = |entry: &Entry| refused.iter().all(|tried| tried.backend != entry.backend);
        if !self.entries.iter().any(stays) {
            let reason = "no candidate could go on with other lengths".to_owned();
            return Err(CommError::Unavailable { backend: Backend::Auto.name(), reason });
        }
        self.current = 0;
        self.entries.retain(stays);
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
    pub(super) fn reconsider(&mut self, ledger: &Ledger) -> Result<(), CommError> {
        match self.phase {
            Phase::Unused if self.exchanges == 0 => Ok(()),
            Phase::Unused => self.try_all(ledger),
            Phase::Trial if self.trial_is_over() => self.choose(ledger),
            Phase::Trial => Ok(()),
            Phase::Settled { bytes, median_s } => {
                let reason = self.reason_for_trial(ledger, bytes, median_s)?;
                reason.map_or(Ok(()), |reason| {
                    self.rechecks += 1;
                    self.reason = reason;
                    self.try_all(ledger)
                })
            }
        }
    }

    /// Agrees on the best candidate and ends the others.
    fn choose(&mut self, ledger: &Ledger) -> Result<(), CommError> {
        let mine_s: Vec<f64> = self.entries.iter().flat_map(|entry| &entry.times_s).copied().collect();
        let times_s = without_waiting(self.candidates.world(), role(ledger), &mine_s)?;
        let blocks_s: Vec<f64> = times_s.chunks(self.trials.times_per_block()).map(median).collect();
        let backends: Vec<Backend> = self.entries.iter().map(|entry| entry.backend).collect();
        let decision = decide(&backends, &blocks_s);
        for (&backend, &median_s) in backends.iter().zip(&decision.medians_s) {
            self.note(&Tried { backend, outcome: Outcome::Timed { median_s } });
        }
        let mut others = std::mem::take(&mut self.entries);
        let best = others.remove(decision.chosen);
        self.chosen = Some(best.backend);
        self.entries.push(best);
        self.current = 0;
        others.into_iter().try_for_each(Entry::finalise)?;
        let bytes = self.bytes(ledger)?;
        let median_s = decision.medians_s[decision.chosen];
        self.reason = decision.reason;
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
    fn try_all(&mut self, ledger: &Ledger) -> Result<(), CommError> {
        let opened = self.entries[self.current].backend;
        let mut others = open_others(&*self.candidates, self.trials, opened, &self.results, ledger)?;
        others.entries.insert(others.place_of_opened, self.entries.swap_remove(self.current));
        (self.entries, self.results) = (others.entries, others.results);
        self.current = 0;
        self.enter(Phase::Trial);
        Ok(())
    }

    /// Begins a phase. Times of the one before are left out, because all entries must have the same
    /// number of them.
    fn enter(&mut self, phase: Phase) {
        (self.phase, self.exchanges) = (phase, 0);
        self.entries.iter_mut().for_each(|entry| entry.times_s.clear());
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
