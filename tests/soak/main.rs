//! Long runs: millions of steps of a small system at constant energy, with thousands of rebuilds, and with `auto`, which tries
//! its candidates again now and then. Memory must not grow, the energy must not drift, no particle and no message may be
//! lost.
//!
//! `MD_SOAK_STEPS` is the number of steps (`make soak STEPS=10000000`; by default a second's work, so that the test itself
//! stays sound). `MD_SOAK_ONLY=words` runs those of the named backends. Prints a table,
//! `backend,ranks,steps,rebuilds,rechecks,seconds,first_kb,most_kb,last_kb,drift_per_atom`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test program without the standard harness")]

mod judge;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use md_comm::Backend;
use serde_json::Value;
use support::{Workdir, md_cli};

/// The runs are calls of the program.
const STARTS_PROGRAM: bool = true;
const STEPS: u64 = 2_000;
/// As many as one rank per core of a small machine; the middle of the box is nobody's own.
const RANKS: usize = 2;
const BACKENDS: [Backend; 4] = [Backend::Local, Backend::P2p, Backend::Shm, Backend::Auto];
/// Steps per rebuild at most: the atoms of a hot liquid pass half the skin within so many.
const MOST_STEPS_PER_REBUILD: u64 = 1_000;
/// Rows of thermo.csv after that of step 0.
const ROWS: u64 = 100;
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let steps = std::env::var("MD_SOAK_STEPS").map_or(STEPS, |text| text.parse().unwrap());
    let only = std::env::var("MD_SOAK_ONLY").unwrap_or_default();
    let is_wanted = |backend: Backend| {
        let is_named = only.is_empty() || only.split_whitespace().any(|name| name == backend.name());
        is_named && (backend == Backend::Local || support::p2p_available())
    };
    judge::check_itself();
    // Not to be timed.
    md_cli();
    println!("backend,ranks,steps,rebuilds,rechecks,seconds,first_kb,most_kb,last_kb,drift_per_atom");
    let (mut passed, mut failed) = (0, 0);
    for backend in BACKENDS.into_iter().filter(|&backend| is_wanted(backend)) {
        match soak(backend, steps) {
            Ok(row) => {
                passed += 1;
                println!("{row}");
            }
            Err(why) => {
                failed += 1;
                println!("FAILED  {}: {why}", backend.name());
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0 || passed == 0))
}

/// A liquid of 256 atoms whose energy is continuous at the cutoff.
fn scenario(steps: u64) -> String {
    format!(
        "[simulation]\nsteps = {steps}\ntimestep = 0.002\nseed = 7\n\n[system]\n\
         lattice = {{ kind = \"fcc\", density = 0.8442, cells = [4, 4, 4] }}\ntemperature = 1.44\n\n\
         [interaction]\nshift = \"force\"\n\n[output]\nthermo = {{ every = {} }}\n",
        (steps / ROWS).max(1)
    )
}

/// One line of the table.
fn soak(backend: Backend, steps: u64) -> Result<String, String> {
    let workdir = Workdir::new(&scenario(steps));
    let begun = Instant::now();
    let mut launcher = command(&workdir, backend).spawn().map_err(|error| error.to_string())?;
    let samples = watch(&mut launcher, &workdir)?;
    let seconds = begun.elapsed().as_secs_f64();
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let rebuilds = number(&summary, "rebuilds")?;
    if rebuilds < steps / MOST_STEPS_PER_REBUILD {
        return Err(format!("only {rebuilds} rebuilds"));
    }
    let lost = number(&summary, "lost_particles")?;
    if lost > 0 {
        return Err(format!("{lost} particles are lost"));
    }
    let choices = summary["choices"].as_array().map_or(&[][..], Vec::as_slice);
    let rechecks: u64 = choices.iter().filter_map(|choice| choice["rechecks"].as_u64()).sum();
    let drift = judge::drift(&workdir.read("out/thermo.csv"), steps)?;
    let judge::Memory { first_kb, most_kb, last_kb } = judge::memory(&samples, steps)?;
    Ok(format!(
        "{},{RANKS},{steps},{rebuilds},{rechecks},{seconds:.1},{first_kb},{most_kb},{last_kb},{drift:.1e}",
        backend.name()
    ))
}

fn command(workdir: &Workdir, backend: Backend) -> Command {
    let mut command = match backend {
        Backend::Local => Command::new(md_cli()),
        _ => workdir.under_mpirun(RANKS, &md_cli()),
    };
    command.current_dir(workdir.path("")).args(["run", "melt.toml", "--quiet"]);
    command.args(["--set", &format!("parallel.backend={}", backend.name())]);
    if backend == Backend::Local {
        command.args(["--set", &format!("parallel.ranks={RANKS}")]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Resident memory of the largest rank, in kB, as long as the job lasts.
fn watch(launcher: &mut Child, workdir: &Workdir) -> Result<Vec<u64>, String> {
    let mut samples = Vec::new();
    loop {
        match launcher.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(samples),
            Some(status) => return Err(status.to_string()),
            None => samples.extend(resident_kb(workdir)),
        }
        std::thread::sleep(SAMPLE_EVERY);
    }
}

fn resident_kb(workdir: &Workdir) -> Option<u64> {
    let folder = workdir.path("");
    let is_rank = |process: &u32| {
        let place = fs::read_link(format!("/proc/{process}/cwd"));
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        place.is_ok_and(|place| place.starts_with(&folder)) && name.trim() == "md-cli"
    };
    let processes = fs::read_dir("/proc").ok()?;
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let resident = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    ids.filter(is_rank).filter_map(resident).max()
}

fn number(summary: &Value, key: &str) -> Result<u64, String> {
    summary[key].as_u64().ok_or_else(|| format!("summary.json has no {key}"))
}
