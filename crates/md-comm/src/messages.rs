//! The messages of a context as its user sees them: arrivals, traffic, and events for timelines.

use std::iter::Sum;
use std::time::Instant;

use crate::{Edge, EdgeId};

/// A message that has arrived, borrowed from the transport until the next call on the context.
///
/// See [`Exchange`](crate::Exchange) for an example.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The edge along which it arrived.
    pub edge: EdgeId,
    /// The payload, 64-byte aligned.
    pub bytes: &'a [u8],
}

/// Messages and payload bytes that this rank has sent through a context so far.
///
/// ```
/// use md_comm::Traffic;
///
/// let contexts = [Traffic { messages: 6, bytes: 600 }, Traffic { messages: 3, bytes: 30 }];
/// let all: Traffic = contexts.into_iter().sum();
/// assert_eq!(all, Traffic { messages: 9, bytes: 630 });
/// ```
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
///
/// ```
/// use md_comm::{Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, Sizes};
/// use md_comm::{MessageObserver, local};
/// use std::{cell::Cell, rc::Rc, time::{Duration, Instant}};
///
/// /// Adds up the bytes that have arrived.
/// struct Arrived(Rc<Cell<usize>>);
///
/// impl MessageObserver for Arrived {
///     fn started(&self, _: &Edge, _: usize) {}
///     fn arrived(&self, _: &Edge, bytes: usize, _: Option<Instant>) {
///         self.0.set(self.0.get() + bytes);
///     }
///     fn completed(&self) {}
/// }
///
/// let arrived = local::run(1, Duration::from_secs(60), |world| {
///     let (flow, send_capacity) = (Flow::Both, 24);
///     let to_itself = Edge { peer: 0, send_channel: 0, receive_channel: 0, flow, send_capacity };
///     let (edges, sizes, buffering) = (vec![to_itself], Sizes::Fixed, Buffering::Double);
///     let bytes = Rc::new(Cell::new(0));
///     let context = world.open(ExchangeSpec { name: "watched", edges, sizes, buffering })?;
///     let mut context = context.observed(Box::new(Arrived(Rc::clone(&bytes))));
///     context.send_buffer(EdgeId(0), 24)?.fill(0);
///     context.start(EdgeId(0))?;
///     context.initiate()?;
///     while context.next()?.is_some() {}
///     context.complete()?;
///     Ok::<_, CommError>(bytes.get())
/// });
/// assert_eq!(arrived, [Ok(Ok(24))]);
/// ```
pub trait MessageObserver {
    /// A message of this number of bytes may leave along an edge.
    fn started(&self, edge: &Edge, bytes: usize);

    /// A message of this number of bytes has arrived along an edge. If this rank stood still for
    /// it, `waits_since` is when it began to wait.
    fn arrived(&self, edge: &Edge, bytes: usize, waits_since: Option<Instant>);

    /// The exchange is over.
    fn completed(&self);
}
