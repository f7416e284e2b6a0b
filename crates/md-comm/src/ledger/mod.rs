//! The bookkeeping of a context: the state of each edge in the current exchange, and the calls
//! allowed in it.
//!
//! Structure: a small state machine without any data movement. [`crate::Exchange`] calls it before
//! each call of the transport, so that misuse is refused with the same words for all transports. A
//! refused call changes nothing: the caller may go on as if it had not been made.

use std::ops::Deref;
use std::rc::Rc;

use crate::{Arrival, CommError, Edge, EdgeId, ExchangeSpec, Flow, Rank, Sizes, Traffic};
pub(crate) use layout::ExchangeLayout;

mod capacities;
mod layout;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outgoing {
    Idle,
    Packing { bytes: usize },
    Started,
}

/// Progress of the present exchange along one edge.
#[derive(Debug, Clone, Copy)]
struct EdgeState {
    outgoing: Outgoing,
    arrived: bool,
}

impl EdgeState {
    const IDLE: Self = Self { outgoing: Outgoing::Idle, arrived: false };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Between exchanges, or while edges are being packed.
    Packing,
    /// After `initiate`, before `complete`.
    Receiving,
}

/// State of one context on one rank.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    layout: Rc<ExchangeLayout>,
    /// Longest message sent so far, for variable sizes: the next negotiation makes room for it.
    longest_sent: Vec<usize>,
    states: Vec<EdgeState>,
    /// Edges that send.
    sending: usize,
    /// Edges that receive.
    receiving: usize,
    /// Sending edges that are not started yet. They are counted because a search through all edges
    /// takes measurable time beside a small message.
    unstarted: usize,
    /// Edges whose message has not been taken yet.
    awaited: usize,
    phase: Phase,
    traffic: Traffic,
}

impl Ledger {
    /// Checks the spec as far as one rank can, and creates the initial state. The peers' capacities
    /// are still unknown.
    pub(crate) fn new(rank: Rank, ranks: usize, spec: ExchangeSpec) -> Result<Self, CommError> {
        spec.check(ranks)?;
        let edges = spec.edges.len();
        let count = |flows: fn(Flow) -> bool| spec.edges.iter().filter(|edge| flows(edge.flow)).count();
        let (sending, receiving) = (count(Flow::sends), count(Flow::receives));
        Ok(Self {
            layout: Rc::new(ExchangeLayout { rank, spec, receive_capacity: vec![0; edges] }),
            longest_sent: vec![0; edges],
            states: vec![EdgeState::IDLE; edges],
            sending,
            receiving,
            unstarted: sending,
            awaited: receiving,
            phase: Phase::Packing,
            traffic: Traffic::default(),
        })
    }

    /// Returns the layout, which the transport keeps until the next negotiation.
    pub(crate) fn layout(&self) -> Rc<ExchangeLayout> {
        Rc::clone(&self.layout)
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn existing(&self, edge: EdgeId) -> Result<&Edge, CommError> {
        self.spec().edges.get(edge.0).ok_or_else(|| self.misuse(format_args!("there is no edge {}", edge.0)))
    }

    /// Checks a `send_buffer` of this number of bytes. Packing again before `start` is allowed. A
    /// variable message may be longer than the capacity.
    #[inline]
    pub(crate) fn pack(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError> {
        let &Edge { flow, send_capacity: capacity, .. } = self.existing(edge)?;
        if !flow.sends() {
            return Err(self.misuse(format_args!("edge {} does not send", edge.0)));
        }
        if self.states[edge.0].outgoing == Outgoing::Started {
            return Err(self.misuse(format_args!("edge {} was started already", edge.0)));
        }
        if bytes != capacity && self.spec().sizes == Sizes::Fixed {
            return Err(self.wrong_length(edge, bytes));
        }
        self.states[edge.0].outgoing = Outgoing::Packing { bytes };
        Ok(())
    }

    /// Records a `start`, and returns the length of the message that may leave now.
    #[inline]
    pub(crate) fn start(&mut self, edge: EdgeId) -> Result<usize, CommError> {
        self.existing(edge)?;
        let outgoing = &mut self.states[edge.0].outgoing;
        let Outgoing::Packing { bytes } = *outgoing else {
            let why =
                if *outgoing == Outgoing::Idle { "not packed before its start" } else { "started already" };
            return Err(self.misuse(format_args!("edge {} was {why}", edge.0)));
        };
        *outgoing = Outgoing::Started;
        self.unstarted -= 1;
        if self.spec().sizes == Sizes::Variable {
            self.longest_sent[edge.0] = self.longest_sent[edge.0].max(bytes);
        }
        self.traffic.messages += 1;
        self.traffic.bytes += bytes as u64;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn initiate(&mut self) -> Result<(), CommError> {
        if self.phase == Phase::Receiving {
            return Err(self.misuse("initiated twice"));
        }
        if self.unstarted > 0 {
            return Err(self.initiated_early());
        }
        self.phase = Phase::Receiving;
        Ok(())
    }

    /// Checks a `next`, which is allowed only after `initiate`, because active-target epochs cannot
    /// deliver earlier.
    pub(crate) fn expect_initiated(&self) -> Result<(), CommError> {
        match self.phase {
            Phase::Receiving => Ok(()),
            Phase::Packing => Err(self.misuse("used before initiate")),
        }
    }

    pub(crate) fn awaits(&self, edge: EdgeId) -> bool {
        self.spec().edges[edge.0].flow.receives() && !self.states[edge.0].arrived
    }

    pub(crate) fn all_arrived(&self) -> bool {
        self.awaited == 0
    }

    /// Records an arrival after checking its length. A variable message may be longer than the
    /// capacity.
    #[inline]
    pub(crate) fn arrive<'a>(&mut self, edge: EdgeId, bytes: &'a [u8]) -> Result<Arrival<'a>, CommError> {
        let capacity = self.receive_capacity(edge);
        if self.spec().sizes == Sizes::Fixed && bytes.len() != capacity {
            return Err(
                self.mismatch(edge, format_args!("has {} bytes, agreed were {capacity}", bytes.len()))
            );
        }
        if !self.awaits(edge) {
            return Err(self.mismatch(edge, "is the second of one exchange"));
        }
        self.states[edge.0].arrived = true;
        self.awaited -= 1;
        Ok(Arrival { edge, bytes })
    }

    /// Records a `complete`, which is allowed only when everything has been delivered.
    #[inline]
    pub(crate) fn complete(&mut self) -> Result<(), CommError> {
        self.expect_initiated()?;
        if !self.all_arrived() {
            return Err(self.misuse(format_args!("completed before the arrival of {}", self.awaited_edges())));
        }
        self.forget_exchange();
        Ok(())
    }

    /// Checks that nothing is in flight, for collective operations on the context.
    pub(crate) fn expect_idle(&self, operation: &str) -> Result<(), CommError> {
        let mut edges = self.states.iter();
        let idle = self.phase == Phase::Packing && edges.all(|edge| edge.outgoing == Outgoing::Idle);
        if idle { Ok(()) } else { Err(self.misuse(format_args!("{operation} inside an exchange"))) }
    }

    /// Returns the edges that have not delivered yet, as in `rank 3 (channel 0), rank 5 (channel
    /// 0)`.
    pub(crate) fn awaited_edges(&self) -> String {
        let name = |edge: EdgeId| {
            let Edge { peer, receive_channel, .. } = self.edge(edge);
            format!("rank {peer} (channel {receive_channel})")
        };
        self.edge_ids().filter(|&edge| self.awaits(edge)).map(name).collect::<Vec<_>>().join(", ")
    }

    fn forget_exchange(&mut self) {
        self.phase = Phase::Packing;
        self.states.fill(EdgeState::IDLE);
        (self.unstarted, self.awaited) = (self.sending, self.receiving);
    }

    /// Returns the error for a wrong length of a message of fixed size.
    #[cold]
    fn wrong_length(&self, edge: EdgeId, bytes: usize) -> CommError {
        let &Edge { peer, send_capacity: capacity, .. } = self.edge(edge);
        if bytes > capacity {
            return CommError::CapacityExceeded { context: self.spec().name, peer, bytes, capacity };
        }
        self.misuse(format_args!("edge {} sends exactly {capacity} bytes, not {bytes}", edge.0))
    }

    #[cold]
    fn initiated_early(&self) -> CommError {
        let is_late = |edge: &EdgeId| {
            self.edge(*edge).flow.sends() && self.states[edge.0].outgoing != Outgoing::Started
        };
        let Some(edge) = self.edge_ids().find(is_late) else {
            return self.misuse("initiated before all edges were started");
        };
        let peer = self.edge(edge).peer;
        self.misuse(format_args!("initiated before edge {} (rank {peer}) was started", edge.0))
    }
}

impl Deref for Ledger {
    type Target = ExchangeLayout;

    fn deref(&self) -> &ExchangeLayout {
        &self.layout
    }
}
