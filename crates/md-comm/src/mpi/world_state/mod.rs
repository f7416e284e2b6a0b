//! The state shared by a world and its contexts.
//!
//! | file | has |
//! | --- | --- |
//! | `running` | the owner of the library: finalising |
//! | `windows` | windows that all ranks have, or none |

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::monitor::CallLimit;
use crate::mpi::adversity::Adversity;
use crate::mpi::ffi::{self, Communicator, Limit, Reducing};
use crate::mpi::node::Node;
use crate::mpi::numbers::Numbers;
use crate::{Backend, CommError, ExchangeSpec, Rank, Reduction};
pub(super) use running::{PANIC_EXIT_CODE, Running};

mod running;
mod windows;

/// The state shared by a world and its contexts.
pub(crate) struct WorldState {
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

impl std::fmt::Debug for WorldState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorldState")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}

impl WorldState {
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

    /// Returns the node, which is found at the first call. *Collective.*
    pub(super) fn find_node(&self) -> Result<&Node, CommError> {
        if let Some(node) = self.node.get() {
            return Ok(node);
        }
        let node = Node::find(&self.communicator, self.ranks, self.limit())?;
        Ok(self.node.get_or_init(|| node))
    }

    /// Refuses, on all ranks, a context with an edge that leads to another node. *Collective.*
    pub(super) fn expect_on_node(&self, spec: &ExchangeSpec) -> Result<(), CommError> {
        let node = self.find_node()?;
        let away = spec.edges.iter().map(|edge| edge.peer).find(|&peer| node.member(peer).is_none());
        if self.highest(away.is_some().into())? == 0 {
            return Ok(());
        }
        let example = away.map(|peer| format!(", such as from rank {} to {peer}", self.rank));
        let reason = format!(
            "context `{}` has edges between nodes{}; shared memory ends at the node",
            spec.name,
            example.unwrap_or_default()
        );
        Err(Backend::Shm.unavailable(reason))
    }
}
