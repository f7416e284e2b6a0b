//! Jobs under bad circumstances: delays between put, flush and flag, slots made unreadable after use, ranks far ahead of
//! others, and transports wrong on purpose.

use std::time::Duration;

use md_comm::Backend;

use crate::Tally;
use crate::child::{ADVERSITY, BACKEND, FLAG_FIRST, NO_WINDOW, ROUGH};
use crate::jobs::{expect, full, over_mpi, play, suite, under_launcher};

const LIMIT: Duration = Duration::from_secs(60);
const RANKS: [usize; 4] = [2, 3, 4, 8];

pub(crate) fn run_all(tally: &mut Tally) {
    for backend in over_mpi().filter(|&backend| is_one_sided(backend)) {
        for ranks in RANKS.into_iter().filter(|&ranks| full() || ranks == 3) {
            let outcome = under_launcher(ranks).and_then(|mut command| {
                command.env(ADVERSITY, ROUGH);
                suite(command, (backend, ranks))
            });
            tally.judge(&format!("{}, {ranks} ranks, delays and poisoned slots", backend.name()), outcome);
        }
    }
    for backend in over_mpi().filter(|&backend| lets_ahead(backend)) {
        tally.judge(&format!("a sender two exchanges ahead, {}", backend.name()), two_ahead(backend));
    }
    for backend in [Backend::Shm, Backend::RmaNotify] {
        let name = format!("a flag before its data is caught, {}", backend.name());
        tally.judge(&name, flag_first_is_caught(backend));
    }
    for backend in [Backend::Shm, Backend::Hybrid, Backend::RmaLock, Backend::RmaFence] {
        let name = format!("a window refused on one rank is refused on all, {}", backend.name());
        tally.judge(&name, no_window_is_told(backend));
    }
}

fn is_one_sided(backend: Backend) -> bool {
    backend == Backend::Shm || backend.name().starts_with("rma-")
}

/// Whether a sender needs nothing from the receiver as long as there is a free slot: not so where an exchange is a
/// synchronisation of both sides.
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

/// All ranks must say what the last one was told.
fn no_window_is_told(backend: Backend) -> Result<(), String> {
    let mut command = under_launcher(3)?;
    command.env(BACKEND, backend.name()).env(ADVERSITY, NO_WINDOW);
    let finished = play(command, "refused", LIMIT)?;
    let told = |rank: usize| {
        finished.stdout.contains(&format!("rank {rank}: on rank 2: MPI_Win_allocate failed: deliberate"))
    };
    expect(finished.succeeded() && (0..3).all(told), &finished)
}
