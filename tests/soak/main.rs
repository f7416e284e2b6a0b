//! Long runs: millions of steps of a small system at constant energy with thousands of rebuilds,
//! and of a system in which `auto` has to choose again. Memory must not grow, the energy must not
//! drift, and no particle or message may be lost: all backends send the same number of messages,
//! and every row of thermo.csv is identical to the last digit.
//!
//! `MD_SOAK_STEPS` is the number of steps (`make soak STEPS=10000000`). The default is about one
//! second of work, to keep the test itself in order. `MD_SOAK_ONLY=words` selects the backends to
//! run. The test prints a table,
//! `backend,ranks,steps,rebuilds,rechecks,messages,seconds,resident_kb,resident_late_kb,private_kb,private_late_kb,drift_per_atom`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test program without the standard harness")]

mod judge;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use md_comm::Backend;
use serde_json::Value;
use support::{Tally, Workdir, md_cli};

/// The runs are calls of the program.
const STARTS_PROGRAM: bool = true;
const STEPS: u64 = 2_000;
/// One rank per core of a small machine. With two ranks, the middle of the box belongs to neither
/// alone.
const RANKS: usize = 2;
const BACKENDS: [Backend; 4] = [Backend::Local, Backend::P2p, Backend::Shm, Backend::Auto];
/// Maximum number of steps per rebuild: the atoms of a hot liquid move by half the skin within this
/// time.
const MOST_STEPS_PER_REBUILD: u64 = 1_000;
/// Growth of a rank's memory that is tolerated, because some pages are touched late.
const MOST_GROWTH_KB: u64 = 1_024;
/// Growth of the shared part where `auto` changes its two contexts to `shm`, with 4 MB of buffers
/// each.
const MOST_CHOSEN_KB: u64 = 2 * 4_096;
/// Number of rows of thermo.csv after that of step 0.
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
    // The build must not be part of the measured time.
    md_cli();
    println!(
        "backend,ranks,steps,rebuilds,rechecks,messages,seconds,resident_kb,resident_late_kb,private_kb,private_late_kb,\
         drift_per_atom"
    );
    let (mut tally, mut first) = (Tally::default(), None);
    if !BACKENDS.into_iter().any(is_wanted) {
        tally.count("MD_SOAK_ONLY", Err("no backend has this name".to_owned()));
    }
    for backend in BACKENDS.into_iter().filter(|&backend| is_wanted(backend)) {
        tally.count(backend.name(), soak(backend, steps, &mut first).map(|row| println!("{row}")));
    }
    tally.end()
}

/// Returns a fluid whose energy is continuous at the cutoff.
fn scenario(steps: u64) -> String {
    format!(
        "[simulation]\nsteps = {steps}\ntimestep = 0.002\nseed = 7\n\n[system]\n\
         file = {{ path = \"slab.xyz\", format = \"extxyz\" }}\ntemperature = 3.0\n\n\
         [interaction]\nshift = \"force\"\n\n[output]\nthermo = {{ every = {} }}\n",
        (steps / ROWS).max(1)
    )
}

/// Returns 288 atoms at liquid density in the middle of one rank's half. They spread over the box,
/// and the halos grow many times larger, so that `auto` has to choose again.
fn slab() -> String {
    let site = |index: usize| {
        let [x, y, z] = [index / 36, index / 6 % 6, index % 6].map(|site| site as f64 * 1.12 + 0.56);
        format!("A {} {y} {z}\n", x + 5.52)
    };
    let atoms: String = (0..288).map(site).collect();
    format!("288\nLattice=\"40 0 0 0 6.72 0 0 0 6.72\" Properties=species:S:1:pos:R:3\n{atoms}")
}

/// Results that must be equal for all backends.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Course {
    thermo: String,
    messages: u64,
    bytes: u64,
}

/// Runs one backend and returns its line of the table. `first` is the course of the first backend.
fn soak(backend: Backend, steps: u64, first: &mut Option<Course>) -> Result<String, String> {
    let workdir = Workdir::new(&scenario(steps));
    workdir.write("slab.xyz", &slab());
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
    if backend == Backend::Auto && rechecks == 0 && steps >= judge::STEPS_TO_JUDGE {
        return Err(format!("`auto` has never chosen again: {choices:?}"));
    }
    let (messages, bytes) = (number(&summary, "messages")?, number(&summary, "bytes")?);
    let course = Course { thermo: workdir.read("out/thermo.csv"), messages, bytes };
    let drift = judge::drift(&course.thermo, steps)?;
    let first = first.get_or_insert_with(|| course.clone());
    if *first != course {
        return Err(format!("another course than that of the first backend: {first:?}, {course:?}"));
    }
    let shared_kb = if backend == Backend::Auto { MOST_CHOSEN_KB } else { 0 };
    let resident = judge::memory("resident", &samples[0], steps, MOST_GROWTH_KB + shared_kb)?;
    let private = judge::memory("private", &samples[1], steps, MOST_GROWTH_KB)?;
    Ok(format!(
        "{},{RANKS},{steps},{rebuilds},{rechecks},{messages},{seconds:.1},{},{},{},{},{drift:.1e}",
        backend.name(),
        resident.before_kb,
        resident.after_kb,
        private.before_kb,
        private.after_kb
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

/// Samples resident and private memory of the largest rank, in kB, while the job computes.
fn watch(launcher: &mut Child, workdir: &Workdir) -> Result<[Vec<u64>; 2], String> {
    let mut samples = [Vec::new(), Vec::new()];
    loop {
        match launcher.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(samples),
            Some(status) => return Err(status.to_string()),
            None if workdir.path("out/summary.json").exists() => (),
            None => {
                let ranks = ranks(workdir);
                for (samples, line) in samples.iter_mut().zip(["VmRSS:", "RssAnon:"]) {
                    samples.extend(ranks.iter().filter_map(|&rank| memory_kb(rank, line)).max());
                }
            }
        }
        std::thread::sleep(SAMPLE_EVERY);
    }
}

/// Returns the processes that compute.
fn ranks(workdir: &Workdir) -> Vec<u32> {
    let folder = workdir.path("");
    let is_rank = |process: &u32| {
        let place = fs::read_link(format!("/proc/{process}/cwd"));
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        place.is_ok_and(|place| place.starts_with(&folder)) && name.trim() == "md-cli"
    };
    let processes = fs::read_dir("/proc").into_iter().flatten();
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(is_rank).collect()
}

/// Returns the number in a line of `/proc/PID/status`.
fn memory_kb(process: u32, line: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|found| found.starts_with(line))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn number(summary: &Value, key: &str) -> Result<u64, String> {
    summary[key].as_u64().ok_or_else(|| format!("summary.json has no {key}"))
}
