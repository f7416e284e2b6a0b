//! When accesses may happen and when they are over.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

use super::super::Group;
use super::{Window, check, constants};
use crate::CommError;

/// What a fence may assume. Implementations make a full barrier in every case; the promise only closes the last epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) enum After {
    /// Another epoch begins.
    Epoch,
    /// No puts follow before the next fence.
    Nothing,
}

impl Window {
    /// Ends the epoch of all ranks and begins the next one. *Collective; blocks.* MPI-3.1 section 11.5.1.
    pub(in crate::mpi) fn fence(&mut self, after: After) -> Result<(), CommError> {
        let assert = if after == After::Nothing { constants::mode_nosucceed() } else { 0 };
        // SAFETY: a valid window; all puts' memory obeys invariant 2.
        check("MPI_Win_fence", unsafe { ffi::MPI_Win_fence(assert, self.raw) })?;
        self.completed();
        Ok(())
    }

    /// Lets the group's ranks put. Does not block. MPI-3.1 section 11.5.2.
    pub(in crate::mpi) fn post(&mut self, to: &Group) -> Result<(), CommError> {
        // SAFETY: a valid window and group.
        check("MPI_Win_post", unsafe { ffi::MPI_Win_post(to.raw, 0, self.raw) })
    }

    /// Begins to put to the group's ranks; may block until they have posted. MPI-3.1 section 11.5.2.
    pub(in crate::mpi) fn start(&mut self, to: &Group) -> Result<(), CommError> {
        // SAFETY: a valid window and group.
        check("MPI_Win_start", unsafe { ffi::MPI_Win_start(to.raw, 0, self.raw) })
    }

    /// Ends what `start` began: the origins may be reused. MPI-3.1 section 11.5.2.
    pub(in crate::mpi) fn complete(&mut self) -> Result<(), CommError> {
        // SAFETY: a valid window; all puts' memory obeys invariant 2.
        check("MPI_Win_complete", unsafe { ffi::MPI_Win_complete(self.raw) })?;
        self.completed();
        Ok(())
    }

    /// Whether all ranks that `post` admitted have completed; ends the exposure if so. MPI-3.1 section 11.5.2.
    pub(in crate::mpi) fn test(&mut self) -> Result<bool, CommError> {
        let mut done: c_int = 0;
        // SAFETY: a valid window; one integer is written.
        check("MPI_Win_test", unsafe { ffi::MPI_Win_test(self.raw, &raw mut done) })?;
        Ok(done != 0)
    }

    /// Begins access to all ranks; nobody ever asks for an exclusive lock, hence NOCHECK. MPI-3.1 section 11.5.3.
    pub(in crate::mpi) fn lock_all(&mut self) -> Result<(), CommError> {
        // SAFETY: a valid window.
        check("MPI_Win_lock_all", unsafe { ffi::MPI_Win_lock_all(constants::mode_nocheck(), self.raw) })
    }

    /// Ends access to all ranks; everything has arrived. MPI-3.1 section 11.5.3.
    pub(in crate::mpi) fn unlock_all(&mut self) -> Result<(), CommError> {
        // SAFETY: a valid window; all accesses' memory obeys invariant 2.
        check("MPI_Win_unlock_all", unsafe { ffi::MPI_Win_unlock_all(self.raw) })?;
        self.completed();
        Ok(())
    }

    /// Everything has arrived at its target (`flush_local` would not say that). MPI-3.1 section 11.5.4.
    pub(in crate::mpi) fn flush_all(&mut self) -> Result<(), CommError> {
        // SAFETY: a valid window; all accesses' memory obeys invariant 2.
        check("MPI_Win_flush_all", unsafe { ffi::MPI_Win_flush_all(self.raw) })?;
        self.completed();
        Ok(())
    }

    /// Makes stores of others visible here and the other way round; only inside passive epochs. `MPI_Win_sync` is no
    /// processor fence in every library (osc/rdma only makes progress), hence the one beside it. MPI-3.1 section 11.5.4.
    pub(in crate::mpi) fn sync(&self) -> Result<(), CommError> {
        // SAFETY: a valid window.
        check("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(self.raw) })?;
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }

    fn completed(&mut self) {
        self.origin_busy.fill(false);
        self.word_busy.fill(false);
    }
}
