//! The scenario as a user writes it (INTERFACE: TOML). Field names are the keys; doc comments become the JSON Schema.
//!
//! | table | file | says |
//! | --- | --- | --- |
//! | `[simulation]` | `simulation` | title, time step, length of the run |
//! | `[system]` | `system` | lattice or particle file, temperature, faces of the box |
//! | `[[species]]` | `species` | masses and wells |
//! | `[interaction]`, `[[interaction.pair]]` | `interaction` | the pair potential |
//! | `[neighbor]` | `neighbor` | how pairs are found, and how often anew |
//! | `[integrator]` | `integrator` | the equations of motion |
//! | `[parallel]` | `parallel` | ranks, partition, halo exchange |
//! | `[parallel.rma]` | [`super::rma`] | options of the one-sided backends |
//! | `[output]` | `output` | files and their intervals |
//!
//! Values that a later version brings (further partitions, checkpoints, ...) are named here so that they can be rejected
//! with "not available yet" instead of "unknown": see [`super::validate`].

mod integrator;
mod interaction;
mod neighbor;
mod output;
mod parallel;
mod simulation;
mod species;
mod system;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use integrator::{Integrator, IntegratorKind};
pub use interaction::{Interaction, Mixing, PairOverride, PotentialKind, Shift};
pub use neighbor::{Method, Neighbor, Precision, Rebuild};
pub use output::{Checkpoint, Every, Output, Trajectory};
pub use parallel::{Backend, ExchangeKind, Parallel, Partition, Shell};
pub use simulation::Simulation;
pub use species::Species;
pub use system::{Boundary, InputFile, InputFormat, Lattice, LatticeKind, System};

/// A whole scenario, all defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Title, time step, length of the run.
    pub simulation: Simulation,
    /// Where the particles come from.
    pub system: System,
    /// Particle species; the order gives the type numbers 1, 2, ...
    #[serde(default = "species::default_species")]
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
