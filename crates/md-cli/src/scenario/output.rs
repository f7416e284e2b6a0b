//! `[output]`: files and their intervals.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, at_least_one, not_yet};

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
        check_path(&trajectory.path)?;
        at_least_one("output.trajectory.every", trajectory.every, "steps between two frames")?;
    }
    check_checkpoint(output.checkpoint)
}

pub(super) fn check_checkpoint(checkpoint: Option<Checkpoint>) -> Checked {
    let Some(Checkpoint { every, keep }) = checkpoint else { return Ok(()) };
    at_least_one("output.checkpoint.every", every, "steps between two checkpoints")?;
    at_least_one("output.checkpoint.keep", keep, "number of checkpoints that stay")
}

fn check_path(path: &str) -> Checked {
    const KEY: &str = "output.trajectory.path";
    let plain = Path::new(path).file_name().is_some_and(|name| name == path);
    if !plain || path.contains('\\') {
        let message = format!("`{KEY}` must be a plain file name, found {path:?}");
        return Err(Finding::new(KEY, message, "it is put into `output.directory`, e.g. \"traj.extxyz\""));
    }
    match Path::new(path).extension() {
        Some(extension) if extension == "extxyz" => Ok(()),
        Some(_) => {
            Err(not_yet(KEY, &format!("{path:?}"), "the extension gives the format; available: `.extxyz`"))
        }
        None => {
            let message = format!("`{KEY} = {path:?}` has no extension, which gives the format");
            Err(Finding::new(KEY, message, "available: `.extxyz`"))
        }
    }
}
