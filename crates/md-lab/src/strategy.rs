//! Strategies for the halo exchange, and the columns that identify a row of a table.

use std::fmt;

use md_comm::{Backend, Blocking};
use md_core::Shell;
use md_core::force::Precision;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use serde::Serialize;

use crate::name_of;

/// A strategy for the halo exchange.
///
/// ```
/// use md_comm::Backend;
/// use md_core::{ExchangePattern, PartitionKind, Shell};
/// use md_lab::Strategy;
///
/// let (shell, exchange, partition) = (Shell::Half, ExchangePattern::Staged, PartitionKind::Rect);
/// let strategy = Strategy { backend: Backend::P2p, shell, exchange, partition };
/// assert_eq!(strategy.to_string(), "p2p half staged rect");
/// assert!(strategy.same_work(Strategy { backend: Backend::Shm, ..strategy }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Strategy {
    /// Backend that moves the messages.
    pub backend: Backend,
    /// Shell, which determines the imported cells.
    pub shell: Shell,
    /// Exchange pattern: direct or staged.
    pub exchange: ExchangePattern,
    /// Assignment of cells to ranks.
    pub partition: PartitionKind,
}

impl Strategy {
    /// Keys of `[parallel]` that define a strategy.
    pub const KEYS: [&'static str; 4] = ["backend", "shell", "exchange", "partition"];

    /// Returns the names of backend, shell, exchange and partition as in a scenario.
    pub fn names(self) -> [String; 4] {
        let Self { backend, shell, exchange, partition } = self;
        [name_of(backend), name_of(shell), name_of(exchange), name_of(partition)]
    }

    /// Returns those of its [keys](Self::KEYS) that are in `asked`, with their values.
    pub fn values(self, asked: &[&str]) -> impl Iterator<Item = (&'static str, String)> {
        Self::KEYS.into_iter().zip(self.names()).filter(|(key, _)| asked.contains(key))
    }

    /// Returns the backend for `[parallel.rma]` and [`Blocking`]: of `hybrid`, that between nodes.
    pub fn mover(self, between_nodes: Backend) -> Backend {
        if self.backend == Backend::Hybrid { between_nodes } else { self.backend }
    }

    /// Returns where its calls can hang inside the MPI library.
    pub fn blocking(self, between_nodes: Backend) -> Blocking {
        self.mover(between_nodes).blocking()
    }

    /// Returns whether two strategies are equal except for the backend.
    pub fn same_work(self, other: Self) -> bool {
        Self { backend: other.backend, ..self } == other
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.names().join(" "))
    }
}

/// A key of the scenario that is varied, with a value.
///
/// ```
/// use md_lab::Setting;
///
/// let setting = Setting { key: "parallel.rma.slots".to_owned(), value: Some("1".to_owned()) };
/// assert_eq!(setting.text().as_deref(), Some("slots=1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Full key, such as `parallel.rma.slots`.
    pub key: String,
    /// Value as in a scenario, without quotation marks; `None` if the backend does not use the key.
    pub value: Option<String>,
}

impl Setting {
    /// Returns the last part of the key.
    pub fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }

    /// Returns the setting as text, such as `slots=1`; `None` without a value.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref().map(|value| format!("{}={value}", self.name()))
    }
}

/// A strategy with the settings that are varied in addition.
///
/// ```
/// use md_comm::Backend;
/// use md_core::{ExchangePattern, PartitionKind, Shell};
/// use md_lab::{Setting, Strategy, Variant};
///
/// let (shell, exchange, partition) = (Shell::Half, ExchangePattern::Direct, PartitionKind::Rect);
/// let strategy = Strategy { backend: Backend::RmaFence, shell, exchange, partition };
/// let one_slot = Setting { key: "parallel.rma.slots".to_owned(), value: Some("1".to_owned()) };
/// let variant = Variant { settings: vec![one_slot], ..Variant::from(strategy) };
/// assert_eq!(variant.to_string(), "rma-fence half direct rect slots=1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Strategy for the halo exchange.
    pub strategy: Strategy,
    /// Settings, with equal keys in all variants that are compared.
    pub settings: Vec<Setting>,
}

impl Variant {
    /// Returns the values of the [keys](Strategy::KEYS) that are in `keys`, then the settings.
    pub fn names(&self, keys: &[&str]) -> Vec<String> {
        let values = self.strategy.values(keys).map(|(_, value)| value);
        values.chain(self.settings.iter().filter_map(Setting::text)).collect()
    }
}

impl From<Strategy> for Variant {
    fn from(strategy: Strategy) -> Self {
        Self { strategy, settings: Vec::new() }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.names(&Strategy::KEYS).join(" "))
    }
}

/// The columns that identify the run to which a row of a table belongs, in their order.
///
/// ```
/// use md_comm::Backend;
/// use md_core::force::Precision;
/// use md_core::{ExchangePattern, PartitionKind, Shell};
/// use md_lab::{RunContext, Strategy};
///
/// let (shell, exchange, partition) = (Shell::Half, ExchangePattern::Direct, PartitionKind::Rect);
/// let context = RunContext {
///     strategy: Strategy { backend: Backend::P2p, shell, exchange, partition },
///     grid: "2x1x1".to_owned(),
///     ranks: 2,
///     threads: 1,
///     precision: Precision::Mixed,
///     atoms: 32_000,
///     steps: 100,
///     seed: 1,
///     mpi_library: "Open MPI v4.1.4".to_owned(),
///     host: "node1".to_owned(),
///     version: "0.2.0".to_owned(),
/// };
/// // The columns of a table.
/// let row = serde_json::to_value(&context)?;
/// assert_eq!((&row["grid"], &row["precision"]), (&"2x1x1".into(), &"mixed".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunContext {
    /// Strategy for the halo exchange.
    pub strategy: Strategy,
    /// Ranks per dimension, such as `2x1x1`, or `-` if the partition has no grid.
    pub grid: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of threads per rank.
    pub threads: usize,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
    /// Number of particles.
    pub atoms: u64,
    /// Number of steps done.
    pub steps: u64,
    /// Seed of the scenario.
    pub seed: u64,
    /// First line of the MPI library's version, or `none`.
    pub mpi_library: String,
    /// Host name of rank 0.
    pub host: String,
    /// Version of md.
    pub version: String,
}
