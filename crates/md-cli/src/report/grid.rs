//! Files of applications on grids: `thermo.csv`, `timing.csv`, `timing_ranks.csv`, `summary.json`.
//! They correspond to those of a particle run and have the columns of a grid.

use md_comm::{Backend, Choice};
use md_core::ExchangePattern;
use md_engine::{Phase, RankTiming, Timings};
use md_files::checkpoint::Resumed;
use md_files::output::tables::{rows, table};
use md_files::store::{OutputDirectory, OutputError, OutputMark, RecordFile};
use md_grid::Messages;
use md_grid::application::PHASES;
use md_lab::significant;
use md_scenario::known_file::KnownFile;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::choices::ChoiceEntry;
use super::statistics::{PhaseStatistics, phase_statistics};
use super::summary::{Phases, in_json};
use super::tables::{PHASE_COLUMNS, RANK_COLUMNS};

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

/// Returns a table with one row per rank and phase. `ranks` is in the order of the ranks.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn timing_ranks_csv(ranks: &[RankTiming], context: &GridContext) -> Result<Vec<u8>, OutputError> {
    let rows = ranks.iter().enumerate().flat_map(|(rank, timing)| {
        PHASES.map(|phase| {
            let time = timing.phases[phase as usize];
            (rank, phase.name(), time.calls, time.seconds, (timing.messages, timing.bytes), context)
        })
    });
    table(KnownFile::TIMING_RANKS, &[RANK_COLUMNS, GridContext::COLUMNS], rows)
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

/// Facts about a finished run in addition to its timings.
#[derive(Debug, Clone, PartialEq)]
pub struct GridFacts {
    /// Duration of the step loop in seconds.
    pub wall_s: f64,
    /// Number of updates of a node of a field, over all ranks and steps.
    pub updates: f64,
    /// Step of the checkpoint from which the run was resumed.
    pub resumed_from_step: Option<u64>,
    /// Reason why the run ended.
    pub ended: &'static str,
    /// Names of the values in the rows.
    pub columns: &'static [&'static str],
    /// The first and the last row.
    pub ends: [Vec<f64>; 2],
    /// Fingerprint of the bits of all values at the end.
    pub fingerprint: u64,
    /// RMA component in use, or `none`.
    pub rma_component: String,
    /// Choices of the contexts of backend `auto`.
    pub choices: Vec<Choice>,
    /// Warnings that put the results in doubt.
    pub warnings: Vec<String>,
    /// Further keys of summary.json.
    pub more: Map<String, Value>,
    /// Commit from which the program was built.
    pub git: &'static str,
}

impl GridFacts {
    /// Returns the speed in million updates per second.
    pub fn mlups(&self) -> f64 {
        if self.wall_s > 0.0 { self.updates / self.wall_s / 1e6 } else { 0.0 }
    }

    /// Returns the change of the sum over all nodes, relative to its first value, or absolute if
    /// that value is below 1.
    pub fn mass_drift(&self) -> f64 {
        let sum = |row: &Vec<f64>| row.first().copied().unwrap_or(0.0);
        let [first, last] = self.ends.each_ref().map(sum);
        (last - first) / first.abs().max(1.0)
    }
}

#[derive(Serialize)]
struct Summary<'s> {
    #[serde(flatten)]
    context: &'s GridContext,
    wall_s: f64,
    mlups: f64,
    halo_s: f64,
    mass_drift: f64,
    #[serde(flatten)]
    more: &'s Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_from_step: Option<u64>,
    ended: &'static str,
    #[serde(serialize_with = "last_row")]
    last: &'s GridFacts,
    fingerprint: String,
    messages_sent: u64,
    bytes_sent: u64,
    phases: Phases,
    mpi: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<ChoiceEntry<'s>>,
    git: &'static str,
    warnings: &'s [String],
}

fn last_row<S: Serializer>(facts: &&GridFacts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facts.columns.iter().zip(&facts.ends[1]))
}

/// Returns the summary of the run as one JSON object.
///
/// # Errors
/// [`OutputError::NotFinite`], [`OutputError::Encode`].
pub fn summary_json(
    timings: &Timings,
    context: &GridContext,
    facts: &GridFacts,
) -> Result<Vec<u8>, OutputError> {
    let summary = Summary {
        context,
        wall_s: facts.wall_s,
        mlups: facts.mlups(),
        halo_s: halo_s(timings, context.steps),
        mass_drift: facts.mass_drift(),
        more: &facts.more,
        resumed_from_step: facts.resumed_from_step,
        ended: facts.ended,
        last: facts,
        fingerprint: format!("{:016x}", facts.fingerprint),
        messages_sent: timings.messages,
        bytes_sent: timings.bytes,
        phases: Phases(phases(timings)),
        mpi: json!({ "library": context.mpi_library, "rma_component": facts.rma_component }),
        choices: facts.choices.iter().map(ChoiceEntry::from).collect(),
        git: facts.git,
        warnings: &facts.warnings,
    };
    in_json(&summary)
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
