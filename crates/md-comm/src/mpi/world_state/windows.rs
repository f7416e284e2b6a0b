//! Windows that all ranks have, or none.

use super::WorldState;
use crate::error::Refused;
use crate::library::{Family, Library};
use crate::mpi::ffi::{Communicator, Memory, Request, Window, free_shared_memory};
use crate::{CommError, Reduction};

impl WorldState {
    /// Checks that there is room on all ranks before the library is called. The library maps the
    /// parts of all ranks of a node; if that fails on one of them, the others never return from the
    /// call, and what was made in shared memory stays there. *Collective.*
    fn expect_room(&self, request: &Request) -> Result<(), CommError> {
        /// More than an allocator may have left over and give without a system call (32 MiB in
        /// glibc).
        const ASKS_THE_SYSTEM: usize = 33 << 20;
        let bytes = request.windows.saturating_mul(request.extent).saturating_mul(self.find_node()?.size());
        let has_memory = Vec::<u8>::new().try_reserve_exact(bytes.max(ASKS_THE_SYSTEM)).is_ok();
        let needed = if has_memory { 0 } else { bytes as u64 };
        let (shared, free) = self.missing_shared_memory(request.memory, bytes)?.unwrap_or((0, u64::MAX));
        // The most that is needed on any rank, and the least that is free.
        let words = vec![needed, shared as u64, u64::MAX - free];
        match self.communicator.reduce(words, Reduction::Highest, self.limit())?[..] {
            [] | [0, 0, ..] => Ok(()),
            [0, bytes, not_free, ..] => {
                Err(CommError::OutOfSharedMemory { bytes: bytes as usize, free: u64::MAX - not_free })
            }
            [bytes, ..] => Err(CommError::OutOfMemory { bytes: bytes as usize }),
        }
    }

    /// Returns needed and free bytes, if fewer are free than needed. Windows that the library
    /// allocates for several ranks of a node are in `/dev/shm`: those in shared memory and, with
    /// Open MPI, all windows, unless it is configured with another folder or component.
    fn missing_shared_memory(&self, memory: Memory, parts: usize) -> Result<Option<(usize, u64)>, CommError> {
        /// What the library needs for itself: a little for each rank, and Open MPI requires a
        /// twentieth to stay free.
        const PER_RANK: usize = 4096;
        let is_open_mpi = Library::from_text(&self.library).family == Family::OpenMpi;
        let elsewhere: &[&str] = match memory {
            Memory::Shared => &["OMPI_MCA_osc_sm_backing_directory"],
            Memory::Allocated if is_open_mpi => &["OMPI_MCA_osc_rdma_backing_directory", "OMPI_MCA_osc"],
            Memory::Allocated | Memory::Created | Memory::Attached => return Ok(None),
        };
        let ranks = self.find_node()?.size();
        let bytes = parts.saturating_add(ranks * PER_RANK).saturating_add(parts / 20);
        let free = free_shared_memory();
        let is_there = ranks > 1 && elsewhere.iter().all(|variable| std::env::var_os(variable).is_none());
        Ok((is_there && bytes as u64 > free).then_some((bytes, free)))
    }
}

/// Priorities of the ranks' failures, for their agreement on whose reason is reported.
const ANOTHER_FAILED: u64 = 1;

impl WorldState {
    /// Makes a window that all ranks have, or none. The library may refuse it on some ranks only,
    /// for instance if memory is short. A rank that then gave up alone would leave the others
    /// waiting in the next call, so all ranks agree right after the attempt.
    ///
    /// Makes the window over `on`, which may be a part of the ranks. If there is none, returns on
    /// all ranks the reason, in the words of the lowest rank to which the library has refused it.
    /// *Collective* over all ranks.
    ///
    /// # Errors
    /// Fails if ranks cannot be reached.
    pub(crate) fn make_window(
        &self,
        on: &Communicator,
        request: Request,
    ) -> Result<Result<Window, String>, CommError> {
        self.expect_room(&request)?;
        let mut made = Window::new(on, request);
        if self.adversity.get().refuses_window(self.rank, self.ranks) {
            made = Err(CommError::Mpi { call: "MPI_Win_allocate", message: "deliberate".to_owned() });
        }
        let weight = match made.as_ref().err().map(CommError::refused) {
            None => 0,
            Some(Some(Refused::Here)) => ANOTHER_FAILED + (self.ranks - self.rank) as u64,
            Some(Some(Refused::Elsewhere)) => ANOTHER_FAILED,
            Some(None | Some(Refused::Everywhere)) => return made.map(Ok),
        };
        let made = made.map_err(|error| error.to_string());
        let heaviest = self.highest(weight)?;
        if heaviest == 0 {
            return Ok(made);
        }
        // A window that only some ranks have made cannot be freed, because that is collective; it
        // is leaked.
        let mut reason = made.err().unwrap_or_default().into_bytes();
        let speaker = self.ranks - heaviest.saturating_sub(ANOTHER_FAILED).max(1) as usize;
        self.broadcast(speaker, &mut reason)?;
        let reason = Library::from_text(&self.library).explain(String::from_utf8_lossy(&reason).into_owned());
        Ok(Err(if speaker == 0 { reason } else { format!("on rank {speaker}: {reason}") }))
    }
}
