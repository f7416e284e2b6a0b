//! The world of an MPI run: start, end and abort.
//!
//! One owner ([`running::Running`]) holds rsmpi's `Universe`, whose drop calls `MPI_Finalize`; all
//! worlds and contexts share it, so that finalisation comes after the last of them. Finalising is
//! collective: a rank that fails must call [`World::abort`] before it drops its world; otherwise
//! the others wait for it until their watchdog ends the wait. A panic aborts by itself, through the
//! panic hook. A program that has initialised MPI itself ([`start_with`]) is responsible for all of
//! this.
//!
//! | file | has |
//! | --- | --- |
//! | `running` | starting, finalising, aborting |
//! | `inner` | what the world and its contexts share |

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::auto::{Auto, Trials};
use crate::backend::Communication;
use crate::ledger::Ledger;
#[cfg(feature = "conformance")]
use crate::mpi::adversity::Adversity;
use crate::mpi::collective::Collective;
use crate::mpi::ffi;
use crate::mpi::file::MpiFile;
use crate::mpi::hybrid::Hybrid;
use crate::mpi::letters::Letters;
use crate::mpi::p2p::{P2p, Requests};
#[cfg(feature = "conformance")]
use crate::mpi::rma::FlagFirst;
use crate::mpi::rma::{
    AllRanks, Barrier, Fence, Lock, MessageBarriers, NeighbourRanks, Notify, OneSided, Pscw, Ring, Scheme,
    SharedRing, Shm,
};
use crate::mpi::unpacked::Datatypes;
use crate::transport::Transport;
use crate::world::{from_ordered, ordered};
use crate::{
    Backend, BarrierCount, Buffering, Chunk, CommError, CrowdedCores, Exchange, ExchangeSpec, Mailbox,
    Notice, Polling, Rank, Reduction, RingForm, RmaOptions, SharedFile, Sizes, Unpacked, UnpackedSpec, World,
    auto,
};
pub(crate) use inner::Inner;
pub use running::{abort, start, start_with};

mod inner;
mod running;

/// This process as a rank of an MPI run.
#[derive(Debug, Clone)]
pub struct MpiWorld {
    inner: Rc<Inner>,
    backend: Backend,
    options: RmaOptions,
    /// Backend that moves messages between nodes, for `hybrid`.
    between_nodes: Backend,
    chunk: Chunk,
    trials: Trials,
}

impl MpiWorld {
    /// Sets another backend, at its default options, for the contexts opened from now on.
    ///
    /// # Errors
    /// [`CommError::Unavailable`] if the backend does not run over MPI.
    pub fn with_backend(self, backend: Backend) -> Result<Self, CommError> {
        if backend.communication() != Communication::Threads {
            return Ok(Self { backend, options: RmaOptions::default(), ..self });
        }
        Err(backend.unavailable("it runs threads of one process: start md-cli without mpirun and with `--set parallel.backend=local --set parallel.ranks=N`"))
    }

    /// Sets other options for the contexts opened from now on; with `hybrid`, for its backend
    /// between nodes.
    ///
    /// # Errors
    /// [`CommError::Unavailable`] if the backend does not take them ([`Backend::refuses`]).
    pub fn with_options(self, options: RmaOptions) -> Result<Self, CommError> {
        let backend = if self.backend == Backend::Hybrid { self.between_nodes } else { self.backend };
        match backend.refuses(&options, Buffering::default()) {
            Ok(()) => Ok(Self { options, ..self }),
            Err(reason) => Err(backend.unavailable(reason)),
        }
    }

    /// Sets bad circumstances for the contexts opened from now on.
    #[cfg(feature = "conformance")]
    pub fn under(self, adversity: Adversity) -> Self {
        self.inner.adversity.set(adversity);
        self
    }

    /// Sets another backend between the nodes of `hybrid` (default: `p2p`).
    ///
    /// # Errors
    /// [`CommError::Unavailable`] if the backend cannot move messages between nodes by itself.
    pub fn with_between_nodes(self, backend: Backend) -> Result<Self, CommError> {
        match backend.communication() {
            Communication::TwoSided | Communication::Collective | Communication::OneSided => {
                Ok(Self { between_nodes: backend, ..self })
            }
            Communication::Threads | Communication::SharedMemory | Communication::Composed => {
                Err(backend.unavailable("`hybrid` needs one backend over MPI between nodes, such as `p2p`"))
            }
        }
    }

    /// Sets other pieces of two-sided messages for the contexts opened from now on.
    pub fn with_chunk(self, chunk: Chunk) -> Self {
        Self { chunk, ..self }
    }

    /// Sets trials of another length for `auto`.
    pub fn with_trials(self, trials: Trials) -> Self {
        Self { trials, ..self }
    }

    pub(crate) fn between_nodes(&self) -> Backend {
        self.between_nodes
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Does what [`World::duplicate`] does, with this world's backend: the new world has a
    /// communicator of its own. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Mpi`] if a call fails.
    pub fn duplicate(&self) -> Result<Self, CommError> {
        let Inner { communicator, quiet, running, .. } = &*self.inner;
        let own = communicator.duplicate()?;
        let inner = Inner::new(Rc::clone(running), own, Rc::clone(quiet), self.inner.watchdog(), None)?;
        Ok(Self { inner: Rc::new(inner), ..self.clone() })
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
        self.inner.call_limit.iter().for_each(|calls| calls.set(limit));
    }

    fn duplicate(&self) -> Result<Box<dyn World + '_>, CommError> {
        Ok(Box::new(MpiWorld::duplicate(self)?))
    }

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        self.open_with(self.backend, spec)
    }

    /// Opens a two-sided context: with `p2p`, and with `auto`, which then has no choice.
    fn open_unpacked(&self, spec: UnpackedSpec) -> Result<Box<dyn Unpacked>, CommError> {
        if !matches!(self.backend, Backend::P2p | Backend::Auto) {
            return Err(self.backend.unavailable("messages as MPI datatypes go by `p2p` alone"));
        }
        Ok(Box::new(Datatypes::open(Rc::clone(&self.inner), spec)?))
    }

    fn mailbox(&self, name: &'static str) -> Result<Box<dyn Mailbox>, CommError> {
        Ok(Box::new(Letters::open(Rc::clone(&self.inner), name)?))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn SharedFile>> {
        Ok(Box::new(MpiFile::open(Rc::clone(&self.inner), path)?))
    }

    fn needs_same_order(&self) -> bool {
        let backend = if self.backend == Backend::Hybrid { self.between_nodes } else { self.backend };
        backend.needs_same_order_with(&self.options)
    }

    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.inner.communicator.gather_all(mine.to_vec(), self.inner.ranks, self.inner.limit())
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        self.inner.broadcast(root, bytes)
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.inner.gather(root, mine)
    }

    fn shift(&self, by: usize, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.inner.shift(by, mine)
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.inner.barrier()
    }

    /// Reduces without gathering, so that the cost hardly grows with the number of ranks.
    fn reduce(&self, words: &mut [u64], how: Reduction) -> Result<(), CommError> {
        if self.inner.ranks == 1 {
            return Ok(());
        }
        let reduced = self.inner.communicator.reduce(words.to_vec(), how, self.inner.limit())?;
        words.copy_from_slice(&reduced);
        Ok(())
    }

    fn start_max(&self, values: &[f64]) -> Result<(), CommError> {
        self.inner.start_highest(values.iter().copied().map(ordered).collect())
    }

    fn finish_max(&self, values: &mut [f64]) -> Result<(), CommError> {
        let highest = self.inner.finish_highest()?;
        values.iter_mut().zip(highest).for_each(|(value, word)| *value = from_ordered(word));
        Ok(())
    }

    fn abort(&self, exit_code: i32) {
        ffi::abort_all(exit_code);
    }

    fn library(&self) -> String {
        self.inner.library().to_owned()
    }

    fn crowded_cores(&self, threads: usize) -> Result<Option<CrowdedCores>, CommError> {
        self.inner.crowded_cores(threads)
    }

    fn rma_component(&self) -> Option<String> {
        self.inner.component.borrow().clone()
    }
}

impl MpiWorld {
    /// Opens a context with another backend than the world's own; the world's number of ranks does
    /// not change. *Collective.*
    ///
    /// # Errors
    /// Fails as [`World::open`](crate::World::open) does; also [`CommError::Unavailable`] if the
    /// backend cannot serve this context.
    pub fn open_with(&self, backend: Backend, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        let mut ledger = Ledger::new(self.inner.rank, self.inner.ranks, spec)?;
        let is_chosen = backend == Backend::Auto && ledger.spec().sizes == Sizes::Fixed;
        let opened = self.transport(backend, &mut ledger)?;
        let transport: Box<dyn Transport> =
            if is_chosen { Box::new(Auto::new(Box::new(self.clone()), self.trials, opened)) } else { opened };
        let world = self.clone();
        Ok(Exchange::new(ledger, transport, move |spec| world.open_with(backend, spec)))
    }

    /// Opens the transport of a context. *Collective.*
    pub(crate) fn transport(
        &self,
        backend: Backend,
        ledger: &mut Ledger,
    ) -> Result<Box<dyn Transport>, CommError> {
        let (world, options) = (Rc::clone(&self.inner), self.options);
        #[cfg(feature = "conformance")]
        let wrong = world.adversity.get() == Adversity::FlagFirst;
        Ok(match backend {
            // `with_backend` refuses `local`.
            Backend::P2p | Backend::Local => Box::new(P2p::open(world, ledger, Requests::Fresh, self.chunk)?),
            Backend::P2pPersistent => Box::new(P2p::open(world, ledger, Requests::Persistent, self.chunk)?),
            Backend::NeighborCollective => Box::new(Collective::open(world, ledger)?),
            #[cfg(feature = "conformance")]
            Backend::Shm if wrong => one_sided::<FlagFirst<Shm>>(world, ledger, options)?,
            Backend::Shm => one_sided::<Shm>(world, ledger, RmaOptions::default())?,
            Backend::RmaFence => one_sided::<Fence>(world, ledger, options)?,
            Backend::RmaPscw => one_sided::<Pscw>(world, ledger, options)?,
            Backend::RmaLock => locked::<true>(world, ledger, options)?,
            Backend::RmaLockEpoch => locked::<false>(world, ledger, options)?,
            Backend::RmaBarrier => match options.barriers {
                BarrierCount::PerExchange => one_sided::<Barrier<AllRanks>>(world, ledger, options)?,
                BarrierCount::PerMessage => one_sided::<MessageBarriers>(world, ledger, options)?,
            },
            #[cfg(feature = "conformance")]
            Backend::RmaNotify if wrong => one_sided::<FlagFirst<Notify<false>>>(world, ledger, options)?,
            Backend::RmaNotify => match options.polling {
                Polling::Fast => one_sided::<Notify<false>>(world, ledger, options)?,
                Polling::Strict => one_sided::<Notify<true>>(world, ledger, options)?,
            },
            Backend::RmaRing => match options.ring {
                RingForm::PerEdge => one_sided::<Ring>(world, ledger, options)?,
                RingForm::Shared => one_sided::<SharedRing>(world, ledger, options)?,
            },
            Backend::Hybrid => {
                let inside = |spec| self.open_with(Backend::Shm, spec);
                let between = |spec| self.open_with(self.between_nodes, spec);
                Box::new(Hybrid::open(world, ledger, inside, between)?)
            }
            Backend::Auto => self.transport(auto::PREFERRED, ledger)?,
        })
    }
}

fn locked<const HELD: bool>(
    world: Rc<Inner>,
    ledger: &mut Ledger,
    options: RmaOptions,
) -> Result<Box<dyn Transport>, CommError> {
    match options.notice {
        Notice::Message => one_sided::<Lock<HELD>>(world, ledger, options),
        Notice::NeighborBarrier => one_sided::<Barrier<NeighbourRanks<HELD>>>(world, ledger, options),
    }
}

fn one_sided<S: Scheme + 'static>(
    world: Rc<Inner>,
    ledger: &mut Ledger,
    options: RmaOptions,
) -> Result<Box<dyn Transport>, CommError> {
    Ok(Box::new(OneSided::<S>::open(world, ledger, options)?))
}
