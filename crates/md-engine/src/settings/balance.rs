//! Keys of load balancing.

use crate::error::EngineError;

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
    pub(crate) fn rule(self) -> Option<BalanceRule> {
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
