//! The fault matrix. Whatever happens to a rank, the launcher, the disk or shared memory, the job
//! ends within seconds or continues, as docs/reliability.md promises. The rows written before the
//! fault can be read, and nothing is left behind.
//!
//! The program prints a table, `command,fault,backend,ranks,ended_s,exit,files,verdict`, and
//! counts. By default it runs a part of the matrix. `MD_FAULTS=full` runs every fault on every
//! backend. `MD_FAULTS_ONLY=words` runs the cases whose line contains all of the words, for example
//! `"stop-long rma-fence"`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test program without the standard harness")]

mod case;
mod clock;
mod fault;
mod job;
mod late;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use case::{Application, Case, Row};
use fault::Fault;
use md_comm::Backend;
use strum::VariantArray;

/// The cases are calls of the program.
const STARTS_PROGRAM: bool = true;
/// Number of jobs at a time. A job mostly waits: for its launcher, or for a watchdog.
const AT_ONCE: usize = 3;
const RANKS: [usize; 3] = [2, 3, 4];
/// One backend for each way to wait.
const SLICE: [Backend; 4] = [Backend::Local, Backend::P2p, Backend::RmaFence, Backend::Shm];

/// Faults to try on grids. The code that grids and particles share is tested with particles, and
/// these are repeated.
const FAULTS_ON_GRIDS: [Fault; 4] = [Fault::KillRank, Fault::Terminate, Fault::FullDisk, Fault::Removed];
const BACKENDS_ON_GRIDS: [Backend; 3] = [Backend::P2p, Backend::Shm, Backend::RmaLock];

fn main() -> ExitCode {
    if md_comm::launch::started_by_launcher().is_some() {
        // Worker entry of the helpers that these tests share with others. It is not needed here.
        return ExitCode::SUCCESS;
    }
    let cases = wanted();
    println!("command,fault,backend,ranks,ended_s,exit,files,verdict");
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let row = case.play();
            println!("{row}");
            rows.lock().unwrap().push(row);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(worker))));
    let rows = rows.into_inner().unwrap();
    let count = |wanted: fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count();
    let failed = count(Row::has_failed);
    let skipped = count(Row::is_skipped);
    println!("{} passed, {failed} failed, {skipped} skipped", count(Row::has_passed));
    if skipped > 0 {
        println!("WARNING: {skipped} cases were NOT played; play them as root, who can mount a small disk");
    }
    if rows.is_empty() {
        println!("FAILED: no case was chosen");
    }
    ExitCode::from(u8::from(failed > 0 || rows.is_empty()))
}

/// Returns the cases of this call.
fn wanted() -> Vec<Case> {
    let full = std::env::var("MD_FAULTS").is_ok_and(|mode| mode == "full");
    let only = std::env::var("MD_FAULTS_ONLY").unwrap_or_default();
    let has_mpi = support::p2p_available();
    let backends = Backend::ALL.iter().filter(|&&backend| has_mpi || backend == Backend::Local);
    let case = |&backend: &Backend| {
        let ranks = RANKS.into_iter().filter(move |&ranks| full || ranks == RANKS[0]);
        let command = Application::Run;
        let faults =
            move |ranks| Fault::VARIANTS.iter().map(move |&fault| Case { command, fault, backend, ranks });
        ranks.flat_map(faults)
    };
    let cases = backends.flat_map(case).filter(|case| case.fault.concerns(case.backend));
    let cases = cases.chain(on_grids().filter(|_| has_mpi));
    let chosen = |case: &Case| {
        let auto_goes_on = case.fault == Fault::FullShm && case.backend == Backend::Auto;
        let in_slice = auto_goes_on
            || SLICE.contains(&case.backend)
                && (case.fault.depends_on_backend() || matches!(case.backend, Backend::Local | Backend::P2p));
        (full || in_slice) && only.split_whitespace().all(|word| case.to_string().contains(word))
    };
    cases.filter(chosen).collect()
}

fn on_grids() -> impl Iterator<Item = Case> {
    let commands = [Application::Stencil, Application::Lbm].into_iter();
    let of_command = |command| {
        let of_backend = move |backend| {
            FAULTS_ON_GRIDS.into_iter().map(move |fault| Case { command, fault, backend, ranks: RANKS[0] })
        };
        BACKENDS_ON_GRIDS.into_iter().flat_map(of_backend)
    };
    commands.flat_map(of_command)
}
