//! Ways to move the halo, and what a row of a table is about.

use std::fmt;

use md_comm::{Backend, Blocking};
use md_core::Shell;
use md_core::force::Precision;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use serde::Serialize;

use crate::name_of;

/// One way to move the halo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Strategy {
    /// What moves the messages.
    pub backend: Backend,
    /// Which cells are imported.
    pub shell: Shell,
    /// Direct or staged.
    pub exchange: ExchangePattern,
    /// Who owns which cell.
    pub partition: PartitionKind,
}

impl Strategy {
    /// Keys of `[parallel]` that make a strategy.
    pub const KEYS: [&'static str; 4] = ["backend", "shell", "exchange", "partition"];

    /// Names of backend, shell, exchange and partition in scenarios.
    pub fn names(self) -> [String; 4] {
        let Self { backend, shell, exchange, partition } = self;
        [name_of(backend), name_of(shell), name_of(exchange), name_of(partition)]
    }

    /// Those of its [keys](Self::KEYS) that are asked for, with their values.
    pub fn values(self, asked: &[&str]) -> impl Iterator<Item = (&'static str, String)> {
        Self::KEYS.into_iter().zip(self.names()).filter(|(key, _)| asked.contains(key))
    }

    /// What moves the messages that `[parallel.rma]` and calls that hang are about: of `hybrid`, its backend between nodes.
    pub fn mover(self, between_nodes: Backend) -> Backend {
        if self.backend == Backend::Hybrid { between_nodes } else { self.backend }
    }

    /// Whether its calls can hang inside the MPI library.
    pub fn blocking(self, between_nodes: Backend) -> Blocking {
        self.mover(between_nodes).blocking()
    }

    /// Whether two strategies differ in nothing but the backend.
    pub fn same_work(self, other: Self) -> bool {
        Self { backend: other.backend, ..self } == other
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.names().join(" "))
    }
}

/// A key of the scenario that is varied, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Such as `parallel.rma.slots`.
    pub key: String,
    /// As in a scenario, but for quotation marks; `None` where the backend has no use for the key.
    pub value: Option<String>,
}

impl Setting {
    /// The last part of the key.
    pub fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }

    /// `slots=1`; `None` without a value.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref().map(|value| format!("{}={value}", self.name()))
    }
}

/// A strategy, and what is varied beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// How the halo is moved.
    pub strategy: Strategy,
    /// The same keys in all variants that are compared.
    pub settings: Vec<Setting>,
}

impl Variant {
    /// Names of the [keys](Strategy::KEYS) that are asked for, and the settings.
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

/// The columns that make a row of a table stand alone, in their order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunContext {
    /// How the halo is moved.
    pub strategy: Strategy,
    /// Ranks per dimension as `2x1x1`, or `-` where the partition has no grid.
    pub grid: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Threads per rank.
    pub threads: usize,
    /// Of the pair arithmetic.
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
