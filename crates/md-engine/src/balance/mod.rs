//! Load balancing during a run.
//!
//! At fixed intervals the ranks compare their work. If it is too uneven, the cells are divided anew
//! according to their work, and the decomposition is replaced in the next step.
//!
//! ```text
//! work of every rank (two numbers reduced)  ->  even enough: done
//! work of every cell (a table, summed over ranks)  ->  proposals of the partition
//!   ->  savings and cost of each  ->  the best one replaces the present division if it pays
//! ```
//!
//! All ranks have the same table and reach the same decision without communication. With weights by
//! pairs it follows from counts and the model in `cost`, so a repeated run balances at the same
//! steps in the same way, to the last bit. With weights by measured time it does not;
//! [`Balancing::division`] then records the changes, and [`replay`] repeats them.

pub(crate) mod cost;
pub(crate) mod loads;
pub(crate) mod proposal;
pub mod replay;

use std::time::Instant;

use crate::division::Division;
use crate::error::EngineError;
pub use crate::settings::balance::{
    Balance, BalanceRule, BalanceWeights, DEFAULT_INTERVAL, DEFAULT_THRESHOLD,
};
use crate::settings::{ParallelConfig, Protocol};
use replay::{Replay, Replayed};

/// Record of one balancing.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancing {
    /// Number of completed steps.
    pub step: u64,
    /// Highest work of a rank over the mean.
    pub imbalance_before: f64,
    /// Imbalance of the new division, by the weights of the time of the check.
    pub imbalance_after: f64,
    /// Particles that changed rank.
    pub particles_moved: u64,
    /// Seconds spent on this rank, from the check to the first step with the new division.
    pub spent_s: f64,
    /// Seconds saved until the next check, by the model.
    pub won_s: f64,
    /// Cells that changed rank, for [`replay`]; empty if a repeated run is identical anyway.
    pub division: String,
}

/// History of load balancing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BalanceReport {
    /// Number of balance checks.
    pub checks: u64,
    /// Highest work of a rank over the mean at the first check.
    pub imbalance_first: Option<f64>,
    /// Highest work of a rank over the mean after the last check.
    pub imbalance_last: Option<f64>,
    /// Seconds spent in all checks and balancings on this rank since the run began or was
    /// continued.
    pub spent_s: f64,
    /// All balancings.
    pub balancings: Vec<Balancing>,
}

impl BalanceReport {
    /// Returns the number of particles that have changed rank in all balancings.
    pub fn particles_moved(&self) -> u64 {
        self.balancings.iter().map(|balancing| balancing.particles_moved).sum()
    }

    /// Returns the seconds saved by all balancings, by the model.
    pub fn won_s(&self) -> f64 {
        self.balancings.iter().fold(0.0, |won_s, balancing| won_s + balancing.won_s)
    }
}

/// Load balancing of one simulation.
#[derive(Debug)]
pub(crate) struct Balancer {
    rule: Option<BalanceRule>,
    pub(crate) is_auto: bool,
    pub(crate) replay: Option<Replay>,
    pub(crate) report: BalanceReport,
    /// Seconds worked until the last check.
    pub(crate) worked_s: f64,
    /// Start of the check that has led to a pending change of the division.
    pub(crate) begun: Option<Instant>,
}

impl Balancer {
    /// Creates the balancer. It is inactive on one rank and with `simple`, whose rows are fixed.
    pub(crate) fn new(parallel: &ParallelConfig, ranks: usize) -> Self {
        let ParallelConfig { balance, protocol, .. } = *parallel;
        let rule = balance.rule().filter(|_| ranks > 1 && protocol != Protocol::Simple);
        Self {
            rule,
            is_auto: balance == Balance::Auto,
            replay: None,
            report: BalanceReport::default(),
            worked_s: 0.0,
            begun: None,
        }
    }

    pub(crate) fn due(&self, steps_done: u64) -> Option<BalanceRule> {
        self.rule.filter(|rule| steps_done > 0 && steps_done.is_multiple_of(rule.every))
    }

    /// Repeats the balancings of another run, as [`Replay::new`], instead of checking the balance.
    pub(crate) fn replay(
        &mut self,
        all: Vec<Replayed>,
        division: &Division,
        ranks: usize,
        steps_done: u64,
    ) -> Result<(), EngineError> {
        let every = self.rule.map(|rule| rule.every);
        self.replay = Some(Replay::new(all, division, ranks, every, steps_done)?);
        self.rule = None;
        Ok(())
    }

    /// Records the time spent, once the new division is in place.
    pub(crate) fn settle(&mut self) {
        let Some(begun) = self.begun.take() else { return };
        let spent_s = begun.elapsed().as_secs_f64();
        self.report.spent_s += spent_s;
        if let Some(last) = self.report.balancings.last_mut() {
            last.spent_s = spent_s;
        }
    }
}
