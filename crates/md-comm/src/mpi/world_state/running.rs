//! The owner of the library while MPI runs.

use mpi::environment::Universe;

use crate::monitor::Monitor;
use crate::mpi::ffi;
use crate::mpi::watched_calls::{Call, watched};

/// Exit code of all ranks when one panics.
pub(in crate::mpi) const PANIC_EXIT_CODE: i32 = 1;

/// The library, and the watchdog of its calls.
pub(in crate::mpi) struct Running {
    /// Present if MPI was initialised here; `None` if the program has initialised it, and while
    /// dropping.
    universe: Option<Universe>,
    _monitor: Monitor,
}

impl Running {
    pub(in crate::mpi) fn new(universe: Option<Universe>, monitor: Monitor) -> Self {
        Self { universe, _monitor: monitor }
    }
}

impl Drop for Running {
    /// Finalises MPI (MPI-3.1 section 8.7), or aborts it if this rank is unwinding with the panic
    /// hook replaced.
    fn drop(&mut self) {
        let Some(universe) = self.universe.take() else { return };
        if std::thread::panicking() {
            ffi::abort_all(PANIC_EXIT_CODE);
        }
        watched(Call::MPI_Finalize, None, || drop(universe));
    }
}
