//! Starts this program again under the MPI launcher and checks how the jobs end.
//!
//! By default every backend runs the suite as it is, with a slice of its options, and with delays
//! and poisoned buffers; `MD_CONFORMANCE=full` adds every combination of options, over every
//! implementation of windows, and delays and poisoned buffers over several of them;
//! `MD_CONFORMANCE=nodes` is what works between nodes, as it is. `MD_CONFORMANCE_ONLY=words` runs
//! only cases of the suite that have all of the words in their names: `poisoned` only those with
//! poisoned buffers, `"rma-lock osc/sm"` only those of `rma-lock` (and `rma-lock-epoch`) over
//! osc/sm. `MD_CONFORMANCE_RANKS=2,3` runs only those with these numbers of ranks;
//! `MD_CONFORMANCE_LIMIT_S` is the suite's limit in seconds.

use std::process::Command;
use std::time::Duration;

use md_comm::Backend;

use crate::cases::{self, Case};
use crate::child::{ABORT_CODE, BACKEND, BETWEEN_NODES, EXPECTED_RANKS, LARGE, ROLE};
use crate::launch::{self, Finished};
use crate::{RANKS, Tally, adverse, batch, is_wanted};

/// The suite's limit. The suite takes seconds, but cores are shared, and many windows on many ranks
/// take long to make. Libraries that spin if there are more ranks than cores need more ([`LIMIT`]).
const SUITE_LIMIT: Duration = Duration::from_secs(180);
/// Variable with another limit, in seconds.
const LIMIT: &str = "MD_CONFORMANCE_LIMIT_S";
/// Variable with the numbers of ranks to try over MPI, separated by commas; by default all.
const RANKS_WANTED: &str = "MD_CONFORMANCE_RANKS";
/// Limit of a job that is to end at once because one rank fails.
const FAILURE_LIMIT: Duration = Duration::from_secs(60);
/// Limit of a job that ends by itself.
const SHORT_LIMIT: Duration = Duration::from_secs(120);
/// Variable that makes nodes smaller than they are.
pub(crate) const RANKS_PER_NODE: &str = "MD_RANKS_PER_NODE";
/// Backends that cannot move messages between nodes by themselves, and `p2p`, which is tested in
/// any case.
const NOT_BETWEEN_NODES: [Backend; 4] = [Backend::P2p, Backend::Shm, Backend::Hybrid, Backend::Auto];
pub(crate) fn run_all(tally: &mut Tally) {
    let over_nodes = is_wanted("nodes");
    if !over_nodes {
        let alone = this_program().and_then(|program| suite(program, Backend::P2p, 1));
        tally.show("p2p as a plain process", alone);
    }
    if launch::mpirun(1).is_none() {
        return tally.show("mpirun is installed", launch::may_skip("no mpirun"));
    }
    let ranks_wanted = match ranks_wanted() {
        Ok(ranks) => ranks,
        Err(what) => return tally.show(RANKS_WANTED, Err(what)),
    };
    let only = std::env::var("MD_CONFORMANCE_ONLY").unwrap_or_default();
    let wanted = |case: &Case| {
        ranks_wanted.contains(&case.ranks) && only.split_whitespace().all(|word| case.name().contains(word))
    };
    let all = if over_nodes { cases::between_nodes() } else { cases::all(full()) };
    let cases: Vec<Case> = all.into_iter().filter(wanted).collect();
    let together = cases.chunk_by(Case::shares_a_job);
    let jobs: Vec<&[Case]> = together.flat_map(|cases| cases.chunks(cases::MOST_PER_JOB)).collect();
    batch::play_all(tally, &jobs);
    if only.is_empty() && !over_nodes {
        small_nodes(tally, Backend::Hybrid, Backend::P2p);
        if full() {
            small_nodes(tally, Backend::Auto, Backend::P2p);
            for between in over_mpi().filter(|backend| !NOT_BETWEEN_NODES.contains(backend)) {
                small_nodes(tally, Backend::Hybrid, between);
            }
        }
        adverse::run_all(tally);
        failures(tally);
    }
}

fn ranks_wanted() -> Result<Vec<usize>, String> {
    let Ok(text) = std::env::var(RANKS_WANTED) else { return Ok(RANKS.into()) };
    let numbers: Result<Vec<usize>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    numbers.map_err(|error| format!("{text:?} is no list of numbers such as 1,2,3: {error}"))
}

/// Returns the seconds from the environment, or the default. An unreadable value fails the suite at
/// once.
pub(crate) fn suite_limit() -> Duration {
    let seconds = std::env::var(LIMIT).ok().map(|text| text.trim().parse().unwrap_or(0));
    seconds.map_or(SUITE_LIMIT, Duration::from_secs)
}

/// Returns whether the long form of the test was requested.
pub(crate) fn full() -> bool {
    is_wanted("full")
}

/// This machine as several nodes: some edges lead between them with two ranks each, all with one.
fn small_nodes(tally: &mut Tally, backend: Backend, between: Backend) {
    for (ranks, ranks_per_node) in RANKS.into_iter().flat_map(|ranks| [(ranks, "1"), (ranks, "2")]) {
        let outcome = under_launcher(ranks).and_then(|mut command| {
            command.env(RANKS_PER_NODE, ranks_per_node).env(BETWEEN_NODES, between.name());
            suite(command, backend, ranks)
        });
        let (name, between) = (backend.name(), between.name());
        tally.show(&format!("{name}, {ranks} ranks, {ranks_per_node} per node, {between} between"), outcome);
    }
}

fn failures(tally: &mut Tally) {
    tally.show("a panic ends the job", panic_ends_job());
    tally.show("an abort ends the job with its code", abort_ends_job());
    for backend in [Backend::P2p, Backend::Shm, Backend::RmaLock] {
        let name = format!("inside a program that has initialised MPI itself, {}", backend.name());
        tally.show(&name, embedded(backend));
    }
    // The others wait in the same few ways. A fence blocks inside the library.
    let typical =
        [Backend::Shm, Backend::RmaLock, Backend::RmaNotify, Backend::NeighborCollective, Backend::RmaFence];
    let chosen = |backend: &Backend| full() || typical.contains(backend);
    for backend in over_mpi().filter(chosen) {
        let name = format!("the watchdog names the awaited edge, {}", backend.name());
        tally.show(&name, watchdog_names(backend, "silent", "waited"));
    }
    tally.show(
        "the watchdog names the awaited edge",
        watchdog_names(Backend::P2p, "silent", "for rank 1 (channel 0)"),
    );
    tally.show("a call that blocks ends the job with its name and exit code 3", blocked_call());
    tally.show("the watchdog names the awaited edges of both halves, hybrid", both_halves_named());
    tally.show(
        "the watchdog names the awaited edge, unpacked messages",
        watchdog_names(Backend::P2p, "unpacked", "unpacked: rank 0 waited 1 s for rank 1 (channel 0)"),
    );
    tally.show("memory of an unpacked message that never leaves is not given back", lent_for_ever());
    tally.show(
        "the watchdog names an absent rank",
        watchdog_names(Backend::P2p, "absent", "capacities of rank 1"),
    );
    for backend in over_mpi() {
        let name = format!("contexts dropped in flight do no harm, {}", backend.name());
        tally.show(&name, dropped_in_flight(backend));
    }
}

pub(crate) fn over_mpi() -> impl Iterator<Item = Backend> {
    Backend::ALL.iter().copied().filter(|&backend| backend != Backend::Local)
}

fn this_program() -> Result<Command, String> {
    std::env::current_exe().map(Command::new).map_err(|error| format!("own path: {error}"))
}

pub(crate) fn under_launcher(ranks: usize) -> Result<Command, String> {
    let mut command = launch::mpirun(ranks).ok_or("no mpirun")?;
    command.arg(this_program()?.get_program());
    Ok(command)
}

/// Runs a job, however it ends.
pub(crate) fn play_within(mut command: Command, role: &str, limit: Duration) -> Result<Finished, String> {
    command.env(ROLE, role);
    launch::run_with_timeout(command, limit).map_err(|error| error.to_string())
}

/// Runs a job that must come to an end by itself.
pub(crate) fn play(command: Command, role: &str, limit: Duration) -> Result<Finished, String> {
    let finished = play_within(command, role, limit)?;
    match finished.status {
        Some(_) => Ok(finished),
        None => Err(format!("killed after {limit:?}: {}", output(&finished))),
    }
}

pub(crate) fn output(finished: &Finished) -> String {
    format!("{:?}\n{}\n{}", finished.status, finished.stdout, finished.stderr)
}

pub(crate) fn expect(holds: bool, finished: &Finished) -> Result<(), String> {
    if holds { Ok(()) } else { Err(output(finished)) }
}

pub(crate) fn suite(mut command: Command, backend: Backend, ranks: usize) -> Result<(), String> {
    command.env(EXPECTED_RANKS, ranks.to_string()).env(BACKEND, backend.name());
    let finished = play(command, "suite", suite_limit())?;
    println!("        {:.1} s, {}", finished.duration.as_secs_f64(), finished.stdout.trim());
    expect(finished.succeeded() && finished.stdout.contains("Ok(())"), &finished)
}

fn panic_ends_job() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "panic", FAILURE_LIMIT)?;
    expect(!finished.succeeded() && finished.stderr.contains("deliberate panic"), &finished)
}

/// Worlds of two ranks and of one.
fn embedded(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(3)?;
    command.env(BACKEND, backend.name());
    let finished = play(command, "embedded", suite_limit())?;
    expect(finished.succeeded() && finished.stdout.matches("embedded passed").count() == 3, &finished)
}

fn abort_ends_job() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "abort", FAILURE_LIMIT)?;
    expect(finished.status.and_then(|status| status.code()) == Some(ABORT_CODE), &finished)
}

fn watchdog_names(backend: Backend, role: &str, edge: &str) -> Result<(), String> {
    let mut command = under_launcher(2)?;
    command.env(BACKEND, backend.name());
    let finished = play(command, role, FAILURE_LIMIT)?;
    let said = |text: &str| text.contains(edge);
    expect(!finished.succeeded() && (said(&finished.stdout) || said(&finished.stderr)), &finished)
}

fn blocked_call() -> Result<(), String> {
    let mut command = under_launcher(2)?;
    command.env(BACKEND, Backend::RmaFence.name());
    let finished = play(command, "silent", FAILURE_LIMIT)?;
    let text = "error: rank 0: MPI_Win_fence: rank 0 waited 1 s for the other ranks\n";
    let code = finished.status.and_then(|status| status.code());
    expect(code == Some(3) && finished.stderr.contains(text), &finished)
}

/// The message is so long that it leaves only when it is received: the library still uses the
/// memory, so the job is ended.
fn lent_for_ever() -> Result<(), String> {
    let mut command = under_launcher(2)?;
    command.env(LARGE, "yes");
    let finished = play(command, "unpacked", FAILURE_LIMIT)?;
    let code = finished.status.and_then(|status| status.code());
    let said = "error: rank 0: unpacked: rank 0 waited 1 s for rank 1 (channel 0)";
    let is_told = finished.stderr.contains(said) && !finished.stdout.contains("saw");
    expect(code == Some(3) && is_told, &finished)
}

/// Rank 0 waits for a rank on its node and for one on another.
fn both_halves_named() -> Result<(), String> {
    let mut command = under_launcher(3)?;
    command.env(BACKEND, Backend::Hybrid.name()).env(RANKS_PER_NODE, "2");
    let finished = play(command, "alone", FAILURE_LIMIT)?;
    let named = finished.stdout.contains("for rank 1 (channel 0), rank 2 (channel 0)");
    expect(!finished.succeeded() && named, &finished)
}

fn dropped_in_flight(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(3)?;
    command.env(BACKEND, backend.name());
    let finished = play(command, "drop", SHORT_LIMIT)?;
    expect(finished.succeeded(), &finished)
}
