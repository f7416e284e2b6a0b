//! The scenario as a user writes it (INTERFACE: TOML). Field names are the keys; doc comments become the JSON Schema.
//!
//! Values that a later version brings (cluster lists, more backends, ...) are named here so that they can be rejected
//! with "not available yet" instead of "unknown": see [`super::validate`].

use super::rma::Rma;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A whole scenario, all defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Title, time step, length of the run.
    pub simulation: Simulation,
    /// Where the particles come from.
    pub system: System,
    /// Particle species; the order gives the type numbers 1, 2, ...
    #[serde(default = "default_species")]
    pub species: Vec<Species>,
    /// The pair potential.
    #[serde(default)]
    pub interaction: Interaction,
    /// How pairs are found.
    #[serde(default)]
    pub neighbor: Neighbor,
    /// How the equations of motion are integrated.
    #[serde(default)]
    pub integrator: Integrator,
    /// Ranks, partition and halo exchange.
    #[serde(default)]
    pub parallel: Parallel,
    /// Files and their intervals.
    #[serde(default)]
    pub output: Output,
}

/// `[simulation]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// A line that names the run in its outputs.
    #[serde(default)]
    pub title: String,
    /// 2 (one layer in z, no motion in z) or 3.
    #[serde(default = "three")]
    #[schemars(range(min = 2, max = 3))]
    pub dimension: u8,
    /// Time step in units of tau = sigma sqrt(m / epsilon).
    #[serde(default = "default_timestep")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: f64,
    /// Number of time steps.
    #[schemars(range(min = 1))]
    pub steps: u64,
    /// Key of everything random.
    #[serde(default)]
    pub seed: u64,
}

/// `[system]`: exactly one of `lattice` and `file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Particles on a lattice that fills the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lattice: Option<Lattice>,
    /// Particles from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<InputFile>,
    /// Maxwell-Boltzmann velocities of this reduced temperature, zero total momentum, scaled exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Boundary per dimension.
    #[serde(default)]
    pub boundary: [Boundary; 3],
}

/// `system.lattice`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lattice {
    /// Kind of the unit cell.
    pub kind: LatticeKind,
    /// Reduced number density; exactly one of `density` and `spacing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Lattice constant in units of sigma.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<f64>,
    /// Unit cells per dimension (in 2D the third is 1).
    #[schemars(inner(range(min = 1)))]
    pub cells: [u32; 3],
}

/// Kinds of lattices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatticeKind {
    /// Face-centred cubic, 4 sites per cell.
    Fcc,
    /// Body-centred cubic, 2 sites per cell.
    Bcc,
    /// Simple cubic, 1 site per cell.
    Sc,
    /// Hexagonal (2D), 2 sites per cell of a x sqrt(3) a.
    Hex,
    /// Square (2D), 1 site per cell.
    Sq,
}

/// `system.file`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    /// Path, relative to the scenario file's folder.
    pub path: String,
    /// Format of the file.
    pub format: InputFormat,
}

/// Formats of particle files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputFormat {
    /// LAMMPS data file, `atom_style atomic`, optionally with velocities.
    LammpsData,
    /// Extended XYZ with a `Lattice` and a `Properties` entry.
    Extxyz,
}

/// What happens at a face of the box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// Particles leave on one side and come back on the other.
    #[default]
    Periodic,
    /// Particles bounce off elastically.
    Reflecting,
}

/// `[[species]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Species {
    /// Name, used by `interaction.pair` and in trajectories.
    pub name: String,
    /// Mass in reduced units.
    #[serde(default = "one")]
    pub mass: f64,
    /// Well depth.
    #[serde(default = "one")]
    pub epsilon: f64,
    /// Diameter: the potential's zero crossing.
    #[serde(default = "one")]
    pub sigma: f64,
    /// Share of lattice sites; when one species leaves it out, it takes the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
}

/// `[interaction]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Interaction {
    /// Which potential.
    pub kind: PotentialKind,
    /// Cutoff radius in units of sigma.
    pub cutoff: f64,
    /// What is subtracted so that energy, or energy and force, vanish at the cutoff.
    pub shift: Shift,
    /// How parameters of unlike species are made.
    pub mixing: Mixing,
    /// Adds the mean-field energy and pressure from beyond the cutoff.
    pub tail_correction: bool,
    /// Overrides mixing for single pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pair: Vec<PairOverride>,
}

/// Kinds of pair potentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PotentialKind {
    /// 12-6 Lennard-Jones.
    #[default]
    LennardJones,
}

/// Shift at the cutoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shift {
    /// Plain truncation.
    #[default]
    None,
    /// Energy is zero at the cutoff.
    Energy,
    /// Energy and force are zero at the cutoff.
    Force,
}

/// Mixing rules for unlike species.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mixing {
    /// Arithmetic mean of sigma, geometric mean of epsilon.
    #[default]
    LorentzBerthelot,
    /// Geometric mean of both.
    Geometric,
}

/// `[[interaction.pair]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairOverride {
    /// Names of the two species.
    pub species: [String; 2],
    /// Well depth of this pair.
    pub epsilon: f64,
    /// Diameter of this pair.
    pub sigma: f64,
}

/// `[neighbor]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbor {
    /// How pairs within the cutoff are found.
    pub method: Method,
    /// Extra distance, so that the neighbourhood holds for several steps, in units of sigma.
    pub skin: f64,
    /// When the neighbourhood is made anew.
    pub rebuild: Rebuild,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
}

/// Methods of finding pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Verlet cluster lists: the fastest.
    #[default]
    Clusters,
    /// Linked cells, every particle against the neighbouring cells.
    Cells,
    /// Every particle against every other: the reference.
    DirectSum,
}

/// `neighbor.rebuild`: `{ every = N }` or `{ displacement = true }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Rebuild every N steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// Rebuild when a particle has moved by more than half the skin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displacement: Option<bool>,
}

/// Precision of the pair arithmetic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 64-bit throughout.
    #[default]
    Double,
    /// 32-bit pairs, 64-bit sums.
    Mixed,
}

/// `[integrator]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Integrator {
    /// Which integrator.
    pub kind: IntegratorKind,
}

/// Integrators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntegratorKind {
    /// Velocity Verlet: constant energy.
    #[default]
    VelocityVerlet,
}

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

/// `[output]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Folder of all files.
    pub directory: String,
    /// Interval of thermo.csv and the table on screen.
    pub thermo: Every,
    /// Positions and velocities over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    /// Restart files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
}

/// An interval in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// Steps between two writes.
    #[schemars(range(min = 1))]
    pub every: u64,
}

/// `output.trajectory`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// File name in the output directory; the extension gives the format.
    pub path: String,
    /// Steps between two frames.
    #[schemars(range(min = 1))]
    pub every: u64,
}

/// `output.checkpoint`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Steps between two checkpoints.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// How many are kept.
    #[serde(default)]
    pub keep: Option<u32>,
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

impl Shell {
    /// All names.
    pub const ALL: [Self; 3] = [Self::Full, Self::Half, Self::Eighth];
}

impl ExchangeKind {
    /// All names.
    pub const ALL: [Self; 2] = [Self::Direct, Self::Staged];
}

impl Partition {
    /// All names, those of partitions to come included.
    pub const ALL: [Self; 5] = [Self::Rect, Self::Stripe, Self::Rcb, Self::Metis, Self::Scattered];
}

fn one() -> f64 {
    1.0
}

fn three() -> u8 {
    3
}

fn default_timestep() -> f64 {
    0.005
}

fn default_species() -> Vec<Species> {
    vec![Species { name: "A".to_owned(), mass: 1.0, epsilon: 1.0, sigma: 1.0, fraction: None }]
}

impl Default for Interaction {
    fn default() -> Self {
        Self {
            kind: PotentialKind::default(),
            cutoff: 2.5,
            shift: Shift::default(),
            mixing: Mixing::default(),
            tail_correction: false,
            pair: Vec::new(),
        }
    }
}

impl Default for Neighbor {
    fn default() -> Self {
        Self {
            method: Method::default(),
            skin: 0.3,
            rebuild: Rebuild { every: None, displacement: Some(true) },
            precision: Precision::default(),
        }
    }
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

impl Default for Backend {
    /// Two-sided MPI where the program was built with MPI, else threads.
    fn default() -> Self {
        if cfg!(feature = "mpi") { Self::P2p } else { Self::Local }
    }
}

impl Default for Output {
    fn default() -> Self {
        Self { directory: "out".to_owned(), thermo: Every { every: 100 }, trajectory: None, checkpoint: None }
    }
}
