//! Non-blocking two-sided messages: the baseline for all one-sided transports.
//!
//! Structure: per edge one receive, posted before any rank can send (when the context is opened,
//! then in `complete` for the next exchange), and one or two send buffers. `start` posts the send;
//! arrivals are handed out in the order in which `MPI_Testsome` reports them.
//! Advantage: no synchronisation beyond the messages; small messages go directly into the user's
//! buffer.
//! Disadvantage: matching and, for large messages, a rendezvous on the receiver's side: about three
//! latencies instead of one.
//!
//! A message that has outgrown its capacity must not match the receive posted for it. A notice is
//! sent in its place, which is longer than any message of the edge ([`NOTICE_BYTES`] beyond the
//! capacity, for which the receives have room) and ends with the true length; the payload follows
//! by [`Overflow`]. Messages that fit carry nothing extra.
//!
//! Messages of known length may be sent in pieces ([`Chunk`]) below the limit from which on the
//! library waits for the receiver; such pieces move without calls of the library. Both ends find
//! the same pieces, because they have agreed on the length.
//!
//! Negotiation, among neighbours only: every rank first cancels its posted receives, then sends
//! each peer the capacity of each edge, and waits for its peers' words (a peer without a word for
//! this rank answers with an empty one). A rank that sends the first message of a new length has
//! therefore received a word from the receiver, which has no receive of the old length any more; at
//! worst the message waits in MPI's queue until the new receive is posted.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::ledger::{ExchangeLayout, Ledger};
use crate::mpi::buffer_sets::next_in_turn;
use crate::mpi::edge_words::{self, Recipients};
use crate::mpi::ffi::{Cancelled, Transfers};
use crate::mpi::numbers::ContextNumber;
use crate::mpi::overflow::Overflow;
use crate::mpi::world_state::WorldState;
use crate::negotiation::{LENGTH_BYTES, decode_length, encode_length};
use crate::spin_wait::SpinWait;
use crate::transport::{Poll, Transport};
use crate::{Chunk, CommError, Edge, EdgeId, ExchangeSpec, Flow, Growth, Sizes};

/// Bytes by which a notice is longer than the capacity.
const NOTICE_BYTES: usize = LENGTH_BYTES;

/// How messages are described to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// Anew for every message: `MPI_Isend`, `MPI_Irecv`.
    Fresh,
    /// Once, then started: `MPI_Send_init`, `MPI_Recv_init`, `MPI_Start` (backend
    /// `p2p-persistent`). Saves the library the checks and the set-up of each message; a send of
    /// another length than the last is described anew.
    Persistent,
}

impl Requests {
    fn prepare(self, transfers: Transfers) -> Transfers {
        if self == Self::Persistent { transfers.persistent() } else { transfers }
    }
}

/// Returns the bytes of a piece, per edge; they are the same at both ends, because being on one
/// node is mutual. Messages of variable length are sent whole: their receivers cannot compute the
/// number of pieces. *Collective.*
fn most_per_piece(world: &WorldState, spec: &ExchangeSpec, chunk: Chunk) -> Result<Vec<usize>, CommError> {
    const WHOLE: usize = usize::MAX;
    let all = |bytes| Ok(vec![bytes; spec.edges.len()]);
    match chunk {
        _ if spec.sizes == Sizes::Variable => all(WHOLE),
        Chunk::Off => all(WHOLE),
        Chunk::Bytes(bytes) => all(bytes.max(1)),
        Chunk::Auto => {
            let node = world.find_node()?;
            let here = |edge: &Edge| node.member(edge.peer).is_some();
            Ok(spec.edges.iter().map(|edge| if here(edge) { WHOLE } else { Chunk::BETWEEN_NODES }).collect())
        }
    }
}

/// A context over `MPI_Isend`/`MPI_Irecv`.
#[derive(Debug)]
pub(super) struct P2p {
    layout: Rc<ExchangeLayout>,
    number: ContextNumber,
    /// Edges that also receive.
    answered: Vec<usize>,
    /// One or two sets of send buffers, used in turn.
    sends: Vec<Transfers>,
    /// The set that this exchange packs.
    current: usize,
    receives: Transfers,
    overflow: Overflow,
    /// Messages received but not processed yet.
    completed_receives: VecDeque<usize>,
    /// Edges whose messages have arrived since the last `complete`, in that order: each at most
    /// once, because receives are posted there. The field below is the number of those that have
    /// been handed out.
    arrived: Vec<EdgeId>,
    handed_out: usize,
    /// The last field, so that MPI is finalised after the requests are dropped.
    world: Rc<WorldState>,
}

impl P2p {
    /// Opens the context: the peers receive the capacities and every receive is posted.
    /// *Collective.*
    pub(super) fn open(
        world: Rc<WorldState>,
        ledger: &mut Ledger,
        requests: Requests,
        chunk: Chunk,
    ) -> Result<Self, CommError> {
        let [number, overflowing] = world.numbers.borrow_mut().take()?;
        edge_words::tell_capacities(&world, ledger, number, Recipients::Receivers)?;
        let layout = ledger.layout();
        let edges = &layout.spec().edges;
        let chunks = most_per_piece(&world, layout.spec(), chunk)?;
        let outgoing = |_| {
            let mut sends = requests.prepare(Transfers::outgoing(edges.len()).in_pieces(&chunks));
            let mut capacities = edges.iter().map(|edge| edge.send_capacity).enumerate();
            capacities.try_for_each(|(i, capacity)| sends.bytes_mut(i, capacity).map(drop))?;
            Ok(sends)
        };
        let sends = (0..layout.spec().buffering.count()).map(outgoing).collect::<Result<_, CommError>>()?;
        let receives = Transfers::incoming(edges.len()).in_pieces(&chunks);
        let receives = requests.prepare(receives.of_exact_lengths(layout.spec().sizes == Sizes::Fixed));
        let answered = (0..edges.len()).filter(|&i| edges[i].flow == Flow::Both).collect();
        let (completed_receives, arrived) =
            (VecDeque::with_capacity(edges.len()), Vec::with_capacity(edges.len()));
        let overflow = Overflow::new(overflowing, &layout);
        let mut context = Self {
            layout,
            number,
            answered,
            sends,
            current: 0,
            receives,
            overflow,
            completed_receives,
            arrived,
            handed_out: 0,
            world,
        };
        context.post_receives()?;
        Ok(context)
    }

    /// Records what has arrived and lets MPI move what is under way. Testing the receives moves
    /// sends too, so that sends are tested only if nothing else is awaited: every test takes
    /// measurable time beside a small message.
    #[inline(always)]
    fn collect(&mut self) -> Result<(), CommError> {
        let awaits_receives = self.receives.any_active();
        match self.layout.spec().sizes {
            Sizes::Fixed => self.receives.poll(|i| self.arrived.push(EdgeId(i)))?,
            Sizes::Variable => self.collect_of_any_length()?,
        }
        if awaits_receives {
            return Ok(());
        }
        self.sends.iter_mut().try_for_each(|sends| sends.poll(|_| ()))
    }

    /// Records what has arrived: messages, or notices of messages that take another path. Not
    /// inlined, so that messages of known length do not save the registers that it uses.
    #[inline(never)]
    fn collect_of_any_length(&mut self) -> Result<(), CommError> {
        self.receives.poll(|i| self.completed_receives.push_back(i))?;
        while let Some(i) = self.completed_receives.pop_front() {
            match self.announced(EdgeId(i))? {
                Some(bytes) => self.overflow.expect(&self.world, &self.layout, EdgeId(i), bytes)?,
                None => self.arrived.push(EdgeId(i)),
            }
        }
        self.overflow.poll(|i| self.arrived.push(EdgeId(i)))
    }

    /// Waits until the messages sent from a set of buffers have left, or until `is_over` holds if
    /// only some of them have to.
    #[inline]
    fn finish_sends(&mut self, set: usize, is_over: fn(&Self) -> bool) -> Result<(), CommError> {
        if self.sends[set].any_active() { self.wait_for_sends(set, is_over) } else { Ok(()) }
    }

    fn wait_for_sends(&mut self, set: usize, is_over: fn(&Self) -> bool) -> Result<(), CommError> {
        let mut wait = SpinWait::new(self.world.watchdog());
        while self.sends[set].any_active() && !is_over(self) {
            self.sends[set].poll(|_| ())?;
            if self.sends[set].any_active() {
                wait.pause().map_err(|expired| self.layout.timeout(expired.waited_s, self.stuck(set)))?;
            }
        }
        Ok(())
    }

    /// Returns whether every message of this exchange along an edge that also receives has left.
    fn answers_have_left(&self) -> bool {
        !self.answered.iter().any(|&i| self.sends[self.current].is_active(i))
    }

    /// Returns the ranks for which a set of buffers waits.
    fn stuck(&self, set: usize) -> String {
        let edges = self.layout.spec().edges.iter().enumerate();
        let stuck = edges.filter(|&(i, _)| self.sends[set].is_active(i));
        let name = |(_, edge): (usize, &Edge)| {
            format!("rank {} (channel {}) to receive", edge.peer, edge.send_channel)
        };
        stuck.map(name).collect::<Vec<_>>().join(", ")
    }

    fn finish_all_sends(&mut self) -> Result<(), CommError> {
        (0..self.sends.len()).try_for_each(|set| self.finish_sends(set, |_| false))?;
        self.overflow.finish(&self.world, &self.layout)
    }
}

impl Transport for P2p {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        if bytes > self.layout.edge(edge).send_capacity {
            return self.overflow.buffer(&self.world, &self.layout, edge, bytes);
        }
        self.sends[self.current].bytes_mut(edge.0, bytes)
    }

    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError> {
        let Edge { peer, send_channel, send_capacity, .. } = *self.layout.edge(edge);
        if bytes > send_capacity {
            let notice = self.sends[self.current].bytes_mut(edge.0, send_capacity + NOTICE_BYTES)?;
            notice[send_capacity..].copy_from_slice(&encode_length(bytes));
            self.overflow.send(&self.world, &self.layout, edge)?;
        }
        self.sends[self.current].send(edge.0, &self.world.communicator, peer, self.number.tag(send_channel))
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        match poll {
            Poll::Progress => return self.collect().map(|()| None),
            // A peer that has answered is about to take this rank's message. If this rank went on
            // before, the next large message would meet a receive that is not posted yet and take
            // half as long again.
            Poll::Finish => return self.finish_sends(self.current, Self::answers_have_left).map(|()| None),
            Poll::Probe | Poll::Wait => (),
        }
        poll.answer(self.world.watchdog(), ledger, self, |context| {
            if context.handed_out == context.arrived.len() {
                context.collect()?;
            }
            let next = context.arrived.get(context.handed_out).copied();
            context.handed_out += usize::from(next.is_some());
            Ok(next)
        })
    }

    fn all_sent(&self) -> bool {
        !self.sends[self.current].any_active()
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        if self.layout.spec().sizes == Sizes::Variable
            && let Some(bytes) = self.overflow.message(&self.layout, edge)?
        {
            return Ok(bytes);
        }
        self.receives.bytes(edge.0)
    }

    /// With two buffers per edge the sends of this exchange may still be under way; those of the
    /// last one, whose buffers are used next, are finished.
    fn complete(&mut self) -> Result<(), CommError> {
        if self.layout.spec().sizes == Sizes::Variable {
            self.overflow.next_exchange();
        }
        self.arrived.clear();
        self.handed_out = 0;
        self.post_receives()?;
        self.current = next_in_turn(self.current, self.sends.len());
        self.finish_sends(self.current, |_| false)
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        self.finish_all_sends()?;
        self.withdraw_receives()?;
        let before = ledger.layout();
        ledger.apply(need);
        edge_words::tell_capacities(&self.world, ledger, self.number, Recipients::All)?;
        self.layout = ledger.layout();
        self.post_receives()?;
        Ok(ledger.growth_since(&before))
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.finish_all_sends()?;
        self.withdraw_receives()?;
        self.world.barrier()?;
        self.world.numbers.borrow_mut().release(&[self.number, self.overflow.number]);
        Ok(())
    }
}

impl P2p {
    #[inline(always)]
    pub(super) fn post_receives(&mut self) -> Result<(), CommError> {
        for (i, edge) in self.layout.spec().edges.iter().enumerate() {
            if edge.flow.receives() {
                let notice = if self.layout.spec().sizes == Sizes::Variable { NOTICE_BYTES } else { 0 };
                let most = self.layout.receive_capacity(EdgeId(i)) + notice;
                let tag = self.number.tag(edge.receive_channel);
                self.receives.receive(i, &self.world.communicator, edge.peer, tag, most)?;
            }
        }
        Ok(())
    }

    /// Returns the length of a message that takes another path, if what was received is a notice of
    /// one.
    pub(super) fn announced(&self, edge: EdgeId) -> Result<Option<usize>, CommError> {
        if self.layout.spec().sizes == Sizes::Fixed {
            return Ok(None);
        }
        let bytes = self.receives.bytes(edge.0)?;
        match bytes.get(self.layout.receive_capacity(edge)..) {
            Some(notice) if !notice.is_empty() => {
                let length = decode_length(notice);
                length.map(Some).ok_or_else(|| self.layout.mismatch(edge, "is too long"))
            }
            _ => Ok(None),
        }
    }

    /// Cancels the receives that were posted for the next exchange.
    pub(super) fn withdraw_receives(&mut self) -> Result<(), CommError> {
        for edge in self.layout.edge_ids().filter(|&EdgeId(i)| self.layout.spec().edges[i].flow.receives()) {
            let early = !self.receives.is_active(edge.0)
                || self.receives.cancel(edge.0, self.world.watchdog())? == Cancelled::Delivered;
            if early {
                return Err(self.layout.mismatch(edge, "came between two exchanges"));
            }
        }
        Ok(())
    }
}
