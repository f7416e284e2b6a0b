//! `[output]`: files and their intervals.

pub(crate) mod analysis;
pub(crate) mod trajectory;
pub(crate) mod trajectory_format;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::number;
use super::finding::{Checked, Finding, check_directory};
use super::simulation::Simulation;
use super::species::Species;
use super::species_columns;
use analysis::{
    Analyses, Sampling, check_origins, check_profiles, check_rdf, check_surface_tension, check_vacf,
    check_viscosity,
};
use trajectory::Trajectory;

/// `[output]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Output {
    /// Directory of all files.
    pub directory: String,
    /// Interval of thermo.csv and the table on screen.
    #[schemars(extend("$comment" = "steps between two rows of thermo.csv"))]
    pub thermo: Every,
    /// Positions and velocities over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    /// Files from which a run can be continued (`--resume`). One is also written after the last
    /// step. Without this table one is written when a signal or `--wall-time` ends the run, and at
    /// the end of a run that began with `--resume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// Quantities computed from the particles during a run.
    #[serde(flatten)]
    pub analyses: Analyses,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            directory: "out".to_owned(),
            thermo: Every { every: 100 },
            trajectory: None,
            checkpoint: None,
            analyses: Analyses::default(),
        }
    }
}

/// An interval in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// Steps between two writes.
    #[schemars(range(min = 1))]
    pub every: u64,
}

/// `output.checkpoint`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Steps between two checkpoints.
    #[schemars(range(min = 1), extend("$comment" = "steps between two checkpoints"))]
    pub every: u64,
    /// Number of checkpoints that are kept: the newest ones.
    #[serde(default = "number::<2>")]
    #[schemars(range(min = 1), extend("$comment" = "number of checkpoints that stay"))]
    pub keep: u64,
}

pub(super) fn check(output: &Output, named: &[Species], simulation: &Simulation) -> Checked {
    let species = named.len();
    check_directory(&output.directory)?;
    if let Some(trajectory) = &output.trajectory {
        trajectory::check(trajectory)?;
    }
    let Analyses { rdf, msd, vacf, viscosity, ref profile, surface_tension, .. } = output.analyses;
    rdf.map_or(Ok(()), |rdf| check_rdf(&rdf, species))?;
    msd.map_or(Ok(()), |msd| check_origins("output.msd.origins", msd.origins))?;
    let Simulation { timestep, dimension, .. } = simulation;
    vacf.map_or(Ok(()), |vacf| check_vacf(&vacf, species, *timestep))?;
    viscosity.map_or(Ok(()), |viscosity| check_viscosity(&viscosity, *timestep))?;
    check_profiles(profile, species, *dimension)?;
    surface_tension.map_or(Ok(()), |_| check_surface_tension(*dimension))?;
    check_columns(output, named)
}

/// Checks that the columns of every table have distinct names.
fn check_columns(output: &Output, species: &[Species]) -> Checked {
    let names: Vec<String> = species.iter().map(|species| species.name.clone()).collect();
    for Sampling { key, file, .. } in output.analyses.samplings() {
        if let Some(column) = species_columns::clash(file, &names) {
            let key = format!("output.{key}{}", if key == "profile" { "[0]" } else { "" });
            let message = format!("two columns of {} would both be `{column}`", file.name());
            let help = "columns are named after species: give other names to those whose names are in it";
            return Err(Finding::new(key, message, help).at_key());
        }
    }
    Ok(())
}
