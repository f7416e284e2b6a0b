//! The world of an MPI run: starting, ending and aborting it.
//!
//! One owner ([`Running`]) holds rsmpi's `Universe`, whose drop calls `MPI_Finalize`; all worlds and contexts share
//! it, so that finalisation comes after the last of them. Finalising is collective: a rank that fails must call
//! [`World::abort`] before it drops its world, or the others wait for it until their watchdog bites. A panic does so by
//! itself, through the panic hook.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use mpi::Threading;
use mpi::environment::Universe;

use super::adversity::Adversity;
use super::collective::Collective;
use super::ffi::{self, Communicator, Limit};
use super::hybrid::Hybrid;
use super::node::Node;
use super::numbers::Numbers;
use super::p2p::{P2p, Requests};
use super::rma::{Barrier, Fence, FlagFirst, Lock, Notify, OneSided, Pscw, Ring, SharedRing, Shm};
use crate::auto::{self, Trials};
use crate::{Backend, CommError, Exchange, ExchangeSpec, Polling, Rank, RingForm, RmaOptions, Slots, World};

/// Exit code of all ranks when one panics.
const PANIC_EXIT_CODE: i32 = 1;

/// This process as a rank of an MPI run.
#[derive(Debug, Clone)]
pub struct MpiWorld {
    inner: Rc<Inner>,
    backend: Backend,
    options: RmaOptions,
    /// For `hybrid`: moves messages between nodes.
    between_nodes: Backend,
    trials: Trials,
}

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

/// Ends all ranks of the run with this exit code, as [`World::abort`] does. May be called from any thread, for instance
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

/// What the world and its contexts share.
pub(super) struct Inner {
    pub(super) rank: Rank,
    pub(super) ranks: usize,
    /// Set again once the scenario is known, which is read through this very world.
    watchdog: Cell<Duration>,
    /// Messages of exchanges.
    pub(super) data: Communicator,
    /// Capacities and collectives; apart, so that they never match a receive posted for an exchange.
    pub(super) control: Communicator,
    /// Carries nothing, for [`Self::poke`].
    quiet: Communicator,
    pub(super) numbers: RefCell<Numbers>,
    /// The ranks that share memory with this one, once somebody has asked.
    pub(super) node: OnceCell<Node>,
    library: String,
    pub(super) adversity: Cell<Adversity>,
    /// What moves the data of the window made last.
    pub(super) component: RefCell<Option<String>>,
    running: Rc<Running>,
}

/// The initialised library. `None` only while dropping.
struct Running(Option<Universe>);

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

impl Inner {
    fn new(
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
    pub(super) fn poke(&self) -> Result<(), CommError> {
        self.quiet.poke()
    }

    pub(super) fn limit(&self) -> Limit {
        Limit { watchdog: self.watchdog(), rank: self.rank }
    }

    pub(super) fn watchdog(&self) -> Duration {
        self.watchdog.get()
    }

    pub(super) fn library(&self) -> &str {
        &self.library
    }
}

impl MpiWorld {
    /// The same world with another backend, at its default options, for the contexts opened from now on.
    ///
    /// # Errors
    /// [`CommError::Unavailable`] if the backend does not run over MPI.
    pub fn with_backend(self, backend: Backend) -> Result<Self, CommError> {
        match backend {
            Backend::Local => {
                let reason = "it runs threads of one process; start it without the MPI launcher".to_owned();
                Err(CommError::Unavailable { backend: backend.name(), reason })
            }
            _ => Ok(Self { backend, options: RmaOptions::default(), ..self }),
        }
    }

    /// The same world with other options for the contexts opened from now on; of `hybrid`, for its backend between
    /// nodes.
    ///
    /// # Errors
    /// [`CommError::Unavailable`] if the backend does not take them ([`Backend::refuses`]).
    pub fn with_options(self, options: RmaOptions) -> Result<Self, CommError> {
        let backend = if self.backend == Backend::Hybrid { self.between_nodes } else { self.backend };
        match backend.refuses(&options, Slots::default()) {
            Ok(()) => Ok(Self { options, ..self }),
            Err(reason) => Err(CommError::Unavailable { backend: backend.name(), reason }),
        }
    }

    /// The same world under bad circumstances, for the contexts opened from now on. For tests.
    pub fn under(self, adversity: Adversity) -> Self {
        self.inner.adversity.set(adversity);
        self
    }

    /// The same world with another backend between the nodes of `hybrid` (default: `p2p`).
    ///
    /// # Errors
    /// [`CommError::Unavailable`] if the backend cannot move messages between nodes by itself.
    pub fn with_between_nodes(self, backend: Backend) -> Result<Self, CommError> {
        match backend {
            Backend::Local | Backend::Shm | Backend::Hybrid | Backend::Auto => {
                let reason = "`hybrid` needs one backend over MPI between nodes, such as `p2p`".to_owned();
                Err(CommError::Unavailable { backend: backend.name(), reason })
            }
            _ => Ok(Self { between_nodes: backend, ..self }),
        }
    }

    /// The same world with trials of another length for `auto`.
    pub fn with_trials(self, trials: Trials) -> Self {
        Self { trials, ..self }
    }

    pub(super) fn between_nodes(&self) -> Backend {
        self.between_nodes
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// [`World::apart`] with this world's backend: a world with communicators of its own. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Mpi`] if a call fails.
    pub fn double(&self) -> Result<Self, CommError> {
        let Inner { data, control, quiet, running, .. } = &*self.inner;
        let own = [data.duplicate()?, control.duplicate()?, quiet.duplicate()?];
        let inner = Inner::new(Rc::clone(running), own, self.inner.watchdog())?;
        Ok(Self { inner: Rc::new(inner), ..self.clone() })
    }

    /// Opens a context with another backend than the world's own; the world's number of ranks stays what it is.
    /// *Collective.*
    ///
    /// # Errors
    /// As [`World::open`], and [`CommError::Unavailable`] if the backend cannot serve this context.
    pub fn open_with(&self, backend: Backend, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError> {
        let (world, options) = (Rc::clone(&self.inner), self.options);
        let wrong = world.adversity.get() == Adversity::FlagFirst;
        Ok(match backend {
            // `with_backend` does not let it in.
            Backend::P2p | Backend::Local => Box::new(P2p::open(world, spec, Requests::Fresh)?),
            Backend::P2pPersistent => Box::new(P2p::open(world, spec, Requests::Persistent)?),
            Backend::NeighborCollective => Box::new(Collective::open(world, spec)?),
            Backend::Shm if wrong => Box::new(OneSided::<FlagFirst<Shm>>::open(world, spec, options)?),
            Backend::Shm => Box::new(OneSided::<Shm>::open(world, spec, RmaOptions::default())?),
            Backend::RmaFence => Box::new(OneSided::<Fence>::open(world, spec, options)?),
            Backend::RmaPscw => Box::new(OneSided::<Pscw>::open(world, spec, options)?),
            Backend::RmaLock => Box::new(OneSided::<Lock<true>>::open(world, spec, options)?),
            Backend::RmaLockEpoch => Box::new(OneSided::<Lock<false>>::open(world, spec, options)?),
            Backend::RmaBarrier => Box::new(OneSided::<Barrier>::open(world, spec, options)?),
            Backend::RmaNotify if wrong => {
                Box::new(OneSided::<FlagFirst<Notify<false>>>::open(world, spec, options)?)
            }
            Backend::RmaNotify if options.polling == Polling::Strict => {
                Box::new(OneSided::<Notify<true>>::open(world, spec, options)?)
            }
            Backend::RmaNotify => Box::new(OneSided::<Notify<false>>::open(world, spec, options)?),
            Backend::RmaRing if options.ring == RingForm::Shared => {
                Box::new(OneSided::<SharedRing>::open(world, spec, options)?)
            }
            Backend::RmaRing => Box::new(OneSided::<Ring>::open(world, spec, options)?),
            Backend::Hybrid => {
                let inside = |spec| self.open_with(Backend::Shm, spec);
                let between = |spec| self.open_with(self.between_nodes, spec);
                Box::new(Hybrid::open(world, spec, inside, between)?)
            }
            Backend::Auto => auto::open(self, self.trials, spec)?,
        })
    }
}

impl World for MpiWorld {
    fn rank(&self) -> Rank {
        self.inner.rank
    }

    fn ranks(&self) -> usize {
        self.inner.ranks
    }

    fn set_watchdog(&self, limit: Duration) {
        self.inner.watchdog.set(limit);
    }

    fn apart(&self) -> Result<Box<dyn World + '_>, CommError> {
        Ok(Box::new(self.double()?))
    }

    fn open(&self, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError> {
        self.open_with(self.backend, spec)
    }

    fn needs_same_order(&self) -> bool {
        let backend = if self.backend == Backend::Hybrid { self.between_nodes } else { self.backend };
        backend.needs_same_order()
    }

    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.inner.control.gather_all(mine.to_vec(), self.inner.ranks, self.inner.limit())
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        self.inner.broadcast(root, bytes)
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.inner.gather(root, mine)
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.inner.control.barrier(self.inner.limit())
    }

    fn abort(&self, exit_code: i32) {
        ffi::abort_all(exit_code);
    }

    fn library(&self) -> String {
        self.inner.library.clone()
    }

    fn rma_component(&self) -> Option<String> {
        self.inner.component.borrow().clone()
    }
}

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
