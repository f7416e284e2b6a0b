//! `[parallel]`: ranks, partition and halo exchange. `[parallel.rma]` is [`Rma`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::rma::Rma;

/// `[parallel]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parallel {
    /// What moves the halo.
    pub backend: Backend,
    /// For `hybrid` (also as a candidate of `auto`): what moves the halo between nodes.
    pub between_nodes: Backend,
    /// Which neighbouring cells are imported, and who computes a pair across ranks.
    pub shell: Shell,
    /// One stage with up to 26 partners, or three stages with two each.
    pub exchange: ExchangeKind,
    /// Which rank owns which cell.
    pub partition: Partition,
    /// For `rect`: ranks per dimension, instead of the choice of least surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<[usize; 3]>,
    /// Compute inner pairs while the halo is in flight.
    pub overlap: bool,
    /// Threads per rank.
    #[schemars(range(min = 1))]
    pub threads: usize,
    /// For backend `local`: number of ranks, run as threads of this process.
    #[schemars(range(min = 1))]
    pub ranks: usize,
    /// Seconds after which a rank that still waits for a message reports it and ends the run.
    pub watchdog_s: f64,
    /// Options of the one-sided backends.
    pub rma: Rma,
}

impl Default for Parallel {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            between_nodes: Backend::P2p,
            shell: Shell::default(),
            exchange: ExchangeKind::default(),
            partition: Partition::default(),
            grid: None,
            overlap: true,
            threads: 1,
            ranks: 1,
            watchdog_s: 60.0,
            rma: Rma::default(),
        }
    }
}

/// Names of the halo backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "`md-cli backends` describes each in one line")]
pub enum Backend {
    Local,
    P2p,
    P2pPersistent,
    NeighborCollective,
    RmaFence,
    RmaPscw,
    RmaLock,
    RmaLockEpoch,
    RmaBarrier,
    RmaNotify,
    RmaRing,
    Shm,
    Hybrid,
    Auto,
}

impl Default for Backend {
    /// Two-sided MPI where the program was built with MPI, else threads.
    fn default() -> Self {
        if cfg!(feature = "mpi") { Self::P2p } else { Self::Local }
    }
}

impl Backend {
    /// All names, those of backends to come included.
    pub const ALL: [Self; 14] = [
        Self::Local,
        Self::P2p,
        Self::P2pPersistent,
        Self::NeighborCollective,
        Self::RmaFence,
        Self::RmaPscw,
        Self::RmaLock,
        Self::RmaLockEpoch,
        Self::RmaBarrier,
        Self::RmaNotify,
        Self::RmaRing,
        Self::Shm,
        Self::Hybrid,
        Self::Auto,
    ];
}

/// Which neighbouring cells are imported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shell {
    /// All 26; every rank computes all pairs of its particles; no forces return.
    Full,
    /// 13; the owner of the lower cell computes, forces return.
    #[default]
    Half,
    /// 7; the owner of the base corner computes, forces return.
    Eighth,
}

impl Shell {
    /// All names.
    pub const ALL: [Self; 3] = [Self::Full, Self::Half, Self::Eighth];
}

/// Direct or staged exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExchangeKind {
    /// One message per neighbour.
    #[default]
    Direct,
    /// x, then y, then z; corners are forwarded.
    Staged,
}

impl ExchangeKind {
    /// All names.
    pub const ALL: [Self; 2] = [Self::Direct, Self::Staged];
}

/// Which rank owns which cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the field's")]
pub enum Partition {
    #[default]
    Rect,
    Stripe,
    Rcb,
    Metis,
    Scattered,
}

impl Partition {
    /// All names, those of partitions to come included.
    pub const ALL: [Self; 5] = [Self::Rect, Self::Stripe, Self::Rcb, Self::Metis, Self::Scattered];
}
