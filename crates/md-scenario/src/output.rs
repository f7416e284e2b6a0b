//! `[output]`: files and their intervals.

pub(crate) mod analysis;
pub(crate) mod trajectory;
pub(crate) mod trajectory_format;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::number;
use super::finding::{Checked, Finding, check_directory};
use super::simulation::Simulation;
use super::species::Species;
use analysis::{Analyses, AnalysisKeys, Particles};
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
    check_directory(&output.directory)?;
    if let Some(trajectory) = &output.trajectory {
        trajectory::check(trajectory)?;
    }
    let &Simulation { timestep, dimension, .. } = simulation;
    output.analyses.check(&Particles { species: named.len(), dimension, timestep })?;
    check_columns(output, named)
}

/// Checks that the columns of every table have distinct names.
fn check_columns(output: &Output, species: &[Species]) -> Checked {
    let names: Vec<String> = species.iter().map(|species| species.name.clone()).collect();
    for AnalysisKeys { kind, file, .. } in output.analyses.keys() {
        let entry = output.analyses.profile.iter().position(|it| it.file() == file);
        let entry = entry.map_or(String::new(), |at| format!("[{at}]"));
        if let Some(column) = twice(&(kind.columns)(&names)) {
            let message = format!("two columns of {} would both be `{column}`", file.name());
            let help = "columns are named after species: give other names to those whose names are in it";
            return Err(Finding::new(format!("output.{}{entry}", kind.key), message, help).at_key());
        }
    }
    Ok(())
}

/// Returns the first name that occurs twice, or `None`.
fn twice(names: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

#[cfg(test)]
mod tests {
    use super::analysis::{Msd, Profile, Rdf, Vacf, Viscosity};
    use super::*;
    use crate::{Axis, CentreOfMass};

    #[test]
    fn names_that_make_two_columns_equal_are_found() {
        let centre_of_mass = CentreOfMass::Kept;
        let analyses = Analyses {
            rdf: Some(Rdf { every: 1, bins: 1, max: None, start: None }),
            msd: Some(Msd { every: 1, origins: 1, centre_of_mass, start: None }),
            vacf: Some(Vacf { every: 1, length: 1.0, origins: 1, centre_of_mass, start: None }),
            viscosity: Some(Viscosity { every: 1, length: 1.0, start: None }),
            profile: vec![Profile { axis: Axis::Z, bins: 1, every: 1, start: None }],
            ..Analyses::default()
        };
        let found = |key: &str, species: &[&str]| {
            let names: Vec<String> = species.iter().map(|name| (*name).to_owned()).collect();
            let kind = analyses.keys().into_iter().map(|it| it.kind).find(|kind| kind.key == key);
            let columns = kind.map(|kind| (kind.columns)(&names));
            columns.and_then(|columns| twice(&columns).cloned())
        };
        for analysis in analyses.keys() {
            assert_eq!(found(analysis.kind.key, &["A", "B_1", "A,B", "\"", "msd", "x"]), None);
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
