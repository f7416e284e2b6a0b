//! Arguments of the applications on grids.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use md_files::output::ProgressMode;

use super::{ScenarioArgs, TraceArgs, wall_time};

/// Arguments of `stencil` and `lbm`.
#[derive(Debug, Clone, Args)]
pub struct GridArgs {
    /// The scenario.
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Number of steps, instead of the scenario's
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// End the run in order after this time: D-HH:MM:SS, HH:MM:SS, MM:SS, D-HH, D-HH:MM or seconds
    #[arg(long, value_name = "TIME", value_parser = wall_time)]
    pub wall_time: Option<Duration>,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
    /// The timeline.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Resume from a checkpoint, or from the newest in a folder
    #[arg(long, value_name = "FILE|DIR")]
    pub resume: Option<PathBuf>,
}

impl GridArgs {
    /// Returns the scenario and its overrides, with the number of steps.
    pub fn scenario(&self) -> ScenarioArgs {
        ScenarioArgs { steps: self.steps, ..self.scenario.clone() }
    }
}
