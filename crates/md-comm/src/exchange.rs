//! The exchange contract: a context is made once and used for thousands of exchanges (after MONC's
//! halo-swap contexts, Brown et al. 2020: init, initiate, complete, finalise).
//!
//! One exchange, as one rank sees it:
//!
//! ```text
//! for each sending edge:  send_buffer(edge, bytes) -> pack -> start(edge)     any order; start may already fire
//! initiate()                                                                  everything is packed; never blocks
//! progress(), try_next() ...                                                  optional, from inside computation
//! while let Some(arrival) = next()? { unpack(arrival) }                       blocks; yields edges in arrival order
//! complete()                                                                  releases buffers, opens the next epoch
//! ```
//!
//! `init` is [`crate::World::open`]. Every sending edge is started exactly once per exchange, also
//! for a message of zero bytes. Nothing in the contract is specific to two-sided messages: a fence
//! backend puts in `start` and fences in `initiate`/`next`; a notified put flushes and raises flags
//! in `initiate` and polls them in `next`.
//!
//! Transports prepare for messages up to the capacities. A message of [`crate::Sizes::Variable`]
//! may be longer. It arrives like any other, only later, because it takes another way where its
//! buffer or posted receive is too small. The next `negotiate` makes room for the longest message
//! sent so far, whatever `need` is given. If the need cannot be known in advance, send first, and
//! negotiate zeros at the next point where nothing is in flight.

use std::fmt;
#[cfg(feature = "conformance")]
use std::rc::Rc;
use std::time::Instant;

use crate::ledger::Ledger;
use crate::transport::{Poll, Transport};
use crate::{Arrival, Choice, CommError, EdgeId, ExchangeSpec, Growth, MessageObserver, Traffic};

/// Opens a context of the same kind.
type Opener = Box<dyn Fn(ExchangeSpec) -> Result<Exchange, CommError>>;

/// Wraps a transport.
#[cfg(feature = "conformance")]
type Decorator = dyn Fn(&ExchangeSpec, Box<dyn Transport>) -> Box<dyn Transport>;

/// A halo-exchange context. Methods marked *collective* are called by all ranks of the world in the
/// same order.
///
/// Every method fails with [`CommError::Misuse`] if the contract does not allow the call at this
/// point; such a call changes nothing. All but the collective ones also fail as the transport does:
/// [`CommError::Timeout`], [`CommError::Mpi`], [`CommError::PeerFailed`].
///
/// ```
/// use md_comm::{Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes};
/// use md_comm::{Traffic, World, local};
/// use std::time::Duration;
///
/// /// Sends ten bytes to the other of two ranks and receives as many, three times.
/// fn swap(world: &dyn World) -> Result<Traffic, CommError> {
///     let (peer, flow, send_capacity) = (1 - world.rank(), Flow::Both, 10);
///     let edge = Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity };
///     let (edges, sizes, buffering) = (vec![edge], Sizes::Fixed, Buffering::Double);
///     let spec = ExchangeSpec { name: "swap", edges, sizes, buffering };
///     let mut context: Exchange = world.open(spec)?;
///     for number in 0..3 {
///         context.send_buffer(EdgeId(0), 10)?.fill(number);
///         context.start(EdgeId(0))?;
///         context.initiate()?;
///         while let Some(arrival) = context.next()? {
///             assert_eq!(arrival.bytes, [number; 10]);
///         }
///         context.complete()?;
///     }
///     let traffic = context.traffic();
///     context.finalise()?;
///     Ok(traffic)
/// }
///
/// let traffic = local::run(2, Duration::from_secs(60), swap);
/// assert_eq!(traffic, [const { Ok(Ok(Traffic { messages: 3, bytes: 30 })) }; 2]);
/// ```
pub struct Exchange {
    ledger: Ledger,
    transport: Box<dyn Transport>,
    observer: Option<Box<dyn MessageObserver>>,
    /// The last field, so that MPI is finalised after the transports are dropped.
    opener: Opener,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Creates a context from a transport that was opened with this layout; `opener` opens its
    /// reverse.
    pub(crate) fn new(
        ledger: Ledger,
        transport: Box<dyn Transport>,
        opener: impl Fn(ExchangeSpec) -> Result<Self, CommError> + 'static,
    ) -> Self {
        Self { ledger, transport, observer: None, opener: Box::new(opener) }
    }

    /// Decorates the transport of this context and of its reverse.
    #[cfg(feature = "conformance")]
    pub(crate) fn decorated(self, decorate: Rc<Decorator>) -> Self {
        let Self { ledger, transport, observer, opener } = self;
        let transport = decorate(ledger.spec(), transport);
        let opener = Box::new(move |spec| Ok(opener(spec)?.decorated(Rc::clone(&decorate))));
        Self { ledger, transport, observer, opener }
    }

    /// Attaches an observer to this context, but not to its reverse.
    #[must_use]
    pub fn observed(self, observer: Box<dyn MessageObserver>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Returns the spec as negotiated so far (capacities included).
    pub fn spec(&self) -> &ExchangeSpec {
        self.ledger.spec()
    }

    /// Returns the buffer of the edge's next message, exactly `bytes` long and 64-byte aligned. Its
    /// content is unspecified.
    ///
    /// # Errors
    /// [`CommError::CapacityExceeded`] if `bytes` is more than negotiated for
    /// [`crate::Sizes::Fixed`], [`CommError::Misuse`] if it is less, if the edge does not send, or
    /// was started already in this exchange.
    #[inline]
    pub fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.ledger.pack(edge, bytes)?;
        self.transport.send_buffer(edge, bytes)
    }

    /// Declares the edge packed: its message may leave now. Never blocks.
    ///
    /// # Errors
    /// [`CommError::Misuse`] if the edge was not packed or was started already; the transport's
    /// errors.
    #[inline]
    pub fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let bytes = self.ledger.start(edge)?;
        if let Some(observer) = &self.observer {
            observer.started(self.ledger.edge(edge), bytes);
        }
        self.transport.start(edge, bytes)
    }

    /// Declares all sending edges started. Never blocks.
    ///
    /// # Errors
    /// [`CommError::Misuse`] if an edge was not started, or the exchange was initiated already; the
    /// transport's errors.
    #[inline]
    pub fn initiate(&mut self) -> Result<(), CommError> {
        self.ledger.initiate()?;
        self.transport.initiate()
    }

    /// Lets the transport move data; to be called from long computations.
    ///
    /// # Errors
    /// The transport's errors.
    pub fn progress(&mut self) -> Result<(), CommError> {
        self.transport.poll(&self.ledger, Poll::Progress).map(drop)
    }

    /// Returns the next message that arrives, waiting for it if necessary. Returns `Ok(None)` once
    /// every receiving edge has delivered.
    ///
    /// # Errors
    /// [`CommError::Timeout`] lists the edges still awaited when the watchdog's limit has passed;
    /// [`CommError::Misuse`] before [`Self::initiate`].
    #[expect(clippy::should_implement_trait, reason = "an arrival borrows from the context")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let waits_since = self.observer.as_ref().map(|_| Instant::now());
        match self.poll(Poll::Wait)? {
            Some(edge) => self.message(edge, waits_since).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the next arrived message if there is one; never blocks. `Ok(None)` means "none now",
    /// also after the last one.
    ///
    /// If [`crate::World::needs_same_order`], looking for a message may mean waiting for all
    /// others: call [`Self::progress`] instead.
    ///
    /// # Errors
    /// Fails as [`Self::next`] does, except for the timeout.
    pub fn try_next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        match self.poll(Poll::Probe)? {
            Some(edge) => self.message(edge, None).map(Some),
            None => Ok(None),
        }
    }

    /// Returns whether messages of this exchange are still under way, as far as this rank can tell:
    /// some have not been taken, or have not left. The answer changes only after calls of the
    /// library ([`Self::progress`], [`Self::try_next`]).
    pub fn in_flight(&self) -> bool {
        !(self.ledger.all_arrived() && self.transport.all_sent())
    }

    /// Returns the edge whose [`Self::message`] has arrived, for contexts that are part of another.
    ///
    /// Inlined so that the result is not copied as a whole. It was stored in parts, and such a copy
    /// waits until all earlier stores, including those to the memory of another rank, have reached
    /// the cache.
    #[inline(always)]
    pub(crate) fn poll(&mut self, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        self.ledger.expect_initiated()?;
        let poll = if poll == Poll::Wait && self.ledger.all_arrived() { Poll::Finish } else { poll };
        self.transport.poll(&self.ledger, poll)
    }

    #[cfg(feature = "mpi")]
    pub(crate) fn receive_capacity(&self, edge: EdgeId) -> usize {
        self.ledger.receive_capacity(edge)
    }

    /// Returns the message that has arrived. If this rank stood still for it, `waits_since` is when
    /// it began to wait.
    #[inline]
    pub(crate) fn message(
        &mut self,
        edge: EdgeId,
        waits_since: Option<Instant>,
    ) -> Result<Arrival<'_>, CommError> {
        let Self { ledger, transport, observer, .. } = self;
        let arrival = ledger.arrive(edge, transport.message(edge)?)?;
        if let Some(observer) = observer {
            observer.arrived(ledger.edge(edge), arrival.bytes.len(), waits_since);
        }
        Ok(arrival)
    }

    /// Ends the exchange: finishes the sends, releases the receive buffers, and opens the next
    /// epoch or posts the next receives, so that a fast peer never waits for this rank to come
    /// back.
    ///
    /// # Errors
    /// [`CommError::Misuse`] if a message has not been taken; the transport's errors.
    #[inline]
    pub fn complete(&mut self) -> Result<(), CommError> {
        self.ledger.complete()?;
        self.transport.complete()?;
        if let Some(observer) = &self.observer {
            observer.completed();
        }
        Ok(())
    }

    /// Opens a context along the same edges in the opposite direction (for returned forces). Its
    /// capacities are those of the peers. *Collective.*
    ///
    /// # Errors
    /// Fails as [`crate::World::open`] does.
    pub fn reverse(&self) -> Result<Self, CommError> {
        (self.opener)(self.ledger.reversed_spec())
    }

    /// Makes every sending edge's capacity at least `need[edge]` bytes (entries of receiving edges
    /// are ignored). For [`crate::Sizes::Fixed`] the message length becomes exactly `need`; for
    /// [`crate::Sizes::Variable`] there is also room for the longest message sent so far. Called
    /// between exchanges only. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] inside an exchange, or if `need` does not have one entry per edge;
    /// communication.
    pub fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        self.ledger.expect_needs(need)?;
        self.transport.negotiate(&mut self.ledger, need)
    }

    /// Returns what this rank has sent so far.
    pub fn traffic(&self) -> Traffic {
        self.ledger.traffic()
    }

    /// Returns what was chosen and why, the same on all ranks, if this context chooses its
    /// transport by itself.
    pub fn choice(&self) -> Option<Choice> {
        self.transport.choice(self.spec().name)
    }

    /// Ends the context. This is not done in `Drop` because window backends must free collectively.
    /// *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] inside an exchange; communication.
    pub fn finalise(self) -> Result<(), CommError> {
        self.ledger.expect_idle("finalised")?;
        self.transport.finalise()
    }
}
