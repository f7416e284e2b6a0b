//! `[output]`: files and their intervals.

pub(crate) mod analysis;
pub(crate) mod trajectory;
pub(crate) mod trajectory_format;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, at_least_one};
use super::simulation::Simulation;
use super::species::Species;
use crate::known_file::KnownFile;
use analysis::{
    AnalysisKeys, Averages, Msd, Profile, Rdf, SurfaceTension, Vacf, Viscosity, check_msd, check_profiles,
    check_rdf, check_surface_tension, check_vacf, check_viscosity,
};
use trajectory::Trajectory;

/// `[output]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Directory of all files.
    pub directory: String,
    /// Interval of thermo.csv and the table on screen.
    pub thermo: Every,
    /// Positions and velocities over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    /// Files from which a run can be continued (`--resume`). One is also written after the last
    /// step. Without this table one is written when a signal or `--wall-time` ends the run, and at
    /// the end of a run that began with `--resume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// Means of the columns of thermo.csv, in summary.json. By default they cover the last of
    /// several stages; a run of one stage has none, because it begins out of equilibrium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averages: Option<Averages>,
    /// Radial distribution functions g(r) of all pairs of species: rdf.csv.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdf: Option<Rdf>,
    /// Mean squared displacements by species, with diffusion coefficients: msd.csv.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msd: Option<Msd>,
    /// Velocity autocorrelation functions by species: vacf.csv.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacf: Option<Vacf>,
    /// Shear viscosity by the Green-Kubo relation: viscosity.csv.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viscosity: Option<Viscosity>,
    /// Density, temperature, pressure and velocity along an axis, in slabs that fill the box:
    /// `profile_x.csv`, `profile_y.csv`, `profile_z.csv`. A list with an entry per axis, such as
    /// `[{ axis = "z", every = 10 }]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<Profile>,
    /// Surface tension from the pressure tensor, over the rows of thermo.csv that `averages` uses:
    /// in summary.json.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface_tension: Option<SurfaceTension>,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            directory: "out".to_owned(),
            thermo: Every { every: 100 },
            trajectory: None,
            checkpoint: None,
            averages: None,
            rdf: None,
            msd: None,
            vacf: None,
            viscosity: None,
            profile: Vec::new(),
            surface_tension: None,
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
    #[schemars(range(min = 1))]
    pub every: u64,
    /// Number of checkpoints that are kept: the newest ones.
    #[serde(default = "default_keep")]
    #[schemars(range(min = 1))]
    pub keep: u64,
}

fn default_keep() -> u64 {
    2
}

pub(super) fn check(output: &Output, named: &[Species], simulation: &Simulation) -> Checked {
    let species = named.len();
    if output.directory.trim().is_empty() {
        let help = "give the folder of all files, for example \"out\"";
        return Err(Finding::new("output.directory", "`output.directory` is empty", help));
    }
    at_least_one("output.thermo.every", output.thermo.every, "steps between two rows of thermo.csv")?;
    if let Some(trajectory) = &output.trajectory {
        trajectory::check(trajectory)?;
    }
    check_checkpoint(output.checkpoint)?;
    output.rdf.as_ref().map_or(Ok(()), |rdf| check_rdf(rdf, species))?;
    output.msd.as_ref().map_or(Ok(()), check_msd)?;
    let Simulation { timestep, dimension, .. } = simulation;
    output.vacf.as_ref().map_or(Ok(()), |vacf| check_vacf(vacf, species, *timestep))?;
    output.viscosity.as_ref().map_or(Ok(()), |viscosity| check_viscosity(viscosity, *timestep))?;
    check_profiles(&output.profile, species, *dimension)?;
    output.surface_tension.as_ref().map_or(Ok(()), |tension| check_surface_tension(tension, *dimension))?;
    check_columns(output, named)
}

/// Checks that the columns of every table have distinct names.
fn check_columns(output: &Output, species: &[Species]) -> Checked {
    let names: Vec<String> = species.iter().map(|species| species.name.clone()).collect();
    for AnalysisKeys { key, file, columns, .. } in output.analyses() {
        let entry = output.profile.iter().position(|it| KnownFile::PROFILES[it.axis as usize] == file);
        let entry = entry.map_or(String::new(), |at| format!("[{at}]"));
        if let Some(column) = twice(&columns(&names)) {
            let message = format!("two columns of {} would both be `{column}`", file.name());
            let help = "columns are named after species: give other names to those whose names are in it";
            return Err(Finding::new(format!("output.{key}{entry}"), message, help).at_key());
        }
    }
    Ok(())
}

/// Returns the first name that occurs twice, or `None`.
fn twice(names: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

pub(super) fn check_checkpoint(checkpoint: Option<Checkpoint>) -> Checked {
    let Some(Checkpoint { every, keep }) = checkpoint else { return Ok(()) };
    at_least_one("output.checkpoint.every", every, "steps between two checkpoints")?;
    at_least_one("output.checkpoint.keep", keep, "number of checkpoints that stay")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, CentreOfMass};

    #[test]
    fn names_that_make_two_columns_equal_are_found() {
        let centre_of_mass = CentreOfMass::Kept;
        let output = Output {
            rdf: Some(Rdf { every: 1, bins: 1, max: None, start: None }),
            msd: Some(Msd { every: 1, origins: 1, centre_of_mass, start: None }),
            vacf: Some(Vacf { every: 1, length: 1.0, origins: 1, centre_of_mass, start: None }),
            viscosity: Some(Viscosity { every: 1, length: 1.0, start: None }),
            profile: vec![Profile { axis: Axis::Z, bins: 1, every: 1, start: None }],
            ..Output::default()
        };
        let found = |key: &str, species: &[&str]| {
            let names: Vec<String> = species.iter().map(|name| (*name).to_owned()).collect();
            let columns =
                output.analyses().into_iter().find(|it| it.key == key).map(|it| (it.columns)(&names));
            columns.and_then(|columns| twice(&columns).cloned())
        };
        for analysis in output.analyses() {
            assert_eq!(found(analysis.key, &["A", "B_1", "A,B", "\"", "msd", "x"]), None);
        }
        // This is n of `A_A` around `A`, and n of `A` around `A_A`.
        assert_eq!(found("rdf", &["A", "A_A"]).as_deref(), Some("n_A_A_A"));
        assert_eq!(found("rdf", &["A", "A_A", "A_A_A"]).as_deref(), Some("g_A_A_A_A"));
        assert_eq!(found("vacf", &["X", "error_X"]).as_deref(), Some("diffusion_error_X"));
        assert_eq!(found("profile", &["X", "X_error"]).as_deref(), Some("density_X_error"));
        assert_eq!(found("profile", &["A", "error"]).as_deref(), Some("density_error"));
        assert_eq!(found("msd", &["X", "error_X", "X_error"]), None);
    }
}
