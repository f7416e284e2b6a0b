//! The scenario: from TOML text and `--set` overrides to a checked [`Scenario`], and errors that say where and why.
//!
//! Order of work in [`load`]: syntax, then the *shape* (known keys, types, allowed names, required keys) against the
//! JSON Schema of the model, then the values. The shape is checked before deserialisation and not by it, because only
//! so does every error know its key path, and with it its place in the file or among the overrides.
//!
//! Field names are the keys; doc comments become the JSON Schema. Each table has one file, with its checks:
//!
//! | table | file | says |
//! | --- | --- | --- |
//! | `[simulation]` | `simulation` | title, time step, length of the run |
//! | `[integrator]` | `integrator`, [`md_engine::integrator`], [`md_engine::barostat`] | the equations of motion |
//! | `[[stage]]` | `stage` | parts of the run, each with its own length and integrator |
//! | `[system]` | `system` | lattice or particle file, temperature, faces of the box |
//! | `[[species]]` | `species` | masses and wells |
//! | `[interaction]`, `[[interaction.pair]]` | `interaction` | the pair potential |
//! | `[neighbor]` | `neighbor` | how pairs are found, and how often anew |
//! | `[parallel]`, `[parallel.rma]` | `parallel` | ranks, partition, halo exchange; options of the one-sided backends |
//! | `[output]` | `output` | files and their intervals |
//!
//! Names that a later version brings are refused with "not available yet" instead of "unknown": see `shape`.

mod error;
mod excerpt;
mod finding;
mod integrator;
mod interaction;
mod neighbor;
mod origin;
mod output;
mod overrides;
mod parallel;
mod path;
mod schema;
mod shape;
mod simulation;
mod source;
mod species;
mod stage;
mod system;
mod wording;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::ScenarioError;
pub use integrator::IntegratorTable;
pub use interaction::{Interaction, LennardJonesPair, MorsePair, PotentialKind};
pub use md_lab::name_of;
pub use neighbor::{Neighbor, Rebuild, Shape};
pub use output::{Checkpoint, Every, Output, Trajectory};
pub use parallel::{Parallel, Rma};
pub use schema::schema;
pub(crate) use shape::is_to_come;
pub use simulation::Simulation;
pub use source::{ScenarioSource, effective_toml, fault, load};
pub(crate) use species::MOST as MOST_SPECIES;
pub use species::Species;
pub use stage::{Stage, StagePlan};
pub use system::{InputFile, InputFormat, Lattice, System};
pub(crate) use wording::{listed, nearest};

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
    pub integrator: IntegratorTable,
    /// Parts of the run, one after the other, instead of `simulation.steps`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stage: Vec<Stage>,
    /// Ranks, partition and halo exchange.
    #[serde(default)]
    pub parallel: Parallel,
    /// Files and their intervals.
    #[serde(default)]
    pub output: Output,
}

/// Checks the values as far as that is possible without particles; the first fault in the order of the tables is
/// returned.
fn validate(scenario: &Scenario) -> finding::Checked {
    simulation::check(&scenario.simulation)?;
    system::check(&scenario.system, &scenario.simulation)?;
    species::check(&scenario.species, &scenario.system)?;
    interaction::check(&scenario.interaction, &scenario.species, &scenario.system)?;
    neighbor::check(&scenario.neighbor)?;
    integrator::check("integrator", &scenario.integrator, &scenario.simulation, &scenario.system)?;
    stage::check(scenario)?;
    parallel::check(&scenario.parallel, &scenario.simulation)?;
    output::check(&scenario.output)
}
