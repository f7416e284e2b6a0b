//! Starts this program again under the MPI launcher and judges how the jobs end.

use std::process::Command;
use std::time::Duration;

use md_comm::Backend;
use md_comm::launch::{self, Finished};

use crate::child::{ABORT_CODE, BACKEND, EXPECTED_RANKS, ROLE};
use crate::{RANKS, Tally};

/// The suite's limit; it takes seconds, but cores are shared. Libraries that spin where there are more ranks than cores
/// need more ([`LIMIT`]).
const SUITE_LIMIT: Duration = Duration::from_secs(60);
/// Variable with another limit, in seconds.
const LIMIT: &str = "MD_CONFORMANCE_LIMIT_S";
/// Variable with the numbers of ranks to try over MPI, separated by commas; by default all.
const RANKS_WANTED: &str = "MD_CONFORMANCE_RANKS";
/// Limit of a job that is to end at once because one rank fails.
const FAILURE_LIMIT: Duration = Duration::from_secs(10);
/// Limit of a job that ends by itself.
const SHORT_LIMIT: Duration = Duration::from_secs(30);
/// Over TCP and emulated by messages, nothing arrives in order by accident.
const WINDOW_PATHS: [(&str, &[(&str, &str)]); 3] = [
    ("osc/rdma", &[("OMPI_MCA_osc", "rdma")]),
    ("osc/sm", &[("OMPI_MCA_osc", "sm")]),
    (
        "osc/pt2pt over TCP",
        &[("OMPI_MCA_osc", "pt2pt"), ("OMPI_MCA_btl", "self,tcp"), ("OMPI_MCA_btl_tcp_if_include", "lo")],
    ),
];

pub(crate) fn run_all(tally: &mut Tally) {
    let alone = this_program().and_then(|program| suite(program, (Backend::P2p, 1)));
    tally.judge("p2p as a plain process", alone);
    if launch::mpirun(1).is_none() {
        println!("skipped: no mpirun");
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            tally.judge("mpirun is installed", Err("CI must not skip the MPI tests".to_owned()));
        }
        return;
    }
    let ranks_wanted = match ranks_wanted() {
        Ok(ranks) => ranks,
        Err(what) => return tally.judge(RANKS_WANTED, Err(what)),
    };
    let suites = over_mpi().flat_map(|backend| ranks_wanted.iter().map(move |&ranks| (backend, ranks)));
    for (backend, ranks) in suites {
        let outcome = under_launcher(ranks).and_then(|command| suite(command, (backend, ranks)));
        tally.judge(&format!("{}, {ranks} ranks", backend.name()), outcome);
    }
    if full() {
        all_paths(tally);
    }
    failures(tally);
}

fn ranks_wanted() -> Result<Vec<usize>, String> {
    let Ok(text) = std::env::var(RANKS_WANTED) else { return Ok(RANKS.into()) };
    let numbers: Result<Vec<usize>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    numbers.map_err(|error| format!("{text:?} is no list of numbers such as 1,2,3: {error}"))
}

/// Seconds from the environment, or the default; what cannot be read fails the suite at once.
fn suite_limit() -> Duration {
    let seconds = std::env::var(LIMIT).ok().map(|text| text.trim().parse().unwrap_or(0));
    seconds.map_or(SUITE_LIMIT, Duration::from_secs)
}

/// Whether the long form of the test was asked for.
fn full() -> bool {
    std::env::var("MD_CONFORMANCE").is_ok_and(|mode| mode == "full")
}

/// Every implementation of windows that Open MPI has; what runs by default depends on the machine.
fn all_paths(tally: &mut Tally) {
    for backend in over_mpi().filter(|backend| backend.name().starts_with("rma-")) {
        for (path, variables) in WINDOW_PATHS {
            // Forced osc/rdma refuses a window of one rank.
            for ranks in RANKS.into_iter().filter(|&ranks| ranks > 1) {
                let outcome = under_launcher(ranks).and_then(|mut command| {
                    command.envs(variables.iter().copied());
                    suite(command, (backend, ranks))
                });
                tally.judge(&format!("{}, {ranks} ranks, {path}", backend.name()), outcome);
            }
        }
    }
}

fn failures(tally: &mut Tally) {
    tally.judge("a panic ends the job", panic_ends_job());
    tally.judge("an abort ends the job with its code", abort_ends_job());
    // A fence blocks inside the library, where the watchdog does not see it. The others wait in a few ways only.
    let typical = [Backend::Shm, Backend::RmaLock, Backend::RmaNotify, Backend::NeighborCollective];
    let chosen = |&backend: &Backend| backend != Backend::RmaFence && (full() || typical.contains(&backend));
    for backend in over_mpi().filter(chosen) {
        let name = format!("the watchdog names the awaited edge, {}", backend.name());
        tally.judge(&name, watchdog_names(backend, "silent", "waited"));
    }
    tally.judge(
        "the watchdog names the awaited edge",
        watchdog_names(Backend::P2p, "silent", "for rank 1 (channel 0)"),
    );
    tally.judge(
        "the watchdog names an absent rank",
        watchdog_names(Backend::P2p, "absent", "capacities of rank 1"),
    );
    for backend in over_mpi() {
        let name = format!("contexts dropped in flight do no harm, {}", backend.name());
        tally.judge(&name, dropped_in_flight(backend));
    }
}

fn over_mpi() -> impl Iterator<Item = Backend> {
    Backend::ALL.iter().copied().filter(|&backend| backend != Backend::Local)
}

fn this_program() -> Result<Command, String> {
    std::env::current_exe().map(Command::new).map_err(|error| format!("own path: {error}"))
}

fn under_launcher(ranks: usize) -> Result<Command, String> {
    let mut command = launch::mpirun(ranks).ok_or("no mpirun")?;
    command.arg(this_program()?.get_program());
    Ok(command)
}

fn play(mut command: Command, role: &str, limit: Duration) -> Result<Finished, String> {
    command.env(ROLE, role);
    let finished = launch::run_with_timeout(command, limit).map_err(|error| error.to_string())?;
    match finished.status {
        Some(_) => Ok(finished),
        None => Err(format!("killed after {limit:?}: {}", output(&finished))),
    }
}

fn output(finished: &Finished) -> String {
    format!("{:?}\n{}\n{}", finished.status, finished.stdout, finished.stderr)
}

fn expect(holds: bool, finished: &Finished) -> Result<(), String> {
    if holds { Ok(()) } else { Err(output(finished)) }
}

fn suite(mut command: Command, (backend, ranks): (Backend, usize)) -> Result<(), String> {
    command.env(EXPECTED_RANKS, ranks.to_string()).env(BACKEND, backend.name());
    let finished = play(command, "suite", suite_limit())?;
    println!("        {:.1} s, {}", finished.duration.as_secs_f64(), finished.stdout.trim());
    expect(finished.succeeded() && finished.stdout.contains("Ok(())"), &finished)
}

fn panic_ends_job() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "panic", FAILURE_LIMIT)?;
    expect(!finished.succeeded() && finished.stderr.contains("deliberate panic"), &finished)
}

fn abort_ends_job() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "abort", FAILURE_LIMIT)?;
    expect(finished.status.and_then(|status| status.code()) == Some(ABORT_CODE), &finished)
}

fn watchdog_names(backend: Backend, role: &str, edge: &str) -> Result<(), String> {
    let mut command = under_launcher(2)?;
    command.env(BACKEND, backend.name());
    let finished = play(command, role, FAILURE_LIMIT)?;
    expect(!finished.succeeded() && finished.stdout.contains(edge), &finished)
}

fn dropped_in_flight(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(3)?;
    command.env(BACKEND, backend.name());
    let finished = play(command, "drop", SHORT_LIMIT)?;
    expect(finished.succeeded(), &finished)
}
