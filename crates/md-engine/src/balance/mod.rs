//! The division of the work follows the particles.
//!
//! Every so many steps the ranks compare how much work they have. Where that is too uneven, the cells are divided anew by what they
//! cost, and the decomposition is replaced in the next step.
//!
//! ```text
//! work of every rank (two numbers reduced)  ->  even enough: done
//! work of every cell (a table, summed over ranks)  ->  the partition's proposals  ->  what each would save and cost
//!   ->  the best one takes the place of the present division, if it is worth it
//! ```
//!
//! All ranks have the same table and come to the same decision without a word. Weighed by pairs, it follows from counts and the model in
//! `cost`, so a run that is repeated balances at the same steps in the same way, to the last bit. Weighed by measured time it does
//! not; then [`Balancing::division`] says what was done, and [`replay`] repeats it.

mod cost;
mod decide;
pub(crate) mod loads;
pub mod replay;
pub(crate) mod saved;

use std::time::Instant;

use crate::config::ParallelConfig;
use crate::error::EngineError;
use crate::protocol::Protocol;

/// Steps between two looks at the balance where nothing else is said.
pub const DEFAULT_INTERVAL: u64 = 100;
/// Imbalance that is left alone where nothing else is said.
pub const DEFAULT_THRESHOLD: f64 = 1.05;

/// What a cell's work is measured by.
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
    /// Time that the ranks work, without waiting: sees slow cores too, but no run is like another.
    Time,
}

/// When to balance, and by what.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields, default)
)]
pub struct BalanceRule {
    /// Steps between two looks at the balance.
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: u64,
    /// Work of the busiest rank, over the mean, that is left alone.
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub threshold: f64,
    /// What work is measured by.
    pub weights: BalanceWeights,
}

impl Default for BalanceRule {
    fn default() -> Self {
        Self { every: DEFAULT_INTERVAL, threshold: DEFAULT_THRESHOLD, weights: BalanceWeights::default() }
    }
}

/// Whether the division follows the work: "off", "auto" (every 100 steps, where what is won until the next look is expected to exceed
/// the cost), or a table that says when and by what.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(from = "written::Written", into = "written::Written"))]
pub enum Balance {
    /// It stays as it is.
    Off,
    /// Where it pays.
    Auto,
    /// Always above a threshold.
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

/// One balancing.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancing {
    /// Steps made before.
    pub step: u64,
    /// Work of the busiest rank over the mean.
    pub imbalance_before: f64,
    /// The same afterwards, by the weights that were known then.
    pub imbalance_after: f64,
    /// Particles that changed rank.
    pub particles_moved: u64,
    /// What it took on this rank, from the look at the balance to the first step of the new division.
    pub spent_s: f64,
    /// What the model says is won until the next look.
    pub won_s: f64,
    /// The cells that changed rank, for [`replay`]; empty where the run repeats itself.
    pub division: String,
}

/// How the work was balanced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BalanceReport {
    /// Looks at the balance.
    pub checks: u64,
    /// Work of the busiest rank over the mean, at the first look.
    pub imbalance_first: Option<f64>,
    /// The same at the last look.
    pub imbalance_last: Option<f64>,
    /// What all looks and balancings took on this rank, since the run has begun or gone on.
    pub spent_s: f64,
    /// Every balancing.
    pub balancings: Vec<Balancing>,
}

impl BalanceReport {
    /// Particles that have changed rank in all balancings.
    pub fn particles_moved(&self) -> u64 {
        self.balancings.iter().map(|balancing| balancing.particles_moved).sum()
    }

    /// What all of them have won, by the model.
    pub fn won_s(&self) -> f64 {
        self.balancings.iter().fold(0.0, |won_s, balancing| won_s + balancing.won_s)
    }
}

/// Looks at the balance of a simulation.
#[derive(Debug)]
pub(crate) struct Balancer {
    rule: Option<BalanceRule>,
    is_auto: bool,
    replay: Option<replay::Replay>,
    pub(crate) report: BalanceReport,
    /// Seconds worked until the last look.
    worked_s: f64,
    /// When the look began that is followed by a rebuild with another division.
    begun: Option<Instant>,
}

impl Balancer {
    /// The rows of `simple` stay where they are.
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

    /// The new division is in place.
    pub(crate) fn settle(&mut self) {
        let Some(begun) = self.begun.take() else { return };
        let spent_s = begun.elapsed().as_secs_f64();
        self.report.spent_s += spent_s;
        if let Some(last) = self.report.balancings.last_mut() {
            last.spent_s = spent_s;
        }
    }
}

/// As it stands in a scenario.
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
