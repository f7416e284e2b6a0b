//! Jobs under bad circumstances: delays between put, flush and flag, buffers made unreadable after
//! use, ranks far ahead of others, and transports wrong on purpose.

use std::time::Duration;

use md_comm::{Backend, Buffering, RmaOptions};

use crate::Tally;
use crate::cases::{Case, OSC_PT2PT, OSC_SM, Path};
use crate::child::{ADVERSITY, BACKEND, BETWEEN_NODES, FLAG_FIRST, NO_WINDOW};
use crate::jobs::{RANKS_PER_NODE, expect, over_mpi, play, under_launcher};
use crate::options;

const LIMIT: Duration = Duration::from_secs(60);
const RANKS: [usize; 4] = [2, 3, 4, 8];
/// The number of ranks of the short form; on two nodes one has a node of its own.
const FEW: usize = 3;
/// Numbers of ranks on other paths and with other options than the default ones.
const VARIED_RANKS: [usize; 2] = [FEW, 4];

/// Options that change which rank writes where or which rank waits. One and two buffers are not an
/// option: the suite tries both. True assertions are left out, because poisoning makes one of them
/// false (the owner does store into its part).
const PROTOCOLS: [&str; 9] = [
    "operation=get",
    "polling=strict",
    "ring=shared",
    "windows=per-edge",
    "epoch=initiate",
    "notice=neighbor-barrier",
    "barriers=per-message",
    "arrivals=copied",
    "puts=three",
];
/// Protocols of the short form, each with one backend that takes it.
const SHORT: [(Backend, &str); 7] = [
    (Backend::RmaPscw, "epoch=initiate"),
    (Backend::RmaLockEpoch, "epoch=initiate"),
    (Backend::RmaLockEpoch, "notice=neighbor-barrier"),
    (Backend::RmaBarrier, "barriers=per-message"),
    (Backend::RmaRing, "ring=shared"),
    (Backend::RmaNotify, "polling=strict"),
    (Backend::RmaLock, "operation=get"),
];

/// Both halves of `hybrid` are under way at once.
const TWO_NODES: Path = ("2 ranks per node", &[(RANKS_PER_NODE, "2")]);
const TWO_NODES_ONE_SIDED: [Path; 2] = [
    ("2 ranks per node, rma-notify between", &[(RANKS_PER_NODE, "2"), (BETWEEN_NODES, "rma-notify")]),
    ("2 ranks per node, rma-lock between", &[(RANKS_PER_NODE, "2"), (BETWEEN_NODES, "rma-lock")]),
];

/// The suite with delays and poisoned buffers; cases that can share a job side by side.
pub(crate) fn cases(full: bool) -> Vec<Case> {
    let one_sided: Vec<_> = over_mpi().filter(|&backend| is_one_sided(backend)).collect();
    let mut cases: Vec<_> = one_sided.iter().flat_map(|&backend| by_default_path(backend, full)).collect();
    cases.push(Case { path: Some(TWO_NODES), ..Case::plain(Backend::Hybrid, FEW) });
    if full {
        let over_windows = one_sided.into_iter().filter(|&backend| backend != Backend::Shm);
        cases.extend(over_windows.flat_map(by_other_paths));
        cases.push(Case { path: Some(TWO_NODES), ..Case::plain(Backend::Hybrid, 4) });
        cases.extend(TWO_NODES_ONE_SIDED.into_iter().flat_map(|path| varied(Backend::Hybrid, path)));
    }
    cases.into_iter().map(|case| Case { rough: true, ..case }).collect()
}

fn by_default_path(backend: Backend, full: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for ranks in RANKS.into_iter().filter(|&ranks| full || ranks == FEW) {
        let plain = Case::plain(backend, ranks);
        cases.push(plain);
        if VARIED_RANKS.contains(&ranks) {
            let options = if full { protocols(backend) } else { short(backend) };
            cases.extend(options.into_iter().map(|options| Case { options, ..plain }));
        }
    }
    cases
}

fn by_other_paths(backend: Backend) -> Vec<Case> {
    let mut cases = Vec::new();
    for plain in [OSC_SM, OSC_PT2PT].into_iter().flat_map(|path| varied(backend, path)) {
        cases.push(plain);
        cases.extend(protocols(backend).into_iter().map(|options| Case { options, ..plain }));
    }
    cases
}

fn varied(backend: Backend, path: Path) -> [Case; 2] {
    VARIED_RANKS.map(|ranks| Case { path: Some(path), ..Case::plain(backend, ranks) })
}

fn protocols(backend: Backend) -> Vec<RmaOptions> {
    let parsed = PROTOCOLS.iter().filter_map(|text| options::parse(text).ok());
    parsed.filter(|options| backend.refuses(options, Buffering::Double).is_ok()).collect()
}

fn short(backend: Backend) -> Vec<RmaOptions> {
    let own = SHORT.iter().filter(|&&(taker, _)| taker == backend);
    own.filter_map(|(_, text)| options::parse(text).ok()).collect()
}

pub(crate) fn run_all(tally: &mut Tally) {
    for backend in over_mpi().filter(|&backend| lets_ahead(backend)) {
        tally.show(&format!("a sender two exchanges ahead, {}", backend.name()), two_ahead(backend));
    }
    for backend in [Backend::Shm, Backend::RmaNotify] {
        let name = format!("a flag before its data is caught, {}", backend.name());
        tally.show(&name, flag_first_is_caught(backend));
    }
    for backend in [Backend::Shm, Backend::Hybrid, Backend::RmaLock, Backend::RmaFence] {
        let name = format!("a window refused on one rank is refused on all, {}", backend.name());
        tally.show(&name, no_window_is_reported(backend));
    }
}

fn is_one_sided(backend: Backend) -> bool {
    backend == Backend::Shm || backend.name().starts_with("rma-")
}

/// Returns whether a sender needs nothing from the receiver as long as there is a free buffer. This
/// is false if an exchange synchronises both sides.
fn lets_ahead(backend: Backend) -> bool {
    !backend.needs_same_order() && !matches!(backend, Backend::RmaPscw | Backend::RmaBarrier)
}

fn two_ahead(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(2)?;
    command.env(BACKEND, backend.name());
    let finished = play(command, "ahead", LIMIT)?;
    expect(finished.succeeded() && finished.stdout.contains("rank 1: right = true"), &finished)
}

/// The suite must fail, and because of what arrived.
fn flag_first_is_caught(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(2)?;
    command.env(BACKEND, backend.name()).env(ADVERSITY, FLAG_FIRST);
    let finished = play(command, "suite", LIMIT)?;
    expect(!finished.succeeded() && finished.stdout.contains("has a wrong"), &finished)
}

/// All ranks must report the error of the last one.
fn no_window_is_reported(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(3)?;
    command.env(BACKEND, backend.name()).env(ADVERSITY, NO_WINDOW);
    let finished = play(command, "refused", LIMIT)?;
    let reports = |rank: usize| {
        finished.stdout.contains(&format!("rank {rank}: on rank 2: MPI_Win_allocate failed: deliberate"))
    };
    expect(finished.succeeded() && (0..3).all(reports), &finished)
}
