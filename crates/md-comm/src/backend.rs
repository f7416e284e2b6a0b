//! The list of transports. It is closed, so that a scenario can name one and a help text can show
//! all.
//!
//! Adding a backend takes one file with its `Transport` and a line in the tables of this file, of
//! `refusal` and of `mpi/candidates`; the compiler finds them.

#[cfg(feature = "mpi")]
use crate::CommError;
use crate::{BarrierCount, EpochOpening, RmaOptions};

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

/// Where an exchange can stand still inside the MPI library. Only the end of the job helps then;
/// the watchdog of calls ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::VariantArray)]
pub enum Blocking {
    /// Nowhere: all waiting is in loops of this crate.
    Never,
    /// In flushes and unlocks, which wait for the library to move data. A standstill is a defect of
    /// the library or of the network.
    InFlush,
    /// In fences, and in start and complete, which also wait for other ranks to arrive.
    InSynchronisation,
}

impl Blocking {
    /// All values, the safest first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// Purpose of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Production runs.
    Production,
    /// Experiments: the backend is known to be slower and shows the cost of something.
    Control {
        /// The cost that it shows.
        shows: &'static str,
    },
}

/// How messages move from rank to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Communication {
    /// Between threads of one process.
    Threads,
    /// Point-to-point, MPI-3.1 chapter 3.
    TwoSided,
    /// Collective, MPI-3.1 chapter 7.
    Collective,
    /// By loads and stores.
    SharedMemory,
    /// By access to windows, MPI-3.1 chapter 11.
    OneSided,
    /// By other backends.
    Composed,
}

/// Order in which the ranks may use their contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContextOrder {
    /// Each rank in an order of its own.
    Any,
    /// All ranks in the same order: an exchange is a blocking collective, or advances only in calls
    /// of its own context.
    Same,
}

/// The properties in which backends differ, apart from their protocols.
struct Properties {
    communication: Communication,
    blocking: Blocking,
    order: ContextOrder,
    purpose: Purpose,
}

named!(Backend);

impl Default for Backend {
    /// Returns two-sided MPI in a build with MPI, otherwise threads.
    fn default() -> Self {
        if cfg!(feature = "mpi") { Self::P2p } else { Self::Local }
    }
}

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
        use Blocking::{InFlush, InSynchronisation, Never};
        use Communication::{Collective, Composed, OneSided, SharedMemory, Threads, TwoSided};
        use ContextOrder::{Any, Same};
        use Purpose::{Control, Production};
        let has =
            |communication, blocking, order, purpose| Properties { communication, blocking, order, purpose };
        match self {
            Self::Local => has(Threads, Never, Any, Production),
            Self::P2p | Self::P2pPersistent => has(TwoSided, Never, Any, Production),
            Self::NeighborCollective => has(Collective, Never, Same, Production),
            Self::Shm => has(SharedMemory, Never, Any, Production),
            Self::RmaFence => has(OneSided, InSynchronisation, Same, Production),
            Self::RmaPscw => has(OneSided, InSynchronisation, Any, Production),
            Self::RmaLock | Self::RmaNotify | Self::RmaRing => has(OneSided, InFlush, Any, Production),
            Self::RmaLockEpoch => {
                let shows = "what a lock and an unlock in every exchange cost beside rma-lock";
                has(OneSided, InFlush, Any, Control { shows })
            }
            Self::RmaBarrier => {
                has(OneSided, InFlush, Any, Control { shows: "what waiting for all ranks costs" })
            }
            Self::Hybrid | Self::Auto => has(Composed, Never, Any, Production),
        }
    }

    pub(crate) fn communication(self) -> Communication {
        self.properties().communication
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
