//! What a run reports: plain data between the driver, which measures, and the outputs, which write.

use md_comm::Choice;

/// One row of thermo.csv, LAMMPS's definitions (`units lj`, `thermo_modify norm yes`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thermo {
    /// Step number, 0 is the initial state.
    pub step: u64,
    /// Simulated time in tau.
    pub time: f64,
    /// Over 3N-3 (2N-2) degrees of freedom.
    pub temperature: f64,
    /// Potential energy per atom, tail correction included where asked for.
    pub potential_per_atom: f64,
    /// Kinetic energy per atom.
    pub kinetic_per_atom: f64,
    /// Total energy per atom.
    pub total_per_atom: f64,
    /// Virial pressure.
    pub pressure: f64,
}

/// Where the time of a step goes. The order is that of the rows in timing.csv.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the rows of timing.csv, documented in README.md")]
pub enum Phase {
    Integrate,
    Migrate,
    Border,
    Neighbor,
    HaloPack,
    HaloTransfer,
    HaloWait,
    HaloUnpack,
    Force,
    ForceReturn,
    Output,
    Other,
    Total,
}

impl Phase {
    /// All phases in the order of the rows.
    pub const ALL: [Self; 13] = [
        Self::Integrate,
        Self::Migrate,
        Self::Border,
        Self::Neighbor,
        Self::HaloPack,
        Self::HaloTransfer,
        Self::HaloWait,
        Self::HaloUnpack,
        Self::Force,
        Self::ForceReturn,
        Self::Output,
        Self::Other,
        Self::Total,
    ];

    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integrate => "integrate",
            Self::Migrate => "migrate",
            Self::Border => "border",
            Self::Neighbor => "neighbor",
            Self::HaloPack => "halo_pack",
            Self::HaloTransfer => "halo_transfer",
            Self::HaloWait => "halo_wait",
            Self::HaloUnpack => "halo_unpack",
            Self::Force => "force",
            Self::ForceReturn => "force_return",
            Self::Output => "output",
            Self::Other => "other",
            Self::Total => "total",
        }
    }
}

/// Calls and seconds of one phase on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PhaseTime {
    /// How often the phase was entered.
    pub calls: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// What one rank measured over the step loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankTiming {
    /// Indexed by `Phase as usize`.
    pub phases: [PhaseTime; Phase::ALL.len()],
    /// Messages sent.
    pub messages: u64,
    /// Payload bytes sent.
    pub bytes: u64,
    /// Owned particles at the end.
    pub owned: u64,
    /// Ghost particles at the end.
    pub ghosts: u64,
}

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

/// What `forces` adds to summary.json.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForceTotals {
    /// Total potential energy, tail included.
    pub potential_energy: f64,
    /// Sum of r . f over pairs.
    pub virial: f64,
    /// Tail correction of the energy.
    pub tail_energy: f64,
    /// Pressure.
    pub pressure: f64,
}

/// A particle as it appears in files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParticleRow {
    /// Global id, from 1.
    pub id: u64,
    /// Type number, from 1.
    pub kind: u32,
    /// Position.
    pub position: [f64; 3],
    /// Velocity (trajectory) or force (forces.csv).
    pub vector: [f64; 3],
}
