//! The interface that a backend implements.

use crate::ledger::Ledger;
use crate::{Choice, CommError, EdgeId, Growth};

/// The reason for polling a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poll {
    /// To let data move, at any time; no message is taken.
    Progress,
    /// To take a message if there is one; also when all have arrived, to let data move.
    Probe,
    /// To take a message, waiting for it.
    Wait,
    /// To let data move after everything has arrived, before the caller goes on.
    Finish,
}

/// Moves the messages of one context. [`crate::Exchange`] has checked every call before: edges
/// exist, calls come in order, lengths are agreed. From one negotiation to the next, the transport
/// keeps what depends on the layout of the context ([`Ledger::layout`]).
pub(crate) trait Transport {
    /// Returns the aligned buffer of the edge's next message, waiting for a free one.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError>;

    /// Starts the edge, which is packed with this number of bytes. Never blocks.
    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError>;

    /// Initiates the exchange: all edges are started. Never blocks.
    fn initiate(&mut self) -> Result<(), CommError>;

    /// Returns the edge of the next message, which is no longer awaited from now on. The ledger has
    /// the edges that are still awaited.
    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError>;

    /// Returns whether the messages of this exchange have left, so that further calls gain nothing.
    fn all_sent(&self) -> bool {
        true
    }

    /// Returns the message that [`Self::poll`] announced last, aligned and valid until `complete`.
    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError>;

    /// Releases the receive buffers and prepares the next exchange.
    fn complete(&mut self) -> Result<(), CommError>;

    /// Agrees with the peers on capacities for `need`, and records them in the ledger.
    /// *Collective.*
    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError>;

    /// Returns what was chosen for the context of this name, and why, if this transport chooses
    /// among others.
    fn choice(&self, _context: &str) -> Option<Choice> {
        None
    }

    /// Ends the context, between two exchanges. *Collective.*
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}
