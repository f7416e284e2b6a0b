//! Starting MPI, and its three ends: finalising, a call of [`abort`], a panic.

use std::rc::Rc;
use std::time::Duration;

use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator as Communicates;

use super::{Inner, MpiWorld};
use crate::auto::Trials;
use crate::monitor::Monitor;
use crate::mpi::ffi::{self, Communicator};
use crate::mpi::guard::{self, Call, CallLimit, Watched, watched};
use crate::{Backend, Chunk, CommError, Rank, RmaOptions, launch};

/// Exit code of all ranks when one panics.
const PANIC_EXIT_CODE: i32 = 1;

/// Initialises MPI (thread level `MPI_THREAD_FUNNELED`, MPI-3.1 section 12.4.3) with backend `p2p`. Works under a
/// launcher and as a plain process, then with one rank. To be called once per process, on the main thread.
///
/// From here on a panic prints its message and ends all ranks with exit code 1; a call that blocks in the library for longer
/// than `watchdog` is reported on the error stream and ends all ranks with exit code 3.
///
/// # Errors
/// [`CommError::Setup`] if MPI was initialised already or cannot be used from threads, [`CommError::Mpi`] if a call
/// fails.
pub fn start(watchdog: Duration) -> Result<MpiWorld, CommError> {
    let limit = CallLimit::new(watchdog);
    let ranks = launch::started_by_launcher().unwrap_or(1);
    let monitor = guard::start(Watched { rank: launch::rank().unwrap_or(0), ranks }, &limit);
    let initialise = || mpi::initialize_with_threading(Threading::Funneled);
    let (universe, level) = watched(Call::MPI_Init_thread, None, initialise).ok_or_else(|| {
        CommError::Setup("MPI was initialised already in this process; use `start_with`".to_owned())
    })?;
    abort_on_panic();
    expect_funneled(level)?;
    Communicator::return_errors(&universe)?;
    let world = universe.world();
    let running = Running { universe: Some(universe), _monitor: monitor };
    world_over(&world, running, limit, watchdog)
}

/// The same in a program that has initialised MPI itself, for the ranks of one of its communicators (an
/// intracommunicator), which is duplicated. *Collective* over the communicator.
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
/// MPI stays the program's own: it is not finalised here, and no panic hook is installed; only calls made for the world that block
/// in the library end the job, as with [`start`]. The program must drop the world
/// and everything opened from it before it finalises MPI, and see to it that a panic on one rank ends the others.
/// [`World::abort`](crate::World::abort) ends all processes of `MPI_COMM_WORLD`. What the library reports outside of the
/// communicator, for instance about requests, goes to the program's own error handler.
///
/// # Errors
/// [`CommError::Setup`] if MPI was initialised without thread support (`MPI_THREAD_FUNNELED` is needed),
/// [`CommError::Mpi`] if a call fails.
pub fn start_with(communicator: &impl Communicates, watchdog: Duration) -> Result<MpiWorld, CommError> {
    expect_funneled(mpi::environment::threading_support())?;
    let limit = CallLimit::new(watchdog);
    let process = Watched { rank: communicator.rank() as Rank, ranks: communicator.size() as usize };
    let running = Running { universe: None, _monitor: guard::start(process, &limit) };
    world_over(communicator, running, limit, watchdog)
}

fn expect_funneled(level: Threading) -> Result<(), CommError> {
    if level >= Threading::Funneled {
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
    // Of this rank alone: the library keeps no table over all ranks for it.
    let quiet = Communicator::duplicate_of(&SimpleCommunicator::self_comm())?;
    let inner = Inner::new(Rc::new(running), own, Rc::new(quiet), watchdog, Some(call_limit))?;
    let inner = Rc::new(inner);
    let (backend, between_nodes) = (Backend::P2p, Backend::P2p);
    let (options, chunk, trials) = (RmaOptions::default(), Chunk::default(), Trials::default());
    Ok(MpiWorld { inner, backend, options, between_nodes, chunk, trials })
}

/// Ends all ranks of the run with this exit code, as [`World::abort`](crate::World::abort) does. May be called from any thread, for instance
/// one that watches over a call which does not return. Returns only if MPI is not running.
pub fn abort(exit_code: i32) {
    ffi::abort_all(exit_code);
}

/// Keeps the earlier hook, which prints the message, and ends all ranks: unwinding into `MPI_Finalize` would hang.
fn abort_on_panic() {
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        earlier(panic);
        ffi::abort_all(PANIC_EXIT_CODE);
    }));
}

/// The library, and the watchdog of its calls.
pub(super) struct Running {
    /// If it was initialised here; `None` if the program has done so, and while dropping.
    universe: Option<Universe>,
    _monitor: Monitor,
}

impl Drop for Running {
    /// Finalises MPI (MPI-3.1 section 8.7), or aborts it if this rank is unwinding with the panic hook replaced.
    fn drop(&mut self) {
        let Some(universe) = self.universe.take() else { return };
        if std::thread::panicking() {
            ffi::abort_all(PANIC_EXIT_CODE);
        }
        watched(Call::MPI_Finalize, None, || drop(universe));
    }
}
