//! `[output]`: files and their intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// How many are kept.
    #[serde(default)]
    pub keep: Option<u32>,
}
