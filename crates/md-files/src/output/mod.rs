//! Outputs of a run: files in the output directory, text on the screen, a progress bar.
//!
//! Formatting is kept apart from writing. Functions such as [`tables::table`] convert data to bytes
//! and do no I/O; [`OutputDirectory`] and [`RecordFile`] write bytes to disk. The directory and the
//! files that grow during a run are opened before it starts, so that a wrong path fails at once and
//! not after an hour.
//!
//! | file | written | by |
//! | --- | --- | --- |
//! | `scenario.toml` | at the start | [`OutputDirectory::for_scenario`] |
//! | `thermo.csv` | row by row | `thermo` |
//! | trajectory | frame by frame | `trajectory` |
//! | tables of analyses, such as `rdf.csv` | whole, at the end | [`analyses`] |
//! | all outputs that a run writes as it proceeds | | [`outputs::all_outputs`] |
//! | `compare.csv`, `compare.svg`, `compare.png`, `recommendation.txt` | whole, at the end | `compare` |
//! | `timing.csv`, `timing_ranks.csv`, `summary.json`, `forces.csv` | whole, at the end | [`OutputDirectory::write_whole`] |
//!
//! [`OutputDirectory`]: crate::store::OutputDirectory
//! [`OutputDirectory::for_scenario`]: crate::store::OutputDirectory::for_scenario
//! [`OutputDirectory::write_whole`]: crate::store::OutputDirectory::write_whole
//! [`RecordFile`]: crate::store::RecordFile

mod averages;
mod gathers;
mod results;
mod schedule;

pub mod analyses;
pub mod flow;
pub mod minimisations;
pub mod outputs;
pub mod progress;
pub mod run_output;
pub mod screen;
pub mod tables;
pub mod thermo;
pub mod trajectory;

#[cfg(test)]
mod fixtures;

pub use gathers::Gathers;
pub use progress::{Progress, ProgressMode};
pub use results::{GoingOn, ResultFiles, holds_results_but};
pub use screen::{Screen, Verbosity, within_columns};
pub use thermo::ThermoWriter;
