//! `md-cli fit`: costs of messages and computation on this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use md_files::output::{Progress, Screen, Verbosity};
use md_files::store::OutputDirectory;
use md_files::text_file::read_text;
use md_lab::Transports;
use md_lab::bench::Machine;
use md_lab::fit::{self, BENCHMARKS, Fitted, Measurement, movers, picture, table};
use md_lab::machine::Provenance;
use md_lab::plot::Picture;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::warn;

use super::bench::{BenchmarkSelection, bench};
use super::ending::Summarised;
use super::open_on_root;
use crate::args::{BenchArgs, FitArgs};
use crate::host_load::HostLoad;

/// Share of the budget that goes to messages, if both are measured.
const SHARE_OF_MESSAGES: f64 = 2.0 / 3.0;

/// Fits a machine on this rank. `end_job` ends all ranks with an exit code, from any thread.
/// *Collective.*
///
/// # Errors
/// Returns the errors of `bench` if benchmarks are run. If some of them have failed, the machine is
/// fitted from the others. See [`RunError`] for other errors.
pub fn fit(transports: &dyn Transports, args: &FitArgs, end_job: fn(u8)) -> Result<(), RunError> {
    let agreement = transports.agreement();
    let given = open_on_root(agreement, || args.bench.as_deref().map_or_else(|| Ok(Vec::new()), read))?;
    let (mut rows, mut benchmarked, mut budget_s) = (given, Ok(()), args.budget);
    if args.bench.is_none() && agreement.ranks() > 1 {
        benchmarked = benchmark(transports, args, end_job);
        if benchmarked.as_ref().is_err_and(|error| error.find::<Summarised>().is_none()) {
            return benchmarked;
        }
        rows = open_on_root(agreement, || read(&args.output.join(KnownFile::BENCH.name())))?;
        budget_s *= 1.0 - SHARE_OF_MESSAGES;
    }
    agreement.set_watchdog(Duration::from_secs_f64(args.timeout));
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let Machine { mpi_library, host, cpu, date, version, .. } =
        Machine::of(agreement, host, env!("CARGO_PKG_VERSION"))?;
    let directory = open_on_root(agreement, || {
        let inputs: Vec<&Path> = args.bench.iter().map(PathBuf::as_path).collect();
        let results = [KnownFile::MACHINE, KnownFile::FIT_SVG];
        OutputDirectory::without_scenario(args.output.clone(), &results, &inputs, &[])
    })?;
    let mut progress = None;
    let load = HostLoad::begin();
    let computes = fit::measure_compute(transports, budget_s, |done, of| {
        if directory.is_some() {
            progress.get_or_insert_with(|| Progress::over_cases(args.progress, of as u64)).tick(done as u64);
        }
    });
    progress.iter().for_each(Progress::finish);
    let computes = computes?;
    load.warn_of_others(agreement)?;
    if let (Some(directory), Some(rows)) = (directory, rows) {
        let command = std::env::args().collect::<Vec<_>>().join(" ");
        let commands = vec![format!("{command} (ranks: {})", agreement.ranks())];
        let provenance = Provenance { host, cpu, mpi_library, date, version, commands, messages: None };
        publish(&fit::fit(&rows, computes, provenance), &directory, args)?;
    }
    benchmarked
}

fn benchmark(transports: &dyn Transports, args: &FitArgs, end_job: fn(u8)) -> Result<(), RunError> {
    let args = BenchArgs {
        names: BENCHMARKS.map(str::to_owned).into(),
        budget: SHARE_OF_MESSAGES * args.budget,
        runs: None,
        sizes: Vec::new(),
        walk: None,
        backends: Vec::new(),
        ranks: None,
        timeout: args.timeout,
        samples: None,
        output: args.output.clone(),
        quiet: true,
        progress: args.progress,
    };
    bench(transports, &args, &BenchmarkSelection::of_contexts(&BENCHMARKS, movers().collect()), end_job)
}

fn publish(fitted: &Fitted, directory: &OutputDirectory, args: &FitArgs) -> Result<(), RunError> {
    let mut screen = Screen::stdout(Verbosity::unless(args.quiet));
    screen.print(&table(fitted));
    // Without `--quiet`, the table contains them.
    if args.quiet {
        fitted.machine.doubts(|_| true).iter().for_each(|doubt| warn(doubt));
    }
    match &args.bench {
        _ if !fitted.messages.is_empty() => (),
        Some(bench) => {
            screen.print(&format!("no messages: `{}` has no times of `roundtrip-copied`\n", bench.display()));
        }
        None => screen.print("no messages: start on two ranks or more, or give --bench FILE\n"),
    }
    directory.write_whole(KnownFile::MACHINE, fitted.machine.to_toml().as_bytes())?;
    directory.write_encoded(KnownFile::FIT_SVG, picture(fitted).svg().map(String::into_bytes))?;
    Ok(screen.finish()?)
}

/// Returns the rows of a bench.csv.
fn read(path: &Path) -> Result<Vec<Measurement>, RunError> {
    let name = path.display().to_string();
    let text = read_text(path, "table of benchmarks")
        .map_err(|reason| RunError::unreadable(name.clone(), reason))?;
    Ok(Measurement::read(&name, text.as_bytes())?)
}
