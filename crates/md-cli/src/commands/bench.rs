//! `md-cli bench`: micro-benchmarks of the transports.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::monitor::{Heartbeat, Monitor};
use md_comm::{Backend, CommError};
use md_files::memory;
use md_files::output::{Progress, Screen, Verbosity};
use md_files::store::{OutputDirectory, OutputError, RecordFile};
use md_lab::bench::{
    self, ALL, Benchmark, Ground, Machine, Row, Settings, bench_csv, core_complexes, largest_cache, picture,
    samples_csv, table,
};
use md_lab::plot::Picture;
use md_lab::{Problem, Transports, lock};
use md_scenario::failure::{COMMUNICATION_FAILED, RunError};
use md_scenario::known_file::KnownFile;
use md_scenario::{listed, nearest};

use super::ending::{Outcome, of_outcomes};
use super::{note_lock, open_on_root, refused};
use crate::args::BenchArgs;
use crate::host_load::HostLoad;
use crate::strategies::{Selection, select};

const EVERYTHING: &str = "all";

/// Number of timeouts after which a call that has not returned counts as hung.
const TIMEOUTS_PER_STANDSTILL: u32 = 4;

/// Whether calls of MPI itself are measured, in addition to contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Measured,
    LeftOut,
}

/// Benchmarks and backends to measure.
pub struct BenchmarkSelection {
    benchmarks: Vec<&'static dyn Benchmark>,
    backends: Selection<Backend>,
    calls: Calls,
}

impl BenchmarkSelection {
    /// Selects these benchmarks of contexts over these backends.
    pub fn of_contexts(names: &[&str], backends: Vec<Backend>) -> Self {
        let is_wanted = |benchmark: &&&dyn Benchmark| names.contains(&benchmark.name());
        let benchmarks = ALL.iter().filter(is_wanted).copied().collect();
        Self { benchmarks, backends: Selection::Named(backends), calls: Calls::LeftOut }
    }

    /// Reads the names on the command line.
    ///
    /// # Errors
    /// Returns an error with the nearest valid name and all valid names if a name is unknown.
    pub fn read(args: &BenchArgs) -> Result<Self, String> {
        let backends = select("--backends", &args.backends, Backend::ALL)?;
        let names = || ALL.iter().map(|benchmark| benchmark.name()).chain([EVERYTHING]);
        if let Some(unknown) = args.names.iter().find(|name| names().all(|valid| valid != **name)) {
            let meant = nearest(unknown, names())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Err(format!("there is no benchmark `{unknown}`{meant}\nvalid: {}", listed(names())));
        }
        let is_wanted = |benchmark: &&&dyn Benchmark| {
            args.names.iter().any(|name| name == EVERYTHING || name == benchmark.name())
        };
        let benchmarks = ALL.iter().filter(is_wanted).copied().collect();
        Ok(Self { benchmarks, backends, calls: Calls::Measured })
    }
}

/// Outputs and results on rank 0.
struct Outputs {
    rows: Vec<Row>,
    /// Row of the current measurement.
    current: Option<Row>,
    directory: OutputDirectory,
    screen: Screen,
    skipped: usize,
    /// Names of the requested benchmarks.
    wanted: Vec<&'static str>,
    budget_s: f64,
    samples: Option<RecordFile>,
}

impl Outputs {
    fn publish(&mut self) -> Result<(), OutputError> {
        self.screen.print(&table(&self.rows));
        if self.skipped > 0 {
            let Self { skipped, budget_s, .. } = self;
            self.screen
                .print(&format!("{skipped} cases were skipped: the budget of {budget_s} s is used up\n"));
        }
        let is_missing = |name: &&&str| self.rows.iter().all(|row| !row.is_of(name) || row.summary.is_none());
        let missing: Vec<&str> = self.wanted.iter().filter(is_missing).copied().collect();
        if !missing.is_empty() {
            self.screen.print(&format!("without any time: {}\n", listed(missing)));
        }
        self.directory.write_encoded(KnownFile::BENCH, bench_csv(&self.rows))?;
        if let Some(mut file) = self.samples.take() {
            file.append(
                &samples_csv(&self.rows).map_err(|reason| OutputError::encode(KnownFile::BENCH, &reason))?,
                0,
            )?;
            file.finish()?;
        }
        if let Some(picture) = picture(&self.rows) {
            self.directory.write_encoded(KnownFile::BENCH_SVG, picture.svg().map(String::into_bytes))?;
        }
        self.screen.finish()
    }

    /// Publishes the results so far, before the job ends because of a problem with the current
    /// measurement.
    fn give_up(&mut self, Problem { status, note }: Problem) {
        let current = self.current.take().map(|row| Row { status, note, ..row });
        self.rows.extend(current);
        // The job ends with an error in any case. Results that cannot be written have been shown.
        let _ = self.publish();
    }
}

/// Runs benchmarks on this rank. `end_job` ends all ranks with an exit code, from any thread.
/// *Collective.*
///
/// # Errors
/// Returns [`Summarised`](super::ending::Summarised) if contents were wrong or a transport failed.
/// See [`RunError`] for other errors.
pub fn bench(
    transports: &dyn Transports,
    args: &BenchArgs,
    wanted: &BenchmarkSelection,
    end_job: fn(u8),
) -> Result<(), RunError> {
    let agreement = transports.agreement();
    let limit = TIMEOUTS_PER_STANDSTILL * Duration::from_secs_f64(args.timeout);
    // A standstill must be reported by the monitor on rank 0, which writes the results so far, and
    // not by the watchdog of another rank.
    agreement.set_watchdog(2 * limit);
    let outputs =
        open_on_root(agreement, || open(args, wanted))?.map(|outputs| Arc::new(Mutex::new(outputs)));
    let settings = settings(transports, args, wanted)?;
    let heartbeat = Heartbeat::default();
    let monitor = outputs.as_ref().map(|outputs| watch(outputs, heartbeat.clone(), limit, end_job));
    let mut progress = None;
    let load = HostLoad::begin();
    let done = bench::run(transports, &wanted.benchmarks, &settings, &heartbeat, |step, rows| {
        if let Some(outputs) = &outputs {
            let mut outputs = lock(outputs);
            let known = outputs.rows.len();
            outputs.rows.extend_from_slice(&rows[known..]);
            (outputs.current, outputs.skipped) = (step.next, step.skipped);
            let shown = progress.get_or_insert_with(|| Progress::over_cases(args.progress, step.of as u64));
            shown.tick(step.done as u64);
        }
    });
    drop(monitor);
    progress.iter().for_each(Progress::finish);
    let give_up =
        |error: &CommError| outputs.iter().for_each(|outputs| lock(outputs).give_up(Problem::from(error)));
    let rows = done.inspect_err(give_up)?;
    if let Some(outputs) = &outputs {
        lock(outputs).publish()?;
    }
    load.warn_of_others(agreement)?;
    exit_status(&rows, args.budget)
}

/// Returns the settings of the benchmarks. *Collective.*
fn settings(
    transports: &dyn Transports,
    args: &BenchArgs,
    wanted: &BenchmarkSelection,
) -> Result<Settings, RunError> {
    let (agreement, here) = (transports.agreement(), transports.backends());
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let sizes: Vec<usize> = args.sizes.iter().map(|&bytes| bytes as usize).collect();
    Ok(Settings {
        last_cache_bytes: largest_cache(agreement)?,
        walk_bytes: args.walk.map(|bytes| bytes as usize),
        memory: memory::available_to_all(agreement)?,
        budget: Duration::from_secs_f64(args.budget),
        samples: args.runs.map(|runs| runs as usize),
        timeout: Duration::from_secs_f64(args.timeout),
        ground: Ground {
            backends: wanted.backends.resolve(here[0], &here),
            sizes: Some(sizes).filter(|sizes| !sizes.is_empty()),
            has_calls: wanted.calls == Calls::Measured && transports.has_calls(),
            nodes: transports.nodes()?,
            complexes: core_complexes(agreement)?,
        },
        machine: Machine::of(agreement, host, env!("CARGO_PKG_VERSION"))?,
    })
}

fn open(args: &BenchArgs, wanted: &BenchmarkSelection) -> Result<Outputs, OutputError> {
    let results = &KnownFile::RESULTS_OF_A_BENCHMARK;
    let elsewhere: Vec<PathBuf> = args.samples.iter().cloned().collect();
    let directory = OutputDirectory::without_scenario(args.output.clone(), results, &[], &elsewhere)?;
    note_lock(&directory);
    let screen = Screen::stdout(Verbosity::unless(args.quiet));
    let samples = args.samples.as_ref().map(|path| directory.create_elsewhere(path));
    let (samples, budget_s) = (samples.transpose()?, args.budget);
    let wanted = wanted.benchmarks.iter().map(|benchmark| benchmark.name()).collect();
    Ok(Outputs { rows: Vec::new(), current: None, directory, screen, skipped: 0, wanted, budget_s, samples })
}

/// Starts the monitor on rank 0. If the measuring thread stands still, it publishes the results so
/// far and ends the job.
fn watch(outputs: &Arc<Mutex<Outputs>>, heartbeat: Heartbeat, limit: Duration, end_job: fn(u8)) -> Monitor {
    let outputs = Arc::clone(outputs);
    Monitor::start(
        move || limit,
        move || Some(heartbeat.count()),
        move |_| {
            let mut outputs = lock(&outputs);
            outputs.give_up(Problem::stood_still(limit));
            outputs.directory.unlock();
            end_job(COMMUNICATION_FAILED);
        },
    )
}

fn exit_status(rows: &[Row], budget_s: f64) -> Result<(), RunError> {
    if rows.is_empty() {
        return Err(refused(format!("nothing was measured: a budget of {budget_s} s is enough for no case")));
    }
    let outcomes = rows.iter().map(|Row { benchmark, mechanism, status, note, .. }| {
        let name = format!("{benchmark} over {mechanism}");
        Outcome { name, by: mechanism, status: *status, note }
    });
    of_outcomes(&outcomes.collect::<Vec<_>>(), "wrong contents", KnownFile::BENCH.name())
}

#[cfg(feature = "mpi")]
#[cfg(test)]
mod tests {
    use clap::Parser;
    use md_comm::local;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::commands::faulty::{self, FaultyTransports};

    /// Runs a benchmark with broken transports. Returns the error, the exit code, and
    /// `mechanism bytes status note` of each row.
    fn bench_broken(call: &str) -> (String, u8, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().display().to_string();
        let words = [
            "md-cli", "bench", "--quiet", "--budget", "3600", "--runs", "6", "--walk", "128", "--output",
            &out,
        ];
        let Command::Bench(args) = Cli::parse_from(words.into_iter().chain(call.split(' '))).command else {
            panic!("another command")
        };
        let wanted = BenchmarkSelection::read(&args).unwrap();
        let ended = local::run(2, Duration::from_secs(60), |world| {
            bench(&FaultyTransports(world), &args, &wanted, faulty::end).unwrap_err()
        });
        let error = ended.into_iter().next().unwrap().unwrap();
        let text = std::fs::read(folder.path().join("bench.csv")).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let row = |row: csv::StringRecord| [1, 3, 11, 12].map(|column| row[column].to_owned()).join(" ");
        let rows = reader.records().map(|record| row(record.unwrap())).collect();
        (error.to_string(), error.exit_code(), rows)
    }

    #[test]
    fn a_transport_that_corrupts_is_found_and_left_out() {
        let (error, code, rows) = bench_broken("roundtrip --backends rma-lock,p2p --sizes 64,128");
        assert_eq!((error.as_str(), code), ("wrong contents: roundtrip over rma-lock; see bench.csv", 1));
        let wrong = "rma-lock 64 wrong byte 37 of 64 from rank 0, channel 0, is wrong";
        let p2p = |bytes| ["", "", "through 0.1 kB"].map(|note| format!("p2p {bytes} ok {note}"));
        assert_eq!(rows, [p2p(64).as_slice(), &[wrong.to_owned()], &p2p(128)].concat());
    }

    #[test]
    fn a_transport_that_cannot_be_opened_or_is_silent_is_left_out() {
        let (error, code, rows) = bench_broken("sync26 --backends shm,rma-fence,p2p --sizes 64 --timeout 1");
        assert_eq!((error.as_str(), code), ("timed out: sync26 over rma-fence; see bench.csv", 3));
        assert_eq!(rows[..2], ["p2p 64 ok ", "shm 64 unavailable these ranks share nothing"]);
        assert!(rows[2].starts_with("rma-fence 64 timeout bench: rank 0 waited 1 s for "), "{rows:?}");
    }
}
