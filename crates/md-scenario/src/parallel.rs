//! `[parallel]`: ranks, partition and halo exchange. `[parallel.rma]`: options of the one-sided
//! backends.

use md_comm::{
    Arrivals, Asserts, Backend, BarrierCount, Buffering, Chunk, EpochOpening, Notice, Operation, Polling,
    PutCount, RingForm, RmaKey, RmaOptions, WindowCount, WindowKind,
};
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_core::{Shell, Threads};
use md_engine::{Balance, Protocol, SecondShare};
use md_lab::{Strategy, name_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::finding::{Checked, Finding, at_least_one};
use super::simulation::Simulation;
use super::wording::listed;

/// Help for the size of pieces of messages.
pub(super) const CHUNKS: &str =
    "bytes per piece, such as 32768; \"off\" sends whole messages, \"auto\" cuts them between nodes";
/// Help for the division among ranks.
pub(super) const DIVISION: &str = "ranks along x, y and z; their product is the number of ranks";
/// Help for the number of ranks.
pub(super) const RANKS: &str = "ranks as threads of this process, for `local` only";

/// `[parallel]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parallel {
    /// Backend that moves the halo.
    pub backend: Backend,
    /// For `hybrid` (also as a candidate of `auto`): backend that moves the halo between nodes. Any
    /// backend over MPI except `shm`, `hybrid` and `auto`.
    pub between_nodes: Backend,
    /// For `p2p` and `p2p-persistent` (also within `hybrid` and `auto`): size in bytes of the
    /// pieces into which the messages of each step are divided, "off" for whole messages, or
    /// "auto": 32768 between nodes, whole messages inside a node. Results do not depend on it.
    #[schemars(extend("$comment" = CHUNKS))]
    pub chunk: Chunk,
    /// How the forces between particles of different ranks are computed: "one", with ghosts that
    /// `backend` moves; "simple", with rows of cells that are sent to the neighbour and back
    /// (partition `stripe`); or "dist", with cells that are sent on request. "simple" and "dist"
    /// send their own two-sided messages, and need the method `cells`, the half shell and one
    /// thread. With "dist" the last bits differ from run to run.
    pub protocol: Protocol,
    /// Neighbouring cells that are imported, and the rank that computes a pair across ranks.
    pub shell: Shell,
    /// One stage with up to 26 partners, or three stages with two partners each.
    pub exchange: ExchangePattern,
    /// Division of the cells among the ranks.
    pub partition: PartitionKind,
    /// For `rect`: ranks per dimension, instead of the division with the smallest surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)), extend("$comment" = DIVISION))]
    pub grid: Option<[usize; 3]>,
    /// Whether the division is adapted to the work during a run on several ranks: "off"; "auto",
    /// every 100 steps if the expected gain until the next check exceeds the cost; or a table with
    /// the interval and the rule.
    pub balance: Balance,
    /// Compute inner pairs while the halo is in flight.
    pub overlap: bool,
    /// Part of the inner pairs, from 0 to 1, that is computed while forces are sent back; the rest
    /// is computed while positions are sent. It determines the order of the sums, and with it the
    /// last bits of the results. With "auto" every rank chooses among multiples of 1/8, at
    /// rebuilds, by the time that its messages take; the last bits then differ from run to run.
    #[schemars(extend("$comment" = "0.5 leaves half the inner pairs for the time when forces travel home"))]
    pub second_share: SecondShare,
    /// Threads per rank.
    #[schemars(range(min = 1, max = 1024), extend("$comment" = "threads per rank"))]
    pub threads: usize,
    /// For backend `local`: number of ranks, run as threads of this process.
    #[schemars(range(min = 1, max = 1024), extend("$comment" = RANKS))]
    pub ranks: usize,
    /// Seconds after which a rank that is still waiting for a message reports it and ends the run.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "seconds, the default is 60.0"))]
    pub watchdog_s: f64,
    /// Options of the one-sided backends.
    pub rma: Rma,
}

/// ```
/// use md_comm::Backend;
/// use md_scenario::Parallel;
///
/// let mut parallel = Parallel::default();
/// let strategy = md_lab::Strategy { backend: Backend::RmaFence, ..parallel.strategy() };
/// parallel.adopt(strategy);
/// assert_eq!((parallel.backend, parallel.strategy()), (Backend::RmaFence, strategy));
/// ```
impl Parallel {
    /// Returns the strategy that moves the halo.
    pub fn strategy(&self) -> Strategy {
        let Self { backend, shell, exchange, partition, .. } = *self;
        Strategy { backend, shell, exchange, partition }
    }

    /// Adopts a strategy.
    pub fn adopt(&mut self, strategy: Strategy) {
        let Strategy { backend, shell, exchange, partition } = strategy;
        (self.backend, self.shell) = (backend, shell);
        (self.exchange, self.partition) = (exchange, partition);
    }
}

impl Default for Parallel {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            between_nodes: Backend::P2p,
            chunk: Chunk::default(),
            protocol: Protocol::default(),
            shell: Shell::default(),
            exchange: ExchangePattern::default(),
            partition: PartitionKind::default(),
            grid: None,
            balance: Balance::Auto,
            overlap: true,
            second_share: SecondShare::default(),
            threads: 1,
            ranks: 1,
            watchdog_s: 60.0,
            rma: Rma::default(),
        }
    }
}

/// `[parallel.rma]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rma {
    /// How the memory of a window is allocated.
    pub window: WindowKind,
    /// One window for all neighbours, or one for each.
    pub windows: WindowCount,
    /// Side that moves the data: the sender by put, or the receiver by get.
    pub operation: Operation,
    /// Message buffers per neighbour: 1, or 2 (double buffering).
    #[schemars(extend("$comment" = "2 is double buffering, the default"))]
    pub slots: Buffering,
    /// Pass assertions to the MPI library at synchronisation calls.
    pub asserts: Asserts,
    /// How `rma-notify` reads its flags.
    pub polling: Polling,
    /// Form of `rma-ring`.
    pub ring: RingForm,
    /// When `rma-fence`, `rma-pscw` and `rma-lock-epoch` open the epoch of the next exchange.
    pub epoch: EpochOpening,
    /// How receivers of `rma-lock` and `rma-lock-epoch` are notified that messages have arrived.
    pub notice: Notice,
    /// Number of barriers of `rma-barrier`.
    pub barriers: BarrierCount,
    /// Where messages that were put into a window are read.
    pub arrivals: Arrivals,
    /// Number of puts per message.
    pub puts: PutCount,
}

/// ```
/// use md_comm::{Buffering, RmaKey};
/// use md_scenario::Rma;
///
/// let single = Rma::default().with(RmaKey::Slots, "1");
/// assert_eq!(single.map(|rma| rma.slots), Some(Buffering::Single));
/// assert_eq!(Rma::default().with(RmaKey::Slots, "many"), None);
/// ```
impl Rma {
    /// Returns the options of the transport: the values of all keys but `slots`.
    pub fn options(&self) -> RmaOptions {
        let Self { window, windows, operation, asserts, polling, ring, .. } = *self;
        let Self { epoch, notice, barriers, arrivals, puts, slots: _, .. } = *self;
        RmaOptions {
            window,
            windows,
            operation,
            asserts,
            polling,
            ring,
            epoch,
            notice,
            barriers,
            arrivals,
            puts,
        }
    }

    /// Returns the values of a key as they are written in a scenario, without quotation marks.
    pub fn values(key: RmaKey) -> Vec<&'static str> {
        if key == RmaKey::Asserts { vec!["false", "true"] } else { key.values() }
    }

    /// Returns a copy in which `key` has one of its [`Self::values`], or `None` if `value` is not
    /// one of them.
    #[must_use]
    pub fn with(self, key: RmaKey, value: &str) -> Option<Self> {
        let bare = value.parse().unwrap_or_else(|_| Value::String(value.to_owned()));
        self.with_value(key, bare)
    }

    fn with_value(self, key: RmaKey, value: Value) -> Option<Self> {
        let mut table = Table::try_from(self).ok()?;
        table.insert(key.name().to_owned(), value);
        table.try_into().ok()
    }

    /// Returns a copy in which `key` has its default.
    #[must_use]
    pub fn without(self, key: RmaKey) -> Self {
        let default = Table::try_from(Self::default()).ok().and_then(|mut table| table.remove(key.name()));
        default.and_then(|value| self.with_value(key, value)).unwrap_or(self)
    }
}

pub(super) fn check(parallel: &Parallel, simulation: &Simulation) -> Checked {
    check_transport(parallel)?;
    check_grid(parallel, simulation)?;
    check_balance(parallel.balance)
}

/// Checks the keys that do not depend on the kind of computation.
pub(super) fn check_transport(parallel: &Parallel) -> Checked {
    check_between_nodes(parallel.between_nodes)?;
    check_rma(parallel)?;
    check_ranks(parallel)?;
    check_threads(parallel)
}

fn check_rma(parallel: &Parallel) -> Checked {
    let (backend, key_of_backend) = match parallel.backend {
        Backend::Hybrid => (parallel.between_nodes, "parallel.between_nodes"),
        backend => (backend, "parallel.backend"),
    };
    let Some(refusal) = backend.refusal(&parallel.rma.options(), parallel.rma.slots) else {
        return Ok(());
    };
    let key = refusal.key.name();
    let message = format!("backend `{}` does not take this `{key}`", backend.name());
    let finding = Finding::new(format!("parallel.rma.{key}"), message, refusal.reason);
    Err(finding.or_at(key_of_backend))
}

fn check_between_nodes(backend: Backend) -> Checked {
    const KEY: &str = "parallel.between_nodes";
    let is_able = |backend: &Backend| {
        !matches!(backend, Backend::Local | Backend::Shm | Backend::Hybrid | Backend::Auto)
    };
    if is_able(&backend) {
        return Ok(());
    }
    let able = Backend::ALL.iter().copied().filter(is_able).map(Backend::name);
    let help = format!("available: {}", listed(able));
    let message = format!("`{KEY} = {:?}` cannot move messages between nodes by itself", backend.name());
    Err(Finding::new(KEY, message, help))
}

fn check_grid(parallel: &Parallel, simulation: &Simulation) -> Checked {
    let Some(grid) = parallel.grid else {
        return Ok(());
    };
    if parallel.partition != PartitionKind::Rect {
        let message = format!("partition `{}` takes no `grid`", name_of(parallel.partition));
        let finding = Finding::new("parallel.grid", message, "leave it out, or use `partition = \"rect\"`");
        return Err(finding.at_key().or_at("parallel.partition"));
    }
    if simulation.dimension == 2 && grid[2] != 1 {
        let message = format!("a 2D simulation cannot be divided in z, found {} ranks there", grid[2]);
        let help = format!("write `grid = [{}, {}, 1]`", grid[0], grid[1]);
        return Err(Finding::new("parallel.grid[2]", message, help));
    }
    Ok(())
}

fn check_ranks(parallel: &Parallel) -> Checked {
    if parallel.ranks > 1 && parallel.backend != Backend::Local {
        let backend = parallel.backend.name();
        let message =
            format!("`parallel.ranks = {}` needs backend `local`, found `{backend}`", parallel.ranks);
        let help = format!("start `mpirun -n {}` for `{backend}`, or use `local`", parallel.ranks);
        return Err(Finding::new("parallel.ranks", message, help).or_at("parallel.backend"));
    }
    Ok(())
}

fn check_balance(balance: Balance) -> Checked {
    let Balance::By(rule) = balance else { return Ok(()) };
    at_least_one(
        "parallel.balance.every",
        rule.every,
        "steps between two looks at the balance, the default is 100",
    )?;
    if rule.threshold >= 1.0 && rule.threshold.is_finite() {
        return Ok(());
    }
    let message = format!(
        "`parallel.balance.threshold` must be a finite number of at least 1, found {:?}",
        rule.threshold
    );
    let help = "work of the busiest rank over the mean that is left alone; 1 is perfect, the default is 1.05";
    Err(Finding::new("parallel.balance.threshold", message, help))
}

/// Checks that all threads of this process, with all its ranks, are at most [`Threads::MOST`].
fn check_threads(parallel: &Parallel) -> Checked {
    let Parallel { threads, ranks, .. } = *parallel;
    let most = Threads::MOST;
    if threads.saturating_mul(ranks) <= most {
        return Ok(());
    }
    let (path, message) = match (threads, ranks) {
        (1, _) => ("parallel.ranks", format!("`parallel.ranks` must be at most {most}, found {ranks}")),
        (_, 1) => ("parallel.threads", format!("`parallel.threads` must be at most {most}, found {threads}")),
        _ => (
            "parallel.threads",
            format!("{ranks} ranks with {threads} threads each are more than {most} threads"),
        ),
    };
    let help = "more threads than cores are slower than fewer; many ranks are started by `mpirun`";
    Err(Finding::new(path, message, help).or_at("parallel.ranks"))
}
