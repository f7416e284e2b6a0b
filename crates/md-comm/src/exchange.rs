//! The exchange contract: a context made once, used for thousands of exchanges (after MONC's halo-swap contexts,
//! Brown et al. 2020: init, initiate, complete, finalise).
//!
//! One exchange, from one rank's view:
//!
//! ```text
//! for each sending edge:  send_buffer(edge, bytes) -> pack -> start(edge)     any order; start may already fire
//! initiate()                                                                  everything is packed; never blocks
//! progress() ...                                                              optional, from inside computation
//! while let Some(arrival) = next()? { unpack(arrival) }                       blocks; yields edges in arrival order
//! complete()                                                                  releases slots, opens the next epoch
//! ```
//!
//! `init` is [`crate::World::open`]. Every sending edge is started exactly once per exchange, a message of zero bytes
//! included. Nothing in the contract is specific to two-sided messages: a fence backend puts in `start` and fences in
//! `initiate`/`next`, a notified put flushes and raises flags in `initiate` and polls them in `next`.
//!
//! Capacities are what transports are prepared for. A message of [`crate::Sizes::Variable`] may be longer: it arrives
//! like any other, only later, because it takes another way where its slot or posted receive is too small. The next
//! `negotiate` makes room for the longest one sent so far, whatever it is asked for: a need that cannot be known in
//! advance is met by sending, and negotiating zeros at the next point where nothing is in flight.

use crate::{Choice, CommError, EdgeId, ExchangeSpec};

/// A message that has arrived: borrowed from the transport until the next call on the context.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Edge it came along.
    pub edge: EdgeId,
    /// Its payload, 64-byte aligned.
    pub bytes: &'a [u8],
}

/// Messages and payload bytes that this rank has sent through a context so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub messages: u64,
    /// Payload bytes sent.
    pub bytes: u64,
}

/// What a negotiation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// All capacities sufficed, on all ranks.
    Unchanged,
    /// At least one capacity of some rank has grown.
    Grown,
}

/// A halo-exchange context. Methods marked *collective* are called by all ranks of the world in the same order.
pub trait Exchange {
    /// The spec as negotiated so far (capacities included).
    fn spec(&self) -> &ExchangeSpec;

    /// The buffer of the edge's next message, exactly `bytes` long and 64-byte aligned. Its content is unspecified.
    ///
    /// # Errors
    /// [`CommError::CapacityExceeded`] if `bytes` is more than negotiated for [`crate::Sizes::Fixed`],
    /// [`CommError::Misuse`] if it is less, if the edge does not send, or was started already in this exchange.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError>;

    /// Declares the edge packed: its message may leave now. Never blocks.
    fn start(&mut self, edge: EdgeId) -> Result<(), CommError>;

    /// Declares all sending edges started. Never blocks.
    fn initiate(&mut self) -> Result<(), CommError>;

    /// Gives the transport a chance to move data; to be called from long computations.
    fn progress(&mut self) -> Result<(), CommError>;

    /// Whether [`Self::next`] has a message at hand. Lets the transport work; never blocks.
    fn has_arrival(&mut self) -> Result<bool, CommError>;

    /// The next arrived message if one is there: never blocks. `Ok(None)` means "none now", also after the last one.
    fn try_next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        if self.has_arrival()? { self.next() } else { Ok(None) }
    }

    /// The next arrived message; waits for it. `Ok(None)` once every receiving edge has delivered.
    ///
    /// # Errors
    /// [`CommError::Timeout`] names the edges still awaited when the watchdog's limit has passed.
    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError>;

    /// Ends the exchange: finishes the sends, releases the receive slots, opens the next epoch or pre-posts the next
    /// receives, so that a fast peer never waits for this rank to come back.
    fn complete(&mut self) -> Result<(), CommError>;

    /// A context along the same edges the other way (returned forces); capacities are the peers'. *Collective.*
    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError>;

    /// Makes every sending edge's capacity at least `need[edge]` bytes (entries of receiving edges are ignored). For
    /// [`crate::Sizes::Fixed`] the message length becomes exactly `need`; for [`crate::Sizes::Variable`] there is also
    /// room for the longest message sent so far. Called between exchanges only. *Collective.*
    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError>;

    /// What this rank has sent so far.
    fn traffic(&self) -> Traffic;

    /// For a context that chooses its transport by itself: what it chose and why, the same on all ranks.
    fn choice(&self) -> Option<Choice> {
        None
    }

    /// Ends the context. Not done in `Drop`: window backends must free collectively. *Collective.*
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}
