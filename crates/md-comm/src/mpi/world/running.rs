//! Starting MPI, and its three ends: finalising, a call of [`abort`], a panic.

use std::rc::Rc;
use std::time::Duration;

use mpi::Threading;
use mpi::environment::Universe;

use super::{Inner, MpiWorld};
use crate::auto::Trials;
use crate::mpi::ffi::{self, Communicator};
use crate::{Backend, CommError, RmaOptions};

/// Exit code of all ranks when one panics.
const PANIC_EXIT_CODE: i32 = 1;

/// Initialises MPI (thread level `MPI_THREAD_FUNNELED`, MPI-3.1 section 12.4.3) with backend `p2p`. Works under a
/// launcher and as a plain process, then with one rank. To be called once per process, on the main thread.
///
/// From here on a panic prints its message and ends all ranks with exit code 1.
///
/// # Errors
/// [`CommError::Setup`] if MPI was initialised already or cannot be used from threads, [`CommError::Mpi`] if a call
/// fails.
pub fn start(watchdog: Duration) -> Result<MpiWorld, CommError> {
    let setup = |what: &str| CommError::Setup(what.to_owned());
    let (universe, level) = mpi::initialize_with_threading(Threading::Funneled)
        .ok_or_else(|| setup("MPI was initialised already in this process"))?;
    abort_on_panic();
    if level < Threading::Funneled {
        return Err(setup("the MPI library does not support MPI_THREAD_FUNNELED"));
    }
    let [data, control, quiet] = [(); 3].map(|()| Communicator::duplicate_world(&universe));
    let running = Rc::new(Running(Some(universe)));
    let inner = Rc::new(Inner::new(running, [data?, control?, quiet?], watchdog)?);
    let (backend, between_nodes) = (Backend::P2p, Backend::P2p);
    Ok(MpiWorld { inner, backend, options: RmaOptions::default(), between_nodes, trials: Trials::default() })
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

/// The initialised library. `None` only while dropping.
pub(super) struct Running(Option<Universe>);

impl Drop for Running {
    /// Finalises MPI (MPI-3.1 section 8.7), or aborts it if this rank is unwinding with the panic hook replaced.
    fn drop(&mut self) {
        if std::thread::panicking() {
            ffi::abort_all(PANIC_EXIT_CODE);
        } else {
            drop(self.0.take());
        }
    }
}
