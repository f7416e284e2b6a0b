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
//! | `[[stage]]` | `stage`, `stage_output` | parts of the run, each with its own length, integrator and outputs |
//! | `[system]` | `system` | lattice or particle file, temperature, faces of the box |
//! | `system.regions`, `system.gas` | `generators` | lattices in parts of the box, a random gas |
//! | `system.walls` | `wall` | solid walls at faces of the box |
//! | `[[species]]` | `species` | masses and wells |
//! | `[interaction]`, `[[interaction.pair]]` | `interaction` | the pair potential |
//! | `[neighbor]` | `neighbor` | how pairs are found, and how often anew |
//! | `[parallel]`, `[parallel.rma]` | `parallel` | ranks, partition, halo exchange; options of the one-sided backends |
//! | `[output]` | `output`, `analysis` | files and their intervals |
//!
//! Applications on grids have scenarios of their own kinds ([`Model`]): `[stencil]` in `stencil`, `[lbm]` in `lbm`, with `[parallel]` and `[output]`
//! in `grid`.

mod analysis;
mod error;
mod excerpt;
mod finding;
mod generators;
mod grid;
mod integrator;
mod interaction;
mod lbm;
mod neighbor;
mod origin;
mod output;
mod overrides;
mod parallel;
mod path;
mod protocol;
mod schema;
mod shape;
mod simulation;
mod source;
mod species;
mod stage;
mod stage_output;
mod stencil;
mod system;
mod trajectory;
mod wall;
mod wording;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use analysis::{Averages, CentreOfMass, Msd, Profile, Rdf, SurfaceTension, Vacf, Viscosity};
pub use error::ScenarioError;
pub(crate) use error::at_key;
pub use generators::{Gas, RegionLattice, Regions};
pub(crate) use generators::{gas, regions};
pub use grid::{GridOutput, GridParallel};
pub use integrator::IntegratorTable;
pub(crate) use integrator::integrator_fault;
pub use interaction::{Interaction, LennardJonesPair, MorsePair, PotentialKind};
pub use lbm::{
    Boundary, CollisionKind, Initial, InitialKind, Lbm, LbmOutput, LbmScenario, Obstacle, ObstacleKind,
    Probe, WallVelocity,
};
pub use md_lab::name_of;
pub use neighbor::{Neighbor, Rebuild, Shape};
pub use output::{Checkpoint, Every, Output};
pub use parallel::{Parallel, Rma};
pub use schema::schema;
pub use simulation::Simulation;
pub(crate) use source::has_table;
pub use source::{ScenarioSource, effective_toml, fault, load, load_as, same_elsewhere};
pub(crate) use species::MOST as MOST_SPECIES;
pub use species::Species;
pub use stage::{Stage, StagePlan};
pub use stage_output::{StageOutput, StageScenario};
pub use stencil::{Stencil, StencilScenario};
pub use system::{AtomStyle, Axis, InputFile, InputFormat, Lattice, System};
pub use trajectory::{Positions, Trajectory, TrajectoryColumn, TrajectoryPrecision};
pub use wall::WallPair;
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

/// A scenario of one kind: its tables as they are read, described and written.
pub trait Model: Serialize + DeserializeOwned + JsonSchema {
    /// Checks the values as far as that is possible without particles and ranks; the first fault in the order of the tables is
    /// returned.
    #[expect(
        private_interfaces,
        reason = "findings get their places in the text before anybody else sees them"
    )]
    fn validate(&self) -> finding::Checked;

    /// Fills in defaults that depend on other keys, of checked values.
    fn complete(&mut self) {}
}

impl Model for Scenario {
    #[expect(private_interfaces, reason = "see the trait")]
    fn validate(&self) -> finding::Checked {
        simulation::check(&self.simulation)?;
        if self.stage.is_empty() {
            simulation::check_steps(&self.simulation)?;
        }
        system::check(&self.system, &self.simulation)?;
        species::check(&self.species, &self.system)?;
        interaction::check(&self.interaction, &self.species, &self.system)?;
        neighbor::check(&self.neighbor)?;
        integrator::check("integrator", &self.integrator, &self.simulation, &self.system)?;
        stage::check(self)?;
        parallel::check(&self.parallel, &self.simulation)?;
        protocol::check(&self.parallel, self.neighbor.method)?;
        output::check(&self.output, &self.species, &self.simulation)
    }
}
