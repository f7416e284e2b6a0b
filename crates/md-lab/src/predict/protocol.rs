//! What each transport waits for: the diagrams of `docs/halo-exchange.md` as a table.

use md_comm::{Backend, Communication};

/// What all ranks, or neighbours, wait for beside their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Synchronisation {
    /// Nothing.
    None,
    /// All ranks for all, from when they have done what they compute meanwhile: the fence stands at the end.
    Fence,
    /// All ranks for all, from when their puts are flushed: the barrier passes meanwhile.
    Barrier,
    /// Senders for their receivers' post, which these send when they have the messages of the last exchange.
    Post,
}

/// A way to move messages, as far as its waits go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Protocol {
    pub(super) synchronisation: Synchronisation,
    /// Part of the latency that the sender spends in a flush, until its puts are acknowledged, before it goes on.
    pub(super) flushed: f64,
    /// Whether all messages are seen at once.
    pub(super) together: bool,
    /// Whether later stages are sent while the rank computes.
    pub(super) advances: bool,
}

impl Protocol {
    /// Of a backend; of `hybrid`, that of its messages between nodes.
    ///
    /// Credits need no line. In a step whose forces return, a rank that sends positions has had forces from the same peer, which had
    /// read all positions before; where none return, two buffers make the peer's own message the credit.
    pub(super) fn of(backend: Backend) -> Self {
        use Synchronisation::{Barrier, Fence, None, Post};
        /// Put and acknowledgement of put, acknowledgement and notice.
        const FLUSHED: f64 = 2.0 / 3.0;
        /// The same of lock, grant, put, acknowledgement and notice.
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

/// Whether a negotiation asks all ranks, because windows may have to be made anew.
pub(crate) fn has_windows(backend: Backend) -> bool {
    matches!(backend.communication(), Communication::SharedMemory | Communication::OneSided)
}
