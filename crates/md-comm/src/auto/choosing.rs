//! From times to a choice, and back to a new trial.

use super::field::{Field, Market, Runner};
use super::verdict::{judge, median};
use super::waiting::{Role, without_waiting};
use super::{Auto, Stage};
use crate::{Backend, CommError, Outcome, Traffic};

/// Bytes per exchange that differ by more than this part from those at the choice call for a new trial.
const CHANGED_BYTES: f64 = 0.5;
/// So does a time per exchange that is so many times as long.
const SLOWER: f64 = 2.0;

impl<M: Market> Auto<M> {
    /// Books an exchange and finds out whose turn the next one is.
    pub(super) fn end_exchange(&mut self) {
        self.exchanges += 1;
        let times_s = &mut self.field.runners[self.current].times_s;
        times_s.extend(self.clock.lap_s());
        if !self.exchanges.is_multiple_of(self.trials.exchanges_per_block()) {
            return;
        }
        match self.stage {
            Stage::Unused => (),
            Stage::Trial => {
                let turn = self.trials.turn(self.exchanges, self.field.runners.len());
                self.current = turn.unwrap_or_default();
                self.clock.reset(turn.is_some());
            }
            Stage::Settled { .. } => {
                let room = times_s.len() < self.trials.watched_times();
                self.clock.reset(room && self.trials.is_watched(self.exchanges));
            }
        }
    }

    pub(super) fn trial_is_over(&self) -> bool {
        self.exchanges >= self.trials.exchanges(self.field.runners.len())
    }

    /// After the capacities were negotiated: nothing is in flight anywhere. *Collective.*
    pub(super) fn reconsider(&mut self) -> Result<(), CommError> {
        match self.stage {
            Stage::Unused if self.exchanges == 0 => Ok(()),
            Stage::Unused => self.try_all(),
            Stage::Trial if self.trial_is_over() => self.choose(),
            Stage::Trial => Ok(()),
            Stage::Settled { bytes, median_s } => {
                let reason = self.reason_for_trial(bytes, median_s)?;
                reason.map_or(Ok(()), |reason| self.try_again(reason))
            }
        }
    }

    /// Agrees on the best candidate and ends the others.
    fn choose(&mut self) -> Result<(), CommError> {
        let runners = &self.field.runners;
        let mine_s: Vec<f64> = runners.iter().flat_map(|runner| &runner.times_s).copied().collect();
        let times_s = without_waiting(self.market.world(), self.role(), &mine_s)?;
        let blocks_s: Vec<f64> = times_s.chunks(self.trials.times_per_block()).map(median).collect();
        let backends: Vec<Backend> = runners.iter().map(|runner| runner.backend).collect();
        let verdict = judge(&backends, &blocks_s);
        for (&backend, &median_s) in backends.iter().zip(&verdict.medians_s) {
            let tried = self.field.tried.iter_mut().find(|tried| tried.backend == backend);
            tried.into_iter().for_each(|tried| tried.outcome = Outcome::Timed { median_s });
        }
        let mut losers: Vec<Runner> = std::mem::take(&mut self.field.runners);
        let mut winner = losers.remove(verdict.chosen);
        winner.times_s.clear();
        self.chosen = Some(winner.backend);
        self.field.runners.push(winner);
        for loser in losers {
            self.ended = sum(self.ended, loser.exchange.traffic());
            loser.exchange.finalise()?;
        }
        let bytes = self.bytes()?;
        let median_s = verdict.medians_s[verdict.chosen];
        self.reason = verdict.reason;
        self.enter(Stage::Settled { bytes, median_s });
        Ok(())
    }

    /// What has changed since the choice, if it is much. The same on all ranks.
    fn reason_for_trial(&mut self, bytes_then: f64, median_then_s: f64) -> Result<Option<String>, CommError> {
        let bytes = self.bytes()?;
        if (bytes - bytes_then).abs() > CHANGED_BYTES * bytes_then {
            return Ok(Some(format!(
                "an exchange has {bytes:.0} bytes, at the choice it had {bytes_then:.0}"
            )));
        }
        let role = self.role();
        let times_s = &mut self.field.runners[self.current].times_s;
        if bytes == 0.0 || times_s.len() < self.trials.watched_times() {
            return Ok(None);
        }
        let median_s = median(&without_waiting(self.market.world(), role, times_s)?);
        times_s.clear();
        let slower = median_s > SLOWER * median_then_s;
        Ok(slower.then(|| {
            format!("an exchange takes {:.1} times as long as at the choice", median_s / median_then_s)
        }))
    }

    /// Lets all candidates run again.
    fn try_again(&mut self, reason: String) -> Result<(), CommError> {
        self.rechecks += 1;
        self.reason = reason;
        self.try_all()
    }

    fn try_all(&mut self) -> Result<(), CommError> {
        if let Some(Runner { backend, exchange, .. }) = self.field.runners.pop() {
            self.field = Field::open(&self.market, self.trials, (backend, exchange))?;
        }
        self.enter(Stage::Trial);
        Ok(())
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.exchanges, self.current) = (stage, 0, 0);
        self.clock.reset(true);
    }

    /// What this rank does in an exchange.
    fn role(&self) -> Role {
        let edges = &self.field.runners[self.current].exchange.spec().edges;
        if edges.iter().any(|edge| edge.flow.receives()) {
            Role::Receives
        } else if edges.is_empty() {
            Role::Absent
        } else {
            Role::SendsOnly
        }
    }

    /// Bytes that all ranks send in an exchange. *Collective.*
    fn bytes(&self) -> Result<f64, CommError> {
        let edges = &self.field.runners[self.current].exchange.spec().edges;
        let mine = edges.iter().filter(|edge| edge.flow.sends()).map(|edge| edge.send_capacity as f64).sum();
        let mut bytes = [mine];
        self.market.world().sum(&mut bytes)?;
        Ok(bytes[0])
    }

    /// The choice in words.
    pub(super) fn account(&self) -> String {
        match self.stage {
            Stage::Settled { .. } => return self.reason.clone(),
            Stage::Unused if self.exchanges == 0 => return "the run had no such exchange".to_owned(),
            Stage::Unused => {
                return "the run was too short: a trial begins at the neighbour rebuild after the first exchange".to_owned();
            }
            Stage::Trial => (),
        }
        let total = self.trials.exchanges(self.field.runners.len());
        let done = self.exchanges.min(total);
        let state = if done < total {
            format!("the run was too short: {done} of the {total} exchanges of a trial were made")
        } else {
            format!(
                "all {total} exchanges of the trial were made, but no neighbour rebuild followed, at which the ranks \
                 agree; `{}` goes on until then",
                self.field.runners[self.current].backend.name()
            )
        };
        if self.reason.is_empty() {
            state
        } else {
            format!("in a new trial because {}; {state}", self.reason)
        }
    }
}

pub(super) fn sum(a: Traffic, b: Traffic) -> Traffic {
    Traffic { messages: a.messages + b.messages, bytes: a.bytes + b.bytes }
}
