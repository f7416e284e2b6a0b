//! What a run reports: plain data between the commands and the outputs, which write it.

use std::fmt;

use md_comm::{Backend, Blocking, Choice};
use md_core::Shell;
use md_core::force::Precision;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_engine::{EnergyReport, NeighborReport};
use serde::Serialize;

use crate::early_end::Ended;
use crate::scenario::{Parallel, name_of};

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
    /// A scenario's own.
    pub fn of(parallel: &Parallel) -> Self {
        let Parallel { backend, shell, exchange, partition, .. } = *parallel;
        Self { backend, shell, exchange, partition }
    }

    /// Makes it the scenario's own.
    pub fn put_into(self, parallel: &mut Parallel) {
        let Self { backend, shell, exchange, partition } = self;
        (parallel.backend, parallel.shell) = (backend, shell);
        (parallel.exchange, parallel.partition) = (exchange, partition);
    }

    /// Names of backend, shell, exchange and partition in scenarios.
    pub fn names(self) -> [String; 4] {
        let Self { backend, shell, exchange, partition } = self;
        [name_of(backend), name_of(shell), name_of(exchange), name_of(partition)]
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

/// What a finished run knows about itself beside its timings: the rest of summary.json.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Seconds of the step loop alone.
    pub wall_s: f64,
    /// Time step in tau.
    pub timestep: f64,
    /// SIMD level of the kernels, e.g. `avx512`.
    pub simd: String,
    /// How it was chosen: `auto`, `measured` or `named`.
    pub shape: &'static str,
    /// Pairs within the cutoff per atom, each counted once, at the last thermo step.
    pub useful_pairs_per_atom: f64,
    /// Pairs whose distance was computed, per atom.
    pub computed_pairs_per_atom: f64,
    /// Rebuilds of the neighbourhood, and how it held in between.
    pub neighborhood: NeighborReport,
    /// Particles lost (a run that loses one fails).
    pub lost_particles: u64,
    /// Why the run has ended.
    pub ended: Ended,
    /// Total energy per atom, last minus first.
    pub energy_drift_per_atom: f64,
    /// How well the total energy was kept.
    pub energy: EnergyReport,
    /// What puts the results in doubt, in words.
    pub warnings: Vec<String>,
    /// What makes ranks take turns on their cores, in words.
    pub crowding: Option<String>,
    /// RMA component in use, or `none`.
    pub rma_component: String,
    /// What the contexts of backend `auto` have chosen.
    pub choices: Vec<Choice>,
    /// Commit the program was built from, or `unknown`.
    pub git: String,
}
