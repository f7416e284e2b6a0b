//! The properties in which backends differ, apart from their protocols.

use crate::RmaKey;

/// Where an exchange can stand still inside the MPI library. Only the end of the job helps then;
/// the watchdog of calls ends it.
///
/// ```
/// use md_comm::{Backend, Blocking};
///
/// // A fence waits for other ranks, a flush for the library. Non-blocking messages do neither.
/// assert_eq!(Backend::RmaFence.blocking(), Blocking::InSynchronisation);
/// assert_eq!(Backend::RmaLock.blocking(), Blocking::InFlush);
/// assert_eq!(Backend::P2p.blocking(), Blocking::Never);
/// ```
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
///
/// ```
/// use md_comm::{Backend, Purpose};
///
/// assert_eq!(Backend::P2p.purpose(), Purpose::Production);
/// // Global barriers are slower than what the ranks need: the backend shows by how much.
/// assert!(matches!(Backend::RmaBarrier.purpose(), Purpose::Control { .. }));
/// ```
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
///
/// ```
/// use md_comm::{Backend, Communication};
///
/// let two_sided = |backend: &Backend| backend.communication() == Communication::TwoSided;
/// let names: Vec<_> = Backend::ALL.iter().copied().filter(two_sided).map(Backend::name).collect();
/// assert_eq!(names, ["p2p", "p2p-persistent"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Communication {
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
pub(super) enum ContextOrder {
    /// Each rank in an order of its own.
    Any,
    /// All ranks in the same order: an exchange is a blocking collective, or advances only in calls
    /// of its own context.
    Same,
}

/// The options that a backend takes. Reasons for refusing the others are in the refusal table, and
/// here where they are of one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Those of the backend between nodes, which is checked itself.
    TheOthers,
    /// None, for this reason.
    Nothing(&'static str),
    /// The number of buffers, but none of windows, for this reason.
    Buffers(&'static str),
    /// The number of buffers: messages are stored into shared memory.
    Stores,
    /// Those of windows.
    Window {
        /// The reason why its receivers cannot get, if they cannot.
        against_get: Option<&'static str>,
        /// The keys that not all backends over windows take.
        own: &'static [RmaKey],
    },
}

/// The properties in which backends differ, apart from their protocols.
pub(super) struct Properties {
    pub(super) communication: Communication,
    pub(super) blocking: Blocking,
    pub(super) order: ContextOrder,
    pub(super) purpose: Purpose,
    /// Place in the order of preference of `auto`, for a backend that it tries.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "only worlds over MPI offer a choice"))]
    pub(super) preference: Option<usize>,
    pub(super) takes: Taken,
}

impl Properties {
    /// Returns those of a backend for production whose exchanges cannot stand still in the library.
    pub(super) fn new(
        communication: Communication,
        order: ContextOrder,
        preference: Option<usize>,
        takes: Taken,
    ) -> Self {
        let (blocking, purpose) = (Blocking::Never, Purpose::Production);
        Self { communication, blocking, order, purpose, preference, takes }
    }

    /// Returns those of a backend for production over windows.
    pub(super) fn one_sided(
        blocking: Blocking,
        order: ContextOrder,
        preference: Option<usize>,
        against_get: Option<&'static str>,
        own: &'static [RmaKey],
    ) -> Self {
        let takes = Taken::Window { against_get, own };
        Self { blocking, ..Self::new(Communication::OneSided, order, preference, takes) }
    }

    /// Makes the backend a control for experiments.
    pub(super) fn control(self, shows: &'static str) -> Self {
        Self { purpose: Purpose::Control { shows }, ..self }
    }
}
