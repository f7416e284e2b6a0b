//! `[output]`: files and their intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, at_least_one};
use super::trajectory::{self, Trajectory};

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
    /// Files from which a run can go on (`--resume`). One is also written after the last step; and without this table, where a signal or
    /// `--wall-time` ends the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
}

impl Default for Output {
    fn default() -> Self {
        Self { directory: "out".to_owned(), thermo: Every { every: 100 }, trajectory: None, checkpoint: None }
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
    /// How many are kept: the newest ones.
    #[serde(default = "default_keep")]
    #[schemars(range(min = 1))]
    pub keep: u64,
}

fn default_keep() -> u64 {
    2
}

pub(super) fn check(output: &Output) -> Checked {
    if output.directory.trim().is_empty() {
        let help = "give the folder of all files, for example \"out\"";
        return Err(Finding::new("output.directory", "`output.directory` is empty", help));
    }
    at_least_one("output.thermo.every", output.thermo.every, "steps between two rows of thermo.csv")?;
    if let Some(trajectory) = &output.trajectory {
        trajectory::check(trajectory)?;
    }
    check_checkpoint(output.checkpoint)
}

pub(super) fn check_checkpoint(checkpoint: Option<Checkpoint>) -> Checked {
    let Some(Checkpoint { every, keep }) = checkpoint else { return Ok(()) };
    at_least_one("output.checkpoint.every", every, "steps between two checkpoints")?;
    at_least_one("output.checkpoint.keep", keep, "number of checkpoints that stay")
}
