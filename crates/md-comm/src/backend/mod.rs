//! The list of transports. It is closed, so that a scenario can name one and a help text can show
//! all.
//!
//! Adding a backend takes one file with its `Transport`, a line in the tables of this file, and an
//! arm in `mpi/world/transports`; the compiler finds them.

mod properties;

#[cfg(feature = "mpi")]
use crate::CommError;
use crate::{BarrierCount, EpochOpening, RmaKey, RmaOptions};
pub(crate) use properties::Taken;
pub use properties::{Blocking, Communication, Purpose};
use properties::{ContextOrder, Properties};

/// A way to move messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Backend {
    /// Threads of one process.
    Local,
    /// Non-blocking two-sided MPI messages.
    P2p,
    /// Non-blocking two-sided MPI messages from persistent requests.
    P2pPersistent,
    /// One neighbourhood collective per exchange.
    NeighborCollective,
    /// Stores into a window in the node's shared memory.
    Shm,
    /// Puts between fences.
    RmaFence,
    /// Puts between post/start and complete/wait.
    RmaPscw,
    /// Puts under one long lock, announced by empty messages.
    RmaLock,
    /// Puts under a lock per exchange, announced by empty messages.
    RmaLockEpoch,
    /// Puts between global barriers.
    RmaBarrier,
    /// Puts announced by flags in memory.
    RmaNotify,
    /// Puts into a circular buffer, announced by flags.
    RmaRing,
    /// Shared memory inside a node, another backend between nodes.
    Hybrid,
    /// The fastest of the other backends.
    Auto,
}

named!(Backend);

const OF_THREADS: &str = "the ranks are threads that pass buffers: there is no window";
const TWO_SIDED: &str = "the backend is two-sided: there is no window";
const OF_COLLECTIVE: &str = "the library keeps the buffers of a collective: there is no window";
const COMPARED: &str = "the backends it chooses from are compared with their defaults";
const NO_GET_BETWEEN_POST_AND_WAIT: &str = "its epochs admit the senders of messages; a get would have to admit the \
    receivers, once more after the data are packed; `rma-fence` and `rma-lock` can get";
const NO_GET_AFTER_UNLOCK: &str = "its epoch has ended when the receiver is told, and a get needs an open one; \
    `rma-fence` and `rma-lock` can get";
pub(crate) const NO_GET_BEHIND_BARRIER: &str = "its barrier comes after the data have moved; a get needs one before; \
    `rma-fence` and `rma-lock` can get";
const NO_GET_BEHIND_FLAG: &str = "its flag says that data have arrived, and a get moves nothing to the receiver by \
    itself; `rma-fence` and `rma-lock` can get";

impl Default for Backend {
    /// Returns two-sided MPI in a build with MPI, otherwise threads.
    fn default() -> Self {
        if cfg!(feature = "mpi") { Self::P2p } else { Self::Local }
    }
}

/// ```
/// use md_comm::{Backend, Communication};
///
/// // The names are those of scenarios.
/// assert_eq!(Backend::from_name("rma-fence"), Some(Backend::RmaFence));
/// assert_eq!(Backend::RmaFence.communication(), Communication::OneSided);
/// // A fence is a collective call, so all ranks have to make theirs in the same order.
/// assert!(Backend::RmaFence.needs_same_order() && !Backend::P2p.needs_same_order());
/// // Threads need no library.
/// assert_eq!(Backend::Local.availability(), Ok(()));
/// ```
impl Backend {
    /// Returns one line for a help text.
    pub fn description(self) -> &'static str {
        match self {
            Self::Local => "threads of one process, no MPI; for tests and small runs",
            Self::P2p => "MPI_Isend/MPI_Irecv, receives posted ahead, unpacked as they arrive",
            Self::P2pPersistent => "as p2p, from requests made once (MPI_Send_init, MPI_Start)",
            Self::NeighborCollective => {
                "MPI_Ineighbor_alltoallv over a distributed graph, each neighbour once"
            }
            Self::Shm => "stores into a shared window and a flag; inside one node only",
            Self::RmaFence => {
                "MPI_Put between MPI_Win_fence: one fence per exchange with two buffers, else two"
            }
            Self::RmaPscw => "MPI_Put between post/start and complete/test, among neighbours",
            Self::RmaLock => "MPI_Put under one lock_all, flush, then an empty message (MONC)",
            Self::RmaLockEpoch => "MPI_Put in a lock_all/unlock_all per exchange, then an empty message",
            Self::RmaBarrier => "MPI_Put and flush between global barriers",
            Self::RmaNotify => "MPI_Put, flush, then a flag by MPI_Accumulate, which the receiver polls",
            Self::RmaRing => "MPI_Put into a circular buffer, flag as rma-notify",
            Self::Hybrid => "shm inside a node, between nodes what parallel.between_nodes says",
            Self::Auto => "times the others on the real exchange during the first steps, keeps the best",
        }
    }

    /// Returns the properties. Every backend has its line, so that a new one must decide all of
    /// them.
    fn properties(self) -> Properties {
        use Blocking::{InFlush, InSynchronisation};
        use Communication::{Collective, Composed, SharedMemory, Threads, TwoSided};
        use ContextOrder::{Any, Same};
        use RmaKey::{Barriers, Epoch, Notice, Polling, Ring};
        use Taken::{Buffers, Nothing, Stores, TheOthers};
        let (of, rma) = (Properties::new, Properties::one_sided);
        match self {
            Self::Local => of(Threads, Any, None, Buffers(OF_THREADS)),
            Self::P2p => of(TwoSided, Any, Some(0), Buffers(TWO_SIDED)),
            Self::P2pPersistent => of(TwoSided, Any, Some(1), Buffers(TWO_SIDED)),
            Self::NeighborCollective => of(Collective, Same, None, Nothing(OF_COLLECTIVE)),
            Self::Shm => of(SharedMemory, Any, Some(2), Stores),
            Self::RmaFence => rma(InSynchronisation, Same, None, None, &[Epoch]),
            Self::RmaPscw => {
                rma(InSynchronisation, Any, Some(6), Some(NO_GET_BETWEEN_POST_AND_WAIT), &[Epoch])
            }
            Self::RmaLock => rma(InFlush, Any, Some(3), None, &[Notice]),
            Self::RmaLockEpoch => rma(InFlush, Any, None, Some(NO_GET_AFTER_UNLOCK), &[Epoch, Notice])
                .control("what a lock and an unlock in every exchange cost beside rma-lock"),
            Self::RmaBarrier => rma(InFlush, Any, None, Some(NO_GET_BEHIND_BARRIER), &[Barriers])
                .control("what waiting for all ranks costs"),
            Self::RmaNotify => rma(InFlush, Any, Some(4), Some(NO_GET_BEHIND_FLAG), &[Polling]),
            Self::RmaRing => rma(InFlush, Any, Some(5), Some(NO_GET_BEHIND_FLAG), &[Ring]),
            Self::Hybrid => of(Composed, Any, Some(2), TheOthers),
            Self::Auto => of(Composed, Any, None, Buffers(COMPARED)),
        }
    }

    /// Returns how messages move from rank to rank.
    pub fn communication(self) -> Communication {
        self.properties().communication
    }

    /// Returns the backend's place in the order of preference of `auto`, the most trusted first:
    /// two-sided messages are what libraries test best; shared memory does not depend on the
    /// library; then one-sided schemes, those first that require least of the library. Returns
    /// `None` for a backend that is not tried.
    #[cfg(feature = "mpi")]
    pub(crate) fn preference(self) -> Option<usize> {
        self.properties().preference
    }

    /// Returns the options that the backend takes.
    pub(crate) fn takes(self) -> Taken {
        self.properties().takes
    }

    /// Returns whether the backend is meant for runs or is a control for experiments.
    pub fn purpose(self) -> Purpose {
        self.properties().purpose
    }

    /// Returns whether this build can use the backend. A context may still be refused when it is
    /// opened, for instance because an edge of `shm` leads to another node.
    ///
    /// # Errors
    /// Returns the reason, and what would help.
    pub fn availability(self) -> Result<(), String> {
        if self.communication() == Communication::Threads || cfg!(feature = "mpi") {
            return Ok(());
        }
        Err("this program was built without MPI; build it with `--features mpi`".to_owned())
    }

    #[cfg(feature = "mpi")]
    pub(crate) fn unavailable(self, reason: impl Into<String>) -> CommError {
        CommError::Unavailable { backend: self.name(), reason: reason.into() }
    }

    /// Returns whether all ranks must use their contexts in the same order: an exchange is a
    /// blocking collective, or advances only in calls of its own context. `hybrid` inherits this
    /// from the backend between its nodes.
    pub fn needs_same_order(self) -> bool {
        self.properties().order == ContextOrder::Same
    }

    /// Does what `needs_same_order` does for a backend with options, some of which require the same
    /// order although the backend alone does not.
    pub fn needs_same_order_with(self, options: &RmaOptions) -> bool {
        self.needs_same_order()
            || (self == Self::RmaPscw && options.epoch == EpochOpening::Initiate)
            || (self == Self::RmaBarrier && options.barriers == BarrierCount::PerMessage)
    }

    /// Returns where a steady exchange can stand still inside a call of the MPI library. `hybrid`
    /// inherits this from the backend between its nodes.
    pub fn blocking(self) -> Blocking {
        self.properties().blocking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_round_trip() {
        for &backend in Backend::ALL {
            assert_eq!(Backend::from_name(backend.name()), Some(backend));
        }
        assert_eq!(Backend::from_name("pigeon"), None);
    }

    #[test]
    fn all_but_local_need_the_mpi_feature() {
        for &backend in Backend::ALL {
            let expected = backend == Backend::Local || cfg!(feature = "mpi");
            assert_eq!(backend.availability().is_ok(), expected, "{backend:?}");
        }
    }
}
