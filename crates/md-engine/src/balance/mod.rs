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

mod cost;
mod decide;
pub(crate) mod loads;
pub mod replay;
pub(crate) mod saved;

use std::time::Instant;

use crate::config::ParallelConfig;
use crate::error::EngineError;
use crate::forces::protocol::Protocol;

/// Default number of steps between two balance checks.
pub const DEFAULT_INTERVAL: u64 = 100;
/// Default imbalance up to which nothing is changed.
pub const DEFAULT_THRESHOLD: f64 = 1.05;

/// Measure of the work of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum BalanceWeights {
    /// Computed pairs: a repeated run gives the same bits.
    #[default]
    Pairs,
    /// Working time of the ranks, without waiting: accounts for slow cores too, but runs are not
    /// reproducible.
    Time,
}

/// Rule of load balancing: interval, threshold and weights.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields, default)
)]
pub struct BalanceRule {
    /// Steps between two balance checks.
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: u64,
    /// Imbalance (highest work of a rank over the mean) up to which nothing is changed.
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub threshold: f64,
    /// Measure of the work.
    pub weights: BalanceWeights,
}

impl Default for BalanceRule {
    fn default() -> Self {
        Self { every: DEFAULT_INTERVAL, threshold: DEFAULT_THRESHOLD, weights: BalanceWeights::default() }
    }
}

/// Load balancing: "off", "auto" (every 100 steps, where the saving until the next check is
/// expected to exceed the cost), or a table with interval, threshold and weights.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(from = "written::Written", into = "written::Written"))]
pub enum Balance {
    /// The division is never changed.
    Off,
    /// The division is changed when it pays.
    Auto,
    /// The division is changed whenever the imbalance exceeds a threshold.
    By(BalanceRule),
}

impl Balance {
    fn rule(self) -> Option<BalanceRule> {
        match self {
            Self::Off => None,
            Self::Auto => Some(BalanceRule::default()),
            Self::By(rule) => Some(rule),
        }
    }

    pub(crate) fn check(self) -> Result<(), EngineError> {
        let Some(BalanceRule { every, threshold, .. }) = self.rule() else { return Ok(()) };
        if every > 0 && threshold >= 1.0 && threshold.is_finite() {
            return Ok(());
        }
        let what =
            format!("balance every {every} steps above {threshold}, not every 1 or more above 1 or more");
        Err(EngineError::Config(what))
    }
}

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
    is_auto: bool,
    replay: Option<replay::Replay>,
    pub(crate) report: BalanceReport,
    /// Seconds worked until the last check.
    worked_s: f64,
    /// Start of the check that has led to a pending change of the division.
    begun: Option<Instant>,
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

    fn due(&self, steps_done: u64) -> Option<BalanceRule> {
        self.rule.filter(|rule| steps_done > 0 && steps_done.is_multiple_of(rule.every))
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

/// Form of [`Balance`] in a scenario.
#[cfg(feature = "serde")]
mod written {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::{Balance, BalanceRule};

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    pub(super) enum Written {
        Rule(BalanceRule),
        Name(Name),
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Name {
        Off,
        Auto,
    }

    impl From<Written> for Balance {
        fn from(written: Written) -> Self {
            match written {
                Written::Name(Name::Off) => Self::Off,
                Written::Name(Name::Auto) => Self::Auto,
                Written::Rule(rule) => Self::By(rule),
            }
        }
    }

    impl From<Balance> for Written {
        fn from(balance: Balance) -> Self {
            match balance {
                Balance::Off => Self::Name(Name::Off),
                Balance::Auto => Self::Name(Name::Auto),
                Balance::By(rule) => Self::Rule(rule),
            }
        }
    }
}
