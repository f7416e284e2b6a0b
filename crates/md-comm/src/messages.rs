//! The messages of a context as its user sees them: arrivals, traffic, and events for timelines.

use std::iter::Sum;
use std::time::Instant;

use crate::{Edge, EdgeId};

/// A message that has arrived, borrowed from the transport until the next call on the context.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The edge along which it arrived.
    pub edge: EdgeId,
    /// The payload, 64-byte aligned.
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

/// Adds up the traffic of several contexts.
impl Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            messages: sum.messages + one.messages,
            bytes: sum.bytes + one.bytes,
        })
    }
}

/// Receives an event for each step of the messages of one context, at the moment it happens; used
/// for timelines.
pub trait MessageObserver {
    /// A message of this number of bytes may leave along an edge.
    fn started(&self, edge: &Edge, bytes: usize);

    /// A message of this number of bytes has arrived along an edge. If this rank stood still for
    /// it, `waits_since` is when it began to wait.
    fn arrived(&self, edge: &Edge, bytes: usize, waits_since: Option<Instant>);

    /// The exchange is over.
    fn completed(&self);
}
