//! What the world and its contexts share.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::running::Running;
use crate::mpi::adversity::Adversity;
use crate::mpi::ffi::{self, Communicator, Limit};
use crate::mpi::node::Node;
use crate::mpi::numbers::Numbers;
use crate::{CommError, Rank};

/// What the world and its contexts share.
pub(crate) struct Inner {
    pub(crate) rank: Rank,
    pub(crate) ranks: usize,
    /// Set again once the scenario is known, which is read through this very world.
    pub(super) watchdog: Cell<Duration>,
    /// Messages of exchanges.
    pub(crate) data: Communicator,
    /// Capacities and collectives; a duplicate, so that they never match a receive posted for an exchange.
    pub(crate) control: Communicator,
    /// Carries nothing, for [`Self::drive_progress`].
    pub(super) quiet: Communicator,
    pub(crate) numbers: RefCell<Numbers>,
    /// The ranks that share memory with this one, once somebody has asked.
    pub(crate) node: OnceCell<Node>,
    library: String,
    pub(crate) adversity: Cell<Adversity>,
    /// What moves the data of the window made last.
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
        [data, control, quiet]: [Communicator; 3],
        watchdog: Duration,
    ) -> Result<Self, CommError> {
        let (rank, ranks) = data.rank_and_ranks()?;
        let numbers = RefCell::new(Numbers::new(data.largest_tag()?));
        let library = ffi::library_version()?;
        let watchdog = Cell::new(watchdog);
        let node = OnceCell::new();
        let (adversity, component) = (Cell::default(), RefCell::new(None));
        Ok(Self {
            rank,
            ranks,
            watchdog,
            data,
            control,
            quiet,
            numbers,
            node,
            library,
            adversity,
            component,
            running,
        })
    }

    /// Lets the library move data.
    pub(crate) fn drive_progress(&self) -> Result<(), CommError> {
        self.quiet.drive_progress()
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
