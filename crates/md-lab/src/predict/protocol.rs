//! Waits of each transport: the diagrams of `docs/halo-exchange.md` as a table.

use md_comm::{Backend, Communication};

/// Synchronisation of all ranks or of neighbours, in addition to the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Synchronisation {
    /// No synchronisation.
    None,
    /// All ranks wait for each other after the overlapping computation: the fence comes at the end.
    Fence,
    /// All ranks wait for each other's flush of the puts: the barrier proceeds during computation.
    Barrier,
    /// Senders wait for their receivers' post, sent when these have the previous messages.
    Post,
}

/// Properties of a transport that determine its waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Protocol {
    pub(super) synchronisation: Synchronisation,
    /// Fraction of the latency that the sender spends in a flush, until its puts are acknowledged.
    pub(super) flushed: f64,
    /// Whether all messages become visible at once.
    pub(super) together: bool,
    /// Whether later stages are sent while the rank computes.
    pub(super) advances: bool,
}

impl Protocol {
    /// Returns the protocol of a backend. The waits of `hybrid` are those of its two backends.
    ///
    /// Credits need no entry. In a step that returns forces, a rank that sends positions has
    /// received forces from this peer, which had read all positions before. Without returned
    /// forces, double buffering makes the peer's own message the credit.
    pub(super) fn of(backend: Backend) -> Self {
        use Synchronisation::{Barrier, Fence, None, Post};
        /// Put and acknowledgement, out of put, acknowledgement and notice.
        const FLUSHED: f64 = 2.0 / 3.0;
        /// Lock, grant, put and acknowledgement, out of these and the notice.
        const LOCKED_AND_FLUSHED: f64 = 4.0 / 5.0;
        let (synchronisation, flushed, together) = match (backend, backend.communication()) {
            (Backend::RmaFence, _) => (Fence, 0.0, true),
            (Backend::RmaPscw, _) => (Post, 0.0, true),
            (Backend::RmaLockEpoch, _) => (None, LOCKED_AND_FLUSHED, false),
            (Backend::RmaBarrier, _) => (Barrier, FLUSHED, true),
            (_, Communication::OneSided) => (None, FLUSHED, false),
            (_, Communication::Collective) => (None, 0.0, true),
            (
                _,
                Communication::Threads
                | Communication::TwoSided
                | Communication::SharedMemory
                | Communication::Composed,
            ) => (None, 0.0, false),
        };
        Self { synchronisation, flushed, together, advances: !backend.needs_same_order() }
    }
}

/// Returns whether a negotiation involves all ranks, because windows may have to be created anew.
pub(crate) fn has_windows(backend: Backend) -> bool {
    matches!(backend.communication(), Communication::SharedMemory | Communication::OneSided)
}

/// Returns whether all messages of an exchange become visible at once.
pub(crate) fn delivers_together(backend: Backend) -> bool {
    Protocol::of(backend).together
}
