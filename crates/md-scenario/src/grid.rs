//! `[parallel]` and `[output]` of applications on grids: the keys of molecular dynamics, without
//! those that only apply to particles.

use md_comm::{Backend, Chunk};
use md_core::ExchangePattern;
use md_grid::Messages;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding};
use super::output::{Checkpoint, Every};
use super::parallel::{CHUNKS, DIVISION, Parallel, RANKS, Rma, check_transport};

/// Help for an axis without nodes.
pub(super) const NODES: &str = "nodes along x, y and z; 1 leaves an axis out";

/// `[parallel]` of a grid
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GridParallel {
    /// Backend that moves the halo.
    pub backend: Backend,
    /// For `hybrid` (also as a candidate of `auto`): backend that moves the halo between nodes. Any
    /// backend over MPI except `shm`, `hybrid` and `auto`.
    pub between_nodes: Backend,
    /// For `p2p` and `p2p-persistent` (also within `hybrid` and `auto`): size in bytes of the
    /// pieces into which messages are divided, "off" for whole messages, or "auto": 32768 between
    /// nodes, whole messages inside a node.
    #[schemars(extend("$comment" = CHUNKS))]
    pub chunk: Chunk,
    /// One stage with all neighbours, or one stage with two neighbours along each axis.
    pub exchange: ExchangePattern,
    /// Whether the fields share messages.
    pub messages: Messages,
    /// Axes along which the grid may be divided.
    pub decomposition: Axes,
    /// Ranks along x, y and z, instead of the division with the smallest surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)), extend("$comment" = DIVISION))]
    pub grid: Option<[usize; 3]>,
    /// Compute the grid nodes that need no ghosts while the halo is in flight.
    pub overlap: bool,
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

/// Axes along which a grid may be divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Axes {
    /// Only x.
    #[serde(rename = "1d")]
    One,
    /// x and y: columns along z stay whole.
    #[serde(rename = "2d")]
    Two,
    /// All axes.
    #[default]
    #[serde(rename = "3d")]
    Three,
}

impl Axes {
    /// Returns whether each axis may be divided.
    pub fn may_be_cut(self) -> [bool; 3] {
        [true, self != Self::One, self == Self::Three]
    }
}

impl Default for GridParallel {
    fn default() -> Self {
        let Parallel { backend, between_nodes, chunk, exchange, overlap, threads, .. } = Parallel::default();
        let Parallel { ranks, watchdog_s, rma, .. } = Parallel::default();
        Self {
            backend,
            between_nodes,
            chunk,
            exchange,
            messages: Messages::default(),
            decomposition: Axes::default(),
            grid: None,
            overlap,
            threads,
            ranks,
            watchdog_s,
            rma,
        }
    }
}

impl GridParallel {
    /// Returns the keys that molecular dynamics also has: those that start ranks and move messages.
    ///
    /// ```
    /// use md_comm::Backend;
    /// use md_scenario::GridParallel;
    ///
    /// let parallel = GridParallel { backend: Backend::Shm, ..GridParallel::default() };
    /// assert_eq!(parallel.transport().backend, Backend::Shm);
    /// ```
    pub fn transport(&self) -> Parallel {
        let Self { backend, between_nodes, chunk, exchange, overlap, .. } = *self;
        let Self { threads, ranks, watchdog_s, rma, .. } = *self;
        let moved = Parallel { backend, between_nodes, chunk, exchange, overlap, ..Parallel::default() };
        Parallel { threads, ranks, watchdog_s, rma, ..moved }
    }
}

/// `[output]` of a grid
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GridOutput {
    /// Directory of all files.
    pub directory: String,
    /// Interval of thermo.csv and the table on screen.
    #[schemars(extend("$comment" = "steps between two rows of thermo.csv"))]
    pub thermo: Every,
    /// Files from which a run can be continued (`--resume`), on any number of ranks. One is also
    /// written after the last step. Without this table one is written when a signal or
    /// `--wall-time` ends the run, and at the end of a run that began with `--resume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
}

impl Default for GridOutput {
    fn default() -> Self {
        Self { directory: "out".to_owned(), thermo: Every { every: 100 }, checkpoint: None }
    }
}

pub(super) fn check_parallel(parallel: &GridParallel) -> Checked {
    check_transport(&parallel.transport())?;
    check_messages(parallel)?;
    let Some(grid) = parallel.grid else { return Ok(()) };
    let may_be_cut = parallel.decomposition.may_be_cut();
    for (axis, ranks) in grid.into_iter().enumerate() {
        let path = format!("parallel.grid[{axis}]");
        if ranks > 1 && !may_be_cut[axis] {
            let name = ["x", "y", "z"][axis];
            let message = format!("the grid is not divided along {name}, found {ranks} ranks there");
            let help = "`parallel.decomposition` says along which axes it may be: `1d`, `2d` or `3d`";
            return Err(Finding::new(path, message, help).or_at("parallel.decomposition"));
        }
    }
    Ok(())
}

/// Refuses messages by MPI datatypes for backends other than `p2p` and `auto`.
fn check_messages(parallel: &GridParallel) -> Checked {
    let GridParallel { backend, messages, .. } = parallel;
    if messages.are_packed() || matches!(backend, Backend::P2p | Backend::Auto) {
        return Ok(());
    }
    let message = format!("backend `{}` does not take messages as MPI datatypes", backend.name());
    let help = "`p2p` does (`auto` then takes it); others need `aggregated` or `per-field`";
    Err(Finding::new("parallel.messages", message, help).or_at("parallel.backend"))
}
