//! Files of applications on grids: `thermo.csv`, `timing.csv`, `timing_ranks.csv`, `summary.json`.
//! They correspond to those of a particle run and have the columns of a grid.

use md_comm::Backend;
use md_core::ExchangePattern;
use md_engine::{Phase, Timings};
use md_files::checkpoint::Resumed;
use md_files::output::tables::{rows, table};
use md_files::store::{OutputDirectory, OutputError, OutputMark, RecordFile};
use md_grid::Messages;
use md_grid::application::PHASES;
use md_lab::significant;
use md_scenario::known_file::KnownFile;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::choices::ChoiceEntry;
use super::statistics::{PhaseStatistics, phase_statistics};
use super::summary::Phases;
use super::tables::PHASE_COLUMNS;

/// Description of the run that is repeated in every row of a table, so that each row stands alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridContext {
    /// Backend that moves the halo.
    pub backend: Backend,
    /// Pattern of the exchange.
    pub exchange: ExchangePattern,
    /// Whether the fields share messages.
    pub messages: Messages,
    /// Application that is computed.
    pub kind: String,
    /// Size of the whole grid, such as `64x64x64`.
    pub nodes: String,
    /// Number of fields.
    pub fields: usize,
    /// Number of ghost layers.
    pub depth: usize,
    /// Ranks along each axis, such as `2x1x1`.
    pub grid: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Threads per rank.
    pub threads: usize,
    /// `double` or `single`.
    pub precision: String,
    /// Number of completed steps.
    pub steps: u64,
    /// First line of the MPI library's version, or `none`.
    pub mpi_library: String,
    /// Host name of rank 0.
    pub host: String,
    /// Version of md.
    pub version: String,
}

impl GridContext {
    /// Names of the fields, in their order.
    pub const COLUMNS: &'static str = "backend,exchange,field_messages,kind,nodes,fields,depth,grid,ranks,threads,precision,steps,\
                                       mpi_library,host,version";
}

/// Returns a table with one row per phase of a grid, reduced over ranks.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn timing_csv(timings: &Timings, context: &GridContext) -> Result<Vec<u8>, OutputError> {
    let rows = phases(timings).into_iter().map(|row| {
        let times = (row.min_s, row.avg_s, row.max_s, row.varavg_percent, row.share_percent);
        (row.phase.name(), row.calls, times, context)
    });
    table(KnownFile::TIMING, &[PHASE_COLUMNS, GridContext::COLUMNS], rows)
}

/// Returns the statistics of the phases in [`PHASES`].
pub fn phases(timings: &Timings) -> Vec<PhaseStatistics> {
    phase_statistics(timings).into_iter().filter(|row| PHASES.contains(&row.phase)).collect()
}

/// Returns the time per step that the halo takes, in seconds, as the mean over ranks: packing,
/// sending, waiting, unpacking.
pub fn halo_s(timings: &Timings, steps: u64) -> f64 {
    let phases = [Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack];
    let all: f64 = phases.iter().map(|&phase| timings.phase(phase).seconds.avg).sum();
    all / steps.max(1) as f64
}

/// Writer of `thermo.csv`, with one row per sampled step.
#[derive(Debug)]
pub struct GridThermoWriter {
    file: RecordFile,
}

impl GridThermoWriter {
    /// Creates the file and writes the column names, which are the step and those of the
    /// application; or continues the file.
    ///
    /// # Errors
    /// Returns the errors of [`OutputDirectory::open_records`].
    pub fn open(
        directory: &OutputDirectory,
        columns: &[&str],
        resumed: Option<&Resumed>,
    ) -> Result<Self, OutputError> {
        let header = Self::first_line(columns);
        Ok(Self { file: directory.open_records(KnownFile::THERMO, header.as_bytes(), resumed)? })
    }

    /// Returns the line of column names.
    pub fn first_line(columns: &[&str]) -> String {
        format!("step,{}\n", columns.join(","))
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`OutputError::Encode`], [`OutputError::Write`].
    pub fn write(&mut self, step: u64, values: &[f64]) -> Result<(), OutputError> {
        self.file.append(&rows(KnownFile::THERMO, [(step, values)])?, step)
    }

    /// Appends a row that is only written because the run ends. A resumed run drops it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::write`].
    pub fn write_last(&mut self, step: u64, values: &[f64]) -> Result<(), OutputError> {
        self.file.append_last(&rows(KnownFile::THERMO, [(step, values)])?, step)
    }

    /// Returns the current length of the file as a mark for a checkpoint.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.mark()
    }

    /// Checks that all rows have reached the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

/// The keys of summary.json, in their order.
#[derive(Serialize)]
pub struct GridSummary<'s> {
    /// Description of the run.
    #[serde(flatten)]
    pub context: &'s GridContext,
    /// Duration of the step loop in seconds.
    pub wall_s: f64,
    /// Million updates of a node of a field per second, over all ranks.
    pub mlups: f64,
    /// See [`halo_s`].
    pub halo_s: f64,
    /// See [`mass_drift`].
    pub mass_drift: f64,
    /// Keys of the application.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// Step of the checkpoint from which the run was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_from_step: Option<u64>,
    /// Reason why the run ended.
    pub ended: &'static str,
    /// Names of the values in the rows, and the last row.
    #[serde(serialize_with = "by_name")]
    pub last: (&'static [&'static str], &'s [f64]),
    /// Fingerprint of the bits of all values at the end.
    pub fingerprint: String,
    /// Messages of all ranks.
    pub messages_sent: u64,
    /// Bytes of all ranks.
    pub bytes_sent: u64,
    /// Times of the phases.
    pub phases: Phases,
    /// MPI library, and RMA component in use.
    pub mpi: Value,
    /// Choices of the contexts of backend `auto`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ChoiceEntry<'s>>,
    /// Commit from which the program was built.
    pub git: &'static str,
    /// Warnings that put the results in doubt.
    pub warnings: Vec<String>,
}

fn by_name<S: Serializer>((names, values): &(&[&str], &[f64]), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(names.iter().zip(*values))
}

/// Returns the change of the sum over all nodes, the first value of the first and the last row,
/// relative to its first value, or absolute if that value is below 1.
pub fn mass_drift(ends: &[Vec<f64>; 2]) -> f64 {
    let [first, last] = ends.each_ref().map(|row| row.first().copied().unwrap_or(0.0));
    (last - first) / first.abs().max(1.0)
}

/// Returns the line of column names for the screen.
pub fn header_line(columns: &[&str]) -> String {
    let names: String = columns.iter().map(|name| format!(" {name:>14}")).collect();
    format!("{:>10}{names}\n", "step")
}

/// Returns a row for the screen.
pub fn row_line(step: u64, values: &[f64]) -> String {
    let numbers: String = values.iter().map(|&value| format!(" {:>14}", significant(value, 8))).collect();
    format!("{step:>10}{numbers}\n")
}
