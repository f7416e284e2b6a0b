//! What a run reports: plain data between the commands and the outputs, which write it.

use md_comm::Choice;

/// The columns that make a row of timing.csv stand alone.
#[derive(Debug, Clone, PartialEq)]
pub struct RunContext {
    /// Halo backend, e.g. `p2p`.
    pub backend: String,
    /// `full`, `half`, `eighth`.
    pub shell: String,
    /// `direct`, `staged`.
    pub exchange: String,
    /// `rect`, `stripe`, ...
    pub partition: String,
    /// Ranks per dimension as `2x1x1`, or `-` where the partition has no grid.
    pub grid: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Threads per rank.
    pub threads: usize,
    /// `double`, `mixed`.
    pub precision: String,
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
    /// Pairs within the cutoff per atom, each counted once, at the last thermo step.
    pub useful_pairs_per_atom: f64,
    /// Pairs whose distance was computed, per atom.
    pub computed_pairs_per_atom: f64,
    /// Neighbourhood rebuilds after the initial one.
    pub rebuilds: u64,
    /// Rebuilds at which a particle had already moved by more than half the skin.
    pub dangerous_rebuilds: u64,
    /// Particles lost (a run that loses one fails).
    pub lost_particles: u64,
    /// Total energy per atom, last minus first.
    pub energy_drift_per_atom: f64,
    /// RMA component in use, or `none`.
    pub rma_component: String,
    /// What the contexts of backend `auto` have chosen.
    pub choices: Vec<Choice>,
    /// Commit the program was built from, or `unknown`.
    pub git: String,
}
