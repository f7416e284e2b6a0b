//! The state shared by the world and its contexts.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::error::Refused;
use crate::library::{Family, Library};
use crate::mpi::adversity::Adversity;
use crate::mpi::ffi::{self, Communicator, Limit, Memory, Reducing, Request, Window, free_shared_memory};
use crate::mpi::guard::CallLimit;
use crate::mpi::node::Node;
use crate::mpi::numbers::Numbers;
use crate::mpi::world::running::Running;
use crate::{CommError, Rank, Reduction};

/// The state shared by the world and its contexts.
pub(crate) struct Inner {
    pub(crate) rank: Rank,
    pub(crate) ranks: usize,
    /// Set again once the scenario has been read, which is read through this world.
    pub(super) watchdog: Cell<Duration>,
    /// Follows the watchdog of the world that was started first, not those of its duplicates: a
    /// blocking call ends the job, but a wait in a duplicate may be abandoned.
    pub(super) call_limit: Option<CallLimit>,
    /// Used for everything except the communicators that contexts need of their own: tags
    /// distinguish messages of exchanges from those of negotiations and gathers.
    pub(crate) communicator: Communicator,
    /// Carries no messages, for [`Self::drive_progress`]; one for a world and its duplicates.
    pub(super) quiet: Rc<Communicator>,
    pub(crate) numbers: RefCell<Numbers>,
    /// The ranks that share memory with this one, once it has been determined.
    pub(crate) node: OnceCell<Node>,
    library: String,
    pub(crate) adversity: Cell<Adversity>,
    /// The maximum that has been started.
    reducing: RefCell<Option<Reducing>>,
    /// The component that moves the data of the window made last.
    pub(crate) component: RefCell<Option<String>>,
    pub(super) running: Rc<Running>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

impl Inner {
    pub(super) fn new(
        running: Rc<Running>,
        communicator: Communicator,
        quiet: Rc<Communicator>,
        watchdog: Duration,
        call_limit: Option<CallLimit>,
    ) -> Result<Self, CommError> {
        let (rank, ranks) = communicator.rank_and_ranks()?;
        let numbers = RefCell::new(Numbers::new(communicator.largest_tag()?));
        Ok(Self {
            rank,
            ranks,
            watchdog: Cell::new(watchdog),
            call_limit,
            communicator,
            quiet,
            numbers,
            node: OnceCell::new(),
            library: ffi::library_version()?,
            adversity: Cell::default(),
            reducing: RefCell::default(),
            component: RefCell::default(),
            running,
        })
    }

    /// Lets the library move data.
    pub(crate) fn drive_progress(&self) -> Result<(), CommError> {
        self.quiet.drive_progress()
    }

    /// Returns the largest number of all ranks. *Collective.*
    pub(crate) fn highest(&self, number: u64) -> Result<u64, CommError> {
        Ok(self.communicator.reduce(vec![number], Reduction::Highest, self.limit())?[0])
    }

    /// Implements [`World::start_max`](crate::World::start_max).
    pub(super) fn start_highest(&self, words: Vec<u64>) -> Result<(), CommError> {
        let mut reducing = self.reducing.borrow_mut();
        if reducing.is_some() {
            let what = "a maximum is begun while another is under way".to_owned();
            return Err(CommError::Misuse { context: "world", what });
        }
        *reducing = Some(self.communicator.start_reduce(words, Reduction::Highest)?);
        Ok(())
    }

    /// Implements [`World::finish_max`](crate::World::finish_max).
    pub(super) fn finish_highest(&self) -> Result<Vec<u64>, CommError> {
        let what = || "a maximum is finished that was not begun".to_owned();
        let begun =
            self.reducing.take().ok_or_else(|| CommError::Misuse { context: "world", what: what() })?;
        begun.finish(self.limit())
    }

    /// Waits for all ranks. *Collective.*
    pub(crate) fn barrier(&self) -> Result<(), CommError> {
        self.communicator.barrier(self.limit())
    }

    pub(crate) fn limit(&self) -> Limit {
        Limit { watchdog: self.watchdog(), rank: self.rank }
    }

    pub(crate) fn watchdog(&self) -> Duration {
        self.watchdog.get()
    }

    pub(crate) fn library(&self) -> &str {
        &self.library
    }
}

impl Inner {
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

impl Inner {
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
