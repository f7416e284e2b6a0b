//! Files of applications on grids: `thermo.csv`, `timing.csv`, `timing_ranks.csv`, `summary.json`; as those of a run of particles, with
//! the columns that a grid has.

use md_comm::{Backend, Choice};
use md_core::ExchangePattern;
use md_engine::{Phase, RankTiming, Timings};
use md_grid::Messages;
use md_grid::application::PHASES;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::choices::ChoiceEntry;
use super::directory::OutputDirectory;
use super::error::OutputError;
use super::known_file::KnownFile;
use super::record_file::RecordFile;
use super::statistics::{PhaseStatistics, phase_statistics};
use super::summary::{Phases, key_of_null};
use super::tables::{PHASE_COLUMNS, RANK_COLUMNS, rows, table};
use crate::checkpoint::{OutputMark, Resumed};
use md_lab::significant;

/// What makes a row of a grid's table stand alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridContext {
    /// What moves the halo.
    pub backend: Backend,
    /// In which rounds.
    pub exchange: ExchangePattern,
    /// How fields share messages.
    pub messages: Messages,
    /// What is computed.
    pub kind: String,
    /// Of the whole grid, as `64x64x64`.
    pub nodes: String,
    /// Number of fields.
    pub fields: usize,
    /// Layers of ghosts.
    pub depth: usize,
    /// Ranks along each axis, as `2x1x1`.
    pub grid: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Threads per rank.
    pub threads: usize,
    /// `double` or `single`.
    pub precision: String,
    /// Steps done.
    pub steps: u64,
    /// First line of the MPI library's version, or `none`.
    pub mpi_library: String,
    /// Host name of rank 0.
    pub host: String,
    /// Version of md.
    pub version: String,
}

impl GridContext {
    /// The names of its fields, in their order.
    pub const COLUMNS: &'static str = "backend,exchange,field_messages,kind,nodes,fields,depth,grid,ranks,threads,precision,steps,\
                                       mpi_library,host,version";
}

/// A row per phase that a grid has, reduced over ranks.
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

/// A row per rank and phase. `ranks` is in the order of the ranks.
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

/// Those of [`PHASES`].
pub fn phases(timings: &Timings) -> Vec<PhaseStatistics> {
    phase_statistics(timings).into_iter().filter(|row| PHASES.contains(&row.phase)).collect()
}

/// Seconds per step that the halo takes, mean over ranks: packing, sending, waiting, unpacking.
pub fn halo_s(timings: &Timings, steps: u64) -> f64 {
    let phases = [Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack];
    let all: f64 = phases.iter().map(|&phase| timings.phase(phase).seconds.avg).sum();
    all / steps.max(1) as f64
}

/// Writes `thermo.csv`: one row per step that is looked at.
#[derive(Debug)]
pub struct GridThermoWriter {
    file: RecordFile,
}

impl GridThermoWriter {
    /// Creates the file and writes the column names: the step, and those of the application; or goes on with it.
    ///
    /// # Errors
    /// As [`OutputDirectory::open_records`].
    pub fn open(
        directory: &OutputDirectory,
        columns: &[&str],
        resumed: Option<&Resumed>,
    ) -> Result<Self, OutputError> {
        let header = Self::first_line(columns);
        Ok(Self { file: directory.open_records(KnownFile::THERMO, header.as_bytes(), resumed)? })
    }

    /// Names of the columns.
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

    /// Appends a row that is there because the run ends: a run that goes on drops it.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_last(&mut self, step: u64, values: &[f64]) -> Result<(), OutputError> {
        self.file.append_last(&rows(KnownFile::THERMO, [(step, values)])?, step)
    }

    /// How far it has come.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.mark()
    }

    /// Makes sure that all rows have reached the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

/// What a finished run knows beside its timings.
#[derive(Debug, Clone, PartialEq)]
pub struct GridFacts {
    /// Seconds of the step loop.
    pub wall_s: f64,
    /// Updates of a node of a field, over all ranks and steps.
    pub updates: f64,
    /// The step of the checkpoint that the run went on from.
    pub resumed_from_step: Option<u64>,
    /// Why the run has ended.
    pub ended: &'static str,
    /// Names of the numbers in the rows.
    pub columns: &'static [&'static str],
    /// The first row and the last one.
    pub ends: [Vec<f64>; 2],
    /// Of the bits of all values at the end.
    pub fingerprint: u64,
    /// RMA component in use, or `none`.
    pub rma_component: String,
    /// What the contexts of backend `auto` have chosen.
    pub choices: Vec<Choice>,
    /// What puts the results in doubt, in words.
    pub warnings: Vec<String>,
    /// Further keys of summary.json.
    pub more: Map<String, Value>,
    /// Commit the program was built from.
    pub git: &'static str,
}

impl GridFacts {
    /// Million updates per second.
    pub fn mlups(&self) -> f64 {
        if self.wall_s > 0.0 { self.updates / self.wall_s / 1e6 } else { 0.0 }
    }

    /// What the sum over all nodes has changed by, over its first value or, if that is below 1, in all.
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

/// The run in one object.
///
/// # Errors
/// [`OutputError::NotFinite`], [`OutputError::Encode`].
pub fn summary_json(
    timings: &Timings,
    context: &GridContext,
    facts: &GridFacts,
) -> Result<Vec<u8>, OutputError> {
    let failed = |reason: serde_json::Error| OutputError::encode(KnownFile::SUMMARY, &reason);
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
    let value = serde_json::to_value(&summary).map_err(failed)?;
    if let Some(key) = key_of_null(&value) {
        return Err(OutputError::NotFinite { file: KnownFile::SUMMARY.name(), key });
    }
    let mut bytes = serde_json::to_vec_pretty(&summary).map_err(failed)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The line of column names on the screen.
pub fn header_line(columns: &[&str]) -> String {
    let names: String = columns.iter().map(|name| format!(" {name:>14}")).collect();
    format!("{:>10}{names}\n", "step")
}

/// A row on the screen.
pub fn row_line(step: u64, values: &[f64]) -> String {
    let numbers: String = values.iter().map(|&value| format!(" {:>14}", significant(value, 8))).collect();
    format!("{step:>10}{numbers}\n")
}
