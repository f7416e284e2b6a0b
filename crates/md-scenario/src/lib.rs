//! The scenario: from TOML text and `--set` overrides to a checked [`Scenario`], and errors with
//! their place and reason.
//!
//! [`load`] checks the syntax first, then the *shape* (known keys, types, allowed names, required
//! keys) and the ranges of single numbers against the JSON Schema of the model, and then the other
//! conditions on the values. The shape is checked before deserialisation because only then does
//! every error have a key path, which gives its place in the file or among the overrides.
//!
//! Field names are the keys, and doc comments become the JSON Schema, so the examples are at the
//! methods of the tables. The `$comment` of a key is the help for a number outside of its range.
//! Each table has one file, which also contains its checks:
//!
//! ```
//! use md_scenario::{PotentialKind, ScenarioSource, load};
//!
//! let text = r#"
//!     [simulation]
//!     steps = 1000
//!     [system]
//!     lattice = { kind = "fcc", density = 0.8442, cells = [8, 8, 8] }
//!     temperature = 1.44
//!     [[species]]
//!     name = "Ar"
//!     [interaction]
//!     cutoff = 3.0
//!     [neighbor]
//!     rebuild = { every = 20 }
//!     [integrator]
//!     kind = "langevin"
//!     temperature = 1.44
//!     friction = 1.0
//!     [output]
//!     trajectory = { path = "melt.extxyz", every = 100 }
//! "#;
//! let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
//! let scenario = load(&source)?;
//! assert_eq!(scenario.species[0].name, "Ar");
//! assert!(matches!(scenario.interaction.kind, PotentialKind::LennardJones { .. }));
//! assert_eq!(scenario.neighbor.rebuild.every, Some(20));
//! assert_eq!(scenario.output.trajectory.map(|trajectory| trajectory.every), Some(100));
//!
//! // A misspelt key.
//! let text = text.replace("cutoff", "cutof");
//! let error = load(&ScenarioSource { text, ..ScenarioSource::default() }).err();
//! assert_eq!(error.as_ref().map(|error| error.key_path()), Some("interaction.cutof"));
//! assert!(error.is_some_and(|error| error.render().contains("cutoff")));
//! # Ok::<(), md_scenario::ScenarioError>(())
//! ```
//!
//! | table | file | contents |
//! | --- | --- | --- |
//! | `[simulation]` | `simulation` | title, time step, length of the run |
//! | `[integrator]` | `integrator`, [`md_engine::integrator`], [`md_engine::barostat`] | the equations of motion |
//! | `[[stage]]` | `stage`, `stage_output` | parts of the run, each with its own length, integrator and outputs |
//! | `[system]` | `system` | lattice or particle file, temperature, faces of the box |
//! | `system.regions`, `system.gas` | `generators` | lattices in parts of the box, a random gas |
//! | `system.walls` | `wall` | solid walls at faces of the box |
//! | `[[species]]` | `species` | masses and wells |
//! | `[interaction]`, `[[interaction.pair]]` | `interaction` | the pair potential |
//! | `[neighbor]` | `neighbor` | search for pairs, and when it is repeated |
//! | `[parallel]`, `[parallel.rma]` | `parallel` | ranks, partition, halo exchange; options of the one-sided backends |
//! | `[output]` | `output`, `analysis` | files and their intervals |
//!
//! Applications on grids have their own kinds of scenario ([`Model`]): `[stencil]` in `stencil`,
//! `[lbm]` in `lbm`, with `[parallel]` and `[output]` in `grid`.

#![forbid(unsafe_code)]

mod atom_style;
mod defaults;
mod error;
mod excerpt;
pub mod failure;
mod finding;
mod grid;
mod integrator;
mod interaction;
mod kind;
pub mod known_file;
mod lbm;
pub mod messages;
mod neighbor;
mod origin;
mod output;
mod overrides;
mod parallel;
mod path;
pub mod printable;
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
mod text;
mod wording;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use atom_style::AtomStyle;
pub use error::ScenarioError;
pub use error::at_key;
pub use grid::{GridOutput, GridParallel};
pub use integrator::IntegratorTable;
pub use integrator::integrator_fault;
pub use interaction::{
    Interaction, LennardJonesKeys, LennardJonesPair, MorseKeys, MorsePair, PotentialKind, SuttonChenKeys,
};
pub use kind::{ScenarioKind, schema};
pub use lbm::{
    Boundary, CollisionKind, Initial, InitialKind, Lbm, LbmOutput, LbmScenario, Obstacle, ObstacleKind,
    Probe, WallVelocity,
};
pub use md_lab::name_of;
pub use neighbor::{Neighbor, Rebuild, Shape, Skin};
pub use output::analysis::{
    ANALYSES, Analyses, AnalysisKeys, AnalysisKind, Averages, CentreOfMass, Hash, Msd, Profile, Quantity,
    Rdf, SurfaceTension, Vacf, Viscosity,
};
pub use output::trajectory::{Positions, Trajectory, TrajectoryColumn, TrajectoryPrecision};
pub use output::trajectory_format::{Compressible, Compression, FormatProperties, TrajectoryFormat};
pub use output::{Checkpoint, Every, Output};
pub use parallel::{Parallel, Rma};
pub use simulation::Simulation;
pub use source::has_table;
pub use source::{effective_toml, fault, load, load_as, same_elsewhere};
pub use species::MOST as MOST_SPECIES;
pub use species::Species;
pub use stage::{Stage, StagePlan};
pub use stage_output::{StageOutput, StageScenario};
pub use stencil::{Stencil, StencilScenario};
pub use system::generators::{Gas, RegionLattice, Regions};
pub use system::generators::{gas, regions};
pub use system::wall::WallPair;
pub use system::{Axis, InputFile, InputFormat, Lattice, System};
pub use text::ScenarioSource;
pub use wording::{listed, nearest};

/// A whole scenario, with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Title, time step, length of the run.
    pub simulation: Simulation,
    /// Source of the particles.
    pub system: System,
    /// Particle species; the order gives the type numbers 1, 2, ...
    #[serde(default = "species::default_species")]
    pub species: Vec<Species>,
    /// The pair potential.
    #[serde(default)]
    pub interaction: Interaction,
    /// Search for pairs within the cutoff.
    #[serde(default)]
    pub neighbor: Neighbor,
    /// Integration of the equations of motion.
    #[serde(default)]
    pub integrator: IntegratorTable,
    /// Successive parts of the run, instead of `simulation.steps`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stage: Vec<Stage>,
    /// Ranks, partition and halo exchange.
    #[serde(default)]
    pub parallel: Parallel,
    /// Files and their intervals.
    #[serde(default)]
    pub output: Output,
}

/// A scenario of one kind, with tables that can be read, described and written.
///
/// ```
/// use md_scenario::{LbmScenario, Model, Scenario, ScenarioSource, load_as};
///
/// fn is_valid<M: Model>(text: &str) -> bool {
///     load_as::<M>(&ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() }).is_ok()
/// }
///
/// let flow = "[lbm]\ngrid = [8, 8, 8]\nviscosity = 0.1\nsteps = 10\n";
/// assert!(is_valid::<LbmScenario>(flow) && !is_valid::<Scenario>(flow));
/// ```
pub trait Model: Serialize + DeserializeOwned + JsonSchema {
    /// Checks the values as far as possible without particles and ranks. Returns the first fault in
    /// the order of the tables.
    fn validate(&self) -> finding::Checked;

    /// Fills in defaults that depend on other keys. The values must have been checked.
    fn complete(&mut self) {}
}

impl Model for Scenario {
    fn validate(&self) -> finding::Checked {
        system::check(&self.system, &self.simulation)?;
        species::check(&self.species, &self.system)?;
        interaction::check(self)?;
        neighbor::check(&self.neighbor)?;
        integrator::check("integrator", &self.integrator, &self.simulation, &self.system)?;
        stage::check(self)?;
        parallel::check(&self.parallel, &self.simulation)?;
        protocol::check(&self.parallel, self.neighbor.method)?;
        output::check(&self.output, &self.species, &self.simulation)
    }
}
