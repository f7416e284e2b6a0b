//! The start of MPI, and its ends by a call of [`abort`] or by a panic; [`Running`] finalises it.

use std::rc::Rc;
use std::time::Duration;

use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator as Communicates;

use super::MpiWorld;
use crate::auto::Trials;
use crate::library::{Family, Library};
use crate::mpi::ffi::{self, Communicator};
use crate::mpi::guard::{self, CallLimit, Watched};
use crate::mpi::watched_calls::{Call, watched};
use crate::mpi::world_state::{PANIC_EXIT_CODE, Running, WorldState};
use crate::{Backend, Chunk, CommError, Rank, RmaOptions, launch};

/// Initialises MPI with backend `p2p`, at the thread level that the library needs:
/// `MPI_THREAD_FUNNELED` (MPI-3.1 section 12.4.3), with Open MPI `MPI_THREAD_SINGLE`. Works under a
/// launcher and as a plain process, then with one rank. To be called once per process, on the main
/// thread.
///
/// From here on a panic prints its message and ends all ranks with exit code 1; a call that blocks
/// in the library for longer than `watchdog` is reported on the error stream and ends all ranks
/// with exit code 3.
///
/// # Errors
/// [`CommError::Setup`] if MPI was initialised already or does not support threads,
/// [`CommError::Mpi`] if a call fails.
pub fn start(watchdog: Duration) -> Result<MpiWorld, CommError> {
    let limit = CallLimit::new(watchdog);
    let ranks = launch::started_by_launcher().unwrap_or(1);
    let monitor = guard::start(Watched { rank: launch::rank().unwrap_or(0), ranks }, &limit);
    let needed = level_needed()?;
    let initialise = || mpi::initialize_with_threading(needed);
    let (universe, level) = watched(Call::MPI_Init_thread, None, initialise).ok_or_else(|| {
        CommError::Setup("MPI was initialised already in this process; use `start_with`".to_owned())
    })?;
    abort_on_panic();
    expect_level(level, needed)?;
    Communicator::return_errors(&universe)?;
    let world = universe.world();
    let running = Running::new(Some(universe), monitor);
    world_over(&world, running, limit, watchdog)
}

/// Does what [`start`] does in a program that has initialised MPI itself, for the ranks of one of
/// its communicators (an intracommunicator), which is duplicated. *Collective* over the
/// communicator.
///
/// ```no_run
/// use md_comm::World;
/// use md_comm::mpi::rsmpi::{self, Threading, traits::Communicator};
///
/// let (universe, _) = rsmpi::initialize_with_threading(Threading::Funneled).expect("the first to initialise MPI");
/// let node = universe.world().split_shared(0);
/// let world = md_comm::mpi::start_with(&node, std::time::Duration::from_secs(60))?;
/// println!("rank {} of {}", world.rank(), world.ranks());
/// # Ok::<(), md_comm::CommError>(())
/// ```
///
/// MPI remains under the control of the program: it is not finalised here, and no panic hook is
/// installed; only calls made for the world that block in the library end the job, as with
/// [`start`]. The program must drop the world and everything opened from it before it finalises
/// MPI, and ensure that a panic on one rank ends the others. [`World::abort`](crate::World::abort)
/// ends all processes of `MPI_COMM_WORLD`. Errors that the library reports outside of the
/// communicator, for instance about requests, go to the program's own error handler.
///
/// # Errors
/// [`CommError::Setup`] if MPI was initialised without thread support (`MPI_THREAD_FUNNELED` is
/// needed; none with Open MPI), [`CommError::Mpi`] if a call fails.
pub fn start_with(communicator: &impl Communicates, watchdog: Duration) -> Result<MpiWorld, CommError> {
    expect_level(mpi::environment::threading_support(), level_needed()?)?;
    let limit = CallLimit::new(watchdog);
    let process = Watched { rank: communicator.rank() as Rank, ranks: communicator.size() as usize };
    let running = Running::new(None, guard::start(process, &limit));
    world_over(communicator, running, limit, watchdog)
}

/// Returns the lowest thread level at which one thread of several may call the library. The
/// standard requires `MPI_THREAD_FUNNELED`. In Open MPI every level except `MPI_THREAD_SINGLE`
/// turns its locks and atomic operations on (`opal_set_using_threads`), which only calls from
/// several threads need: a message of 8 bytes then takes 0.1 microseconds more, and a stream of
/// them twice as long.
fn level_needed() -> Result<Threading, CommError> {
    let library = Library::from_text(&ffi::library_version()?);
    Ok(if library.family == Family::OpenMpi { Threading::Single } else { Threading::Funneled })
}

fn expect_level(level: Threading, needed: Threading) -> Result<(), CommError> {
    if level >= needed {
        return Ok(());
    }
    Err(CommError::Setup(
        "MPI was initialised without MPI_THREAD_FUNNELED, or does not support it".to_owned(),
    ))
}

fn world_over(
    communicator: &impl Communicates,
    running: Running,
    call_limit: CallLimit,
    watchdog: Duration,
) -> Result<MpiWorld, CommError> {
    let own = Communicator::duplicate_of(communicator)?;
    // For this rank alone: the library keeps no table over all ranks for it.
    let quiet = Communicator::duplicate_of(&SimpleCommunicator::self_comm())?;
    let state = WorldState::new(Rc::new(running), own, Rc::new(quiet), watchdog, Some(call_limit))?;
    let state = Rc::new(state);
    let (backend, between_nodes) = (Backend::P2p, Backend::P2p);
    let (options, chunk, trials) = (RmaOptions::default(), Chunk::default(), Trials::default());
    Ok(MpiWorld { state, backend, options, between_nodes, chunk, trials })
}

/// Ends all ranks of the run with this exit code, as [`World::abort`](crate::World::abort) does.
/// May be called from any thread, for instance from one that watches a call which does not return.
/// Returns only if MPI is not running.
pub fn abort(exit_code: i32) {
    ffi::abort_all(exit_code);
}

/// Installs a panic hook that calls the earlier hook, which prints the message, and ends all ranks:
/// unwinding into `MPI_Finalize` would hang.
fn abort_on_panic() {
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        earlier(panic);
        ffi::abort_all(PANIC_EXIT_CODE);
    }));
}
