//! The world of an MPI run: start, end and abort.
//!
//! One owner ([`Running`](super::world_state::Running)) holds rsmpi's `Universe`, whose drop calls
//! `MPI_Finalize`; all worlds and contexts share it, so that finalisation comes after the last of
//! them. Finalising is collective: a rank that fails must call [`World::abort`] before it drops its
//! world; otherwise the others wait for it until their watchdog ends the wait. A panic aborts by
//! itself, through the panic hook. A program that has initialised MPI itself ([`start_with`]) is
//! responsible for all of this.
//!
//! | file | has |
//! | --- | --- |
//! | `start` | starting, aborting |
//! | `transports` | the transport of each backend |

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::auto::Trials;
use crate::backend::Communication;
#[cfg(feature = "conformance")]
use crate::mpi::adversity::Adversity;
use crate::mpi::ffi;
use crate::mpi::file::MpiFile;
use crate::mpi::unexpected::Unexpected;
use crate::mpi::unpacked::Datatypes;
use crate::mpi::world_state::WorldState;
use crate::world::{from_ordered, ordered};
use crate::{
    Backend, Buffering, Chunk, CommError, CrowdedCores, Exchange, ExchangeSpec, Platform, Rank, Reduction,
    RmaOptions, SharedFile, UnexpectedMessages, Unpacked, UnpackedSpec, World,
};
pub use start::{abort, start, start_with};

mod start;
mod transports;

/// This process as a rank of an MPI run.
#[derive(Debug, Clone)]
pub struct MpiWorld {
    state: Rc<WorldState>,
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
        self.state.adversity.set(adversity);
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

    pub(crate) fn state(&self) -> &WorldState {
        &self.state
    }

    /// Does what [`World::duplicate`] does, with this world's backend: the new world has a
    /// communicator of its own. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Mpi`] if a call fails.
    pub fn duplicate(&self) -> Result<Self, CommError> {
        let WorldState { communicator, quiet, running, .. } = &*self.state;
        let own = communicator.duplicate()?;
        let state = WorldState::new(Rc::clone(running), own, Rc::clone(quiet), self.state.watchdog(), None)?;
        Ok(Self { state: Rc::new(state), ..self.clone() })
    }
}

impl World for MpiWorld {
    fn rank(&self) -> Rank {
        self.state.rank
    }

    fn ranks(&self) -> usize {
        self.state.ranks
    }

    fn set_watchdog(&self, limit: Duration) {
        self.state.watchdog.set(limit);
        self.state.call_limit.iter().for_each(|calls| calls.set(limit));
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
        Ok(Box::new(Datatypes::open(Rc::clone(&self.state), spec)?))
    }

    fn open_unexpected(&self, name: &'static str) -> Result<Box<dyn UnexpectedMessages>, CommError> {
        Ok(Box::new(Unexpected::open(Rc::clone(&self.state), name)?))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn SharedFile>> {
        Ok(Box::new(MpiFile::open(Rc::clone(&self.state), path)?))
    }

    fn needs_same_order(&self) -> bool {
        let backend = if self.backend == Backend::Hybrid { self.between_nodes } else { self.backend };
        backend.needs_same_order_with(&self.options)
    }

    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.state.communicator.gather_all(mine.to_vec(), self.state.ranks, self.state.limit())
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        self.state.broadcast(root, bytes)
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.state.gather(root, mine)
    }

    fn shift(&self, by: usize, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.state.shift(by, mine)
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.state.barrier()
    }

    /// Reduces without gathering, so that the cost hardly grows with the number of ranks.
    fn reduce(&self, words: &mut [u64], how: Reduction) -> Result<(), CommError> {
        if self.state.ranks == 1 {
            return Ok(());
        }
        let reduced = self.state.communicator.reduce(words.to_vec(), how, self.state.limit())?;
        words.copy_from_slice(&reduced);
        Ok(())
    }

    fn start_max(&self, values: &[f64]) -> Result<(), CommError> {
        self.state.start_highest(values.iter().copied().map(ordered).collect())
    }

    fn finish_max(&self, values: &mut [f64]) -> Result<(), CommError> {
        let highest = self.state.finish_highest()?;
        values.iter_mut().zip(highest).for_each(|(value, word)| *value = from_ordered(word));
        Ok(())
    }

    fn abort(&self, exit_code: i32) {
        ffi::abort_all(exit_code);
    }

    fn platform(&self) -> &dyn Platform {
        self
    }
}

impl Platform for MpiWorld {
    fn library(&self) -> String {
        self.state.library().to_owned()
    }

    fn crowded_cores(&self, threads: usize) -> Result<Option<CrowdedCores>, CommError> {
        self.state.crowded_cores(threads)
    }

    fn rma_component(&self) -> Option<String> {
        self.state.component.borrow().clone()
    }
}
