//! What a backend implements.

use crate::ledger::Ledger;
use crate::{CommError, EdgeId, Growth};

/// Why a transport is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poll {
    /// Only to let data move, at any time; nothing is taken.
    Progress,
    /// For a message, if one is there; also when all have arrived, to let data move.
    Probe,
    /// For a message; waits for it.
    Wait,
    /// Everything has arrived, and the caller is about to go on.
    Finish,
}

/// Moves the messages of one context. [`crate::Exchange`] has checked every call before it comes here: edges exist, calls
/// come in order, lengths are agreed. What depends on the terms of the context is kept by the transport
/// ([`Ledger::terms`]) from one negotiation to the next.
pub(crate) trait Transport {
    /// The buffer of the edge's next message, aligned; waits for a free one.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError>;

    /// The edge is packed with so many bytes. Never blocks.
    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError>;

    /// All edges are started. Never blocks.
    fn initiate(&mut self) -> Result<(), CommError>;

    /// The edge of the next message, which is no longer awaited from now on. The ledger tells which still are.
    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError>;

    /// Whether the messages of this exchange have left, so that nothing is gained by further calls.
    fn all_sent(&self) -> bool {
        true
    }

    /// The message that [`Self::poll`] has announced last, aligned; valid until `complete`.
    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError>;

    /// Releases the receive buffers and prepares the next exchange.
    fn complete(&mut self) -> Result<(), CommError>;

    /// Agrees with the peers on capacities for `need`, and books them. *Collective.*
    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError>;

    /// Ends the context, between two exchanges. *Collective.*
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}
