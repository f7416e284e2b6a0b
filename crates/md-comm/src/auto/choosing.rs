//! From times to a choice, and back to a new trial.

use super::field::{Field, Market, Runner};
use super::verdict::{judge, median};
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
        let per_block = self.trials.exchanges_per_block();
        if !self.exchanges.is_multiple_of(per_block) {
            return;
        }
        let runner = &mut self.field.runners[self.current];
        if let Some(spent_s) = self.clock.spent_s() {
            runner.blocks_s.push(spent_s / per_block as f64);
        }
        match self.stage {
            Stage::Trial => {
                let turn = self.trials.turn(self.exchanges, self.field.runners.len());
                self.current = turn.unwrap_or_default();
                self.clock.reset(turn.is_some());
            }
            Stage::Settled { .. } => {
                let room = runner.blocks_s.len() < self.trials.watched_blocks();
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
        let mut blocks_s: Vec<f64> = runners.iter().flat_map(|runner| &runner.blocks_s).copied().collect();
        self.market.world().max(&mut blocks_s)?;
        let backends: Vec<Backend> = runners.iter().map(|runner| runner.backend).collect();
        let verdict = judge(&backends, &blocks_s);
        for (&backend, &median_s) in backends.iter().zip(&verdict.medians_s) {
            let tried = self.field.tried.iter_mut().find(|tried| tried.backend == backend);
            tried.into_iter().for_each(|tried| tried.outcome = Outcome::Timed { median_s });
        }
        let mut losers: Vec<Runner> = std::mem::take(&mut self.field.runners);
        let mut winner = losers.remove(verdict.chosen);
        winner.blocks_s.clear();
        self.chosen = Some(winner.backend);
        self.field.runners.push(winner);
        for loser in losers {
            self.ended = sum(self.ended, loser.exchange.traffic());
            loser.exchange.finalise()?;
        }
        let [bytes, _] = self.agree([self.bytes(), 0.0])?;
        let median_s = verdict.medians_s[verdict.chosen];
        self.reason = verdict.reason;
        self.enter(Stage::Settled { bytes, median_s });
        Ok(())
    }

    /// What has changed since the choice, if it is much. The same on all ranks.
    fn reason_for_trial(&mut self, bytes_then: f64, median_then_s: f64) -> Result<Option<String>, CommError> {
        let blocks_s = &mut self.field.runners[self.current].blocks_s;
        let full = blocks_s.len() >= self.trials.watched_blocks();
        let mine_s = if full { median(blocks_s) } else { 0.0 };
        if full {
            blocks_s.clear();
        }
        let [bytes, median_s] = self.agree([self.bytes(), mine_s])?;
        if (bytes - bytes_then).abs() > CHANGED_BYTES * bytes_then {
            return Ok(Some(format!(
                "an exchange has {bytes:.0} bytes, at the choice it had {bytes_then:.0}"
            )));
        }
        let slower = bytes > 0.0 && median_s > SLOWER * median_then_s;
        Ok(slower.then(|| {
            format!("an exchange takes {:.1} times as long as at the choice", median_s / median_then_s)
        }))
    }

    /// Lets all candidates run again.
    fn try_again(&mut self, reason: String) -> Result<(), CommError> {
        if let Some(Runner { backend, exchange, .. }) = self.field.runners.pop() {
            self.field = Field::open(&self.market, self.trials, (backend, exchange))?;
        }
        self.rechecks += 1;
        self.reason = reason;
        self.enter(Stage::Trial);
        Ok(())
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.exchanges, self.current) = (stage, 0, 0);
        self.clock.reset(true);
    }

    /// Bytes that this rank sends in an exchange.
    fn bytes(&self) -> f64 {
        let edges = &self.field.runners[self.current].exchange.spec().edges;
        edges.iter().filter(|edge| edge.flow.sends()).map(|edge| edge.send_capacity as f64).sum()
    }

    /// The sum of the first value and the maximum of the second over the ranks.
    fn agree(&self, mine: [f64; 2]) -> Result<[f64; 2], CommError> {
        let all = self.market.world().gather_all(bytemuck::cast_slice(&mine))?;
        let all: Vec<[f64; 2]> = bytemuck::pod_collect_to_vec(&all);
        Ok(all.iter().fold([0.0; 2], |[sum, most], &[bytes, seconds]| [sum + bytes, most.max(seconds)]))
    }

    /// The choice in words.
    pub(super) fn account(&self) -> String {
        if let Stage::Settled { .. } = self.stage {
            return self.reason.clone();
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
