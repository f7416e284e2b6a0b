//! What all one-sided contexts have, and what schemes do with it.

use std::collections::VecDeque;
use std::rc::Rc;

use super::super::adversity::Jitter;
use super::super::edge_words::{self, Along};
use super::super::ffi::Memory;
use super::super::numbers::ContextNumber;
use super::super::world::Inner;
use super::arena::{Arena, LENGTH_BYTES, ORIGIN_HEAD, Plan};
use crate::flag_protocol::{Answer, needs_credit};
use crate::ledger::Ledger;
use crate::{Arrival, CommError, Edge, EdgeId, ExchangeSpec, Sizes};

/// Polls between two calls that let MPI work; a load is a hundred times cheaper than such a call.
const POLLS_PER_POKE: u32 = 16;

/// Ledger, window and addresses of one context.
#[derive(Debug)]
pub(in crate::mpi) struct Parts {
    pub(super) ledger: Ledger,
    pub(super) number: ContextNumber,
    /// For messages against the direction of the edges.
    pub(super) backward_number: ContextNumber,
    /// Before `world`, so that MPI is finalised afterwards.
    pub(super) arena: Arena,
    /// Number of this exchange since the window was made, from 1.
    pub(super) sequence: u64,
    plan: Plan,
    /// Arrived, not handed out yet.
    ready: VecDeque<usize>,
    noticed: Vec<bool>,
    /// Lengths of the messages packed, and of those whose arrival told a length.
    lengths: Vec<usize>,
    arrived_lengths: Vec<Option<usize>>,
    /// Where they are, if not in the exchange's slot.
    places: Vec<Option<usize>>,
    /// For edges that receive from this rank itself: the sending edge.
    source: Vec<Option<usize>>,
    polls: u32,
    pub(super) jitter: Jitter,
    pub(super) world: Rc<Inner>,
}

impl Parts {
    /// *Collective.*
    pub(super) fn open(world: Rc<Inner>, spec: ExchangeSpec, plan: Plan) -> Result<Self, CommError> {
        let mut ledger = Ledger::new(world.rank, world.ranks, spec)?;
        if plan.memory == Memory::Shared {
            world.expect_on_node(ledger.spec())?;
        }
        let number = world.numbers.borrow_mut().take()?;
        let backward_number = world.numbers.borrow_mut().take()?;
        tell_capacities(&world, &mut ledger, number)?;
        let arena = arena(&world, &ledger, number, plan)?;
        let edges = ledger.spec().edges.len();
        let jitter = Jitter::new(world.adversity.get(), (world.rank, number.tag(0) as u64));
        let source = (0..edges).map(|i| ledger.source(i)).collect();
        Ok(Self {
            number,
            backward_number,
            arena,
            sequence: 1,
            plan,
            ready: VecDeque::with_capacity(edges),
            noticed: vec![false; edges],
            lengths: vec![0; edges],
            arrived_lengths: vec![None; edges],
            places: vec![None; edges],
            source,
            polls: 0,
            jitter,
            ledger,
            world,
        })
    }

    /// Learns the peers' new capacities; a new window if some rank's slots have become too small. Nothing is in flight:
    /// all epochs are closed. *Collective.*
    pub(super) fn resize(&mut self, new_window: bool) -> Result<(), CommError> {
        tell_capacities(&self.world, &mut self.ledger, self.number)?;
        if new_window {
            self.arena.window.free()?;
            self.arena = arena(&self.world, &self.ledger, self.number, self.plan)?;
            self.sequence = 1;
        }
        Ok(())
    }

    pub(super) fn edge(&self, EdgeId(i): EdgeId) -> &Edge {
        &self.ledger.spec().edges[i]
    }

    pub(super) fn leads_home(&self, edge: EdgeId) -> bool {
        self.edge(edge).peer == self.world.rank
    }

    /// Edges to other ranks on which messages leave.
    pub(super) fn sending(&self) -> impl Iterator<Item = EdgeId> + '_ {
        self.ledger.edge_ids().filter(|&edge| self.edge(edge).flow.sends() && !self.leads_home(edge))
    }

    /// Edges to other ranks on which messages arrive.
    pub(super) fn receiving(&self) -> impl Iterator<Item = EdgeId> + '_ {
        self.ledger.edge_ids().filter(|&edge| self.edge(edge).flow.receives() && !self.leads_home(edge))
    }

    /// Whether the sender of a message has to be told that its slot is free: both ends find the same answer, because an
    /// edge that sends here is an edge that receives there.
    pub(super) fn needs_credit(&self, edge: EdgeId, forward: bool) -> bool {
        let peer = self.edge(edge).peer;
        let answers =
            |edge: &Edge| edge.peer == peer && if forward { edge.flow.receives() } else { edge.flow.sends() };
        let answered = self.ledger.spec().edges.iter().any(answers);
        needs_credit(self.arena.slots, if answered { Answer::Message } else { Answer::Nothing })
    }

    pub(super) fn book_length(&mut self, edge: EdgeId, length: usize) {
        self.lengths[edge.0] = length;
    }

    pub(super) fn length(&self, edge: EdgeId) -> usize {
        self.lengths[edge.0]
    }

    /// The buffer that a message is put from.
    pub(super) fn origin(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let origin = self.arena.window.origin_mut(edge.0, ORIGIN_HEAD + bytes)?;
        Ok(&mut origin[ORIGIN_HEAD..])
    }

    /// Puts the packed message into its slot at the peer, with its length before it if the peer cannot know it.
    pub(super) fn put(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let length = self.length(edge);
        let end = ORIGIN_HEAD + length;
        let mut to = self.arena.payload_there(edge.0, self.sequence);
        debug_assert!(length <= self.arena.room_there(edge.0));
        match self.ledger.spec().sizes {
            Sizes::Fixed if length == 0 => Ok(()),
            Sizes::Fixed => self.arena.window.put(edge.0, ORIGIN_HEAD..end, to),
            Sizes::Variable => {
                let start = ORIGIN_HEAD - LENGTH_BYTES;
                let origin = self.arena.window.origin_mut(edge.0, end)?;
                origin[start..ORIGIN_HEAD].copy_from_slice(&(length as u64).to_ne_bytes());
                to.offset -= LENGTH_BYTES;
                self.arena.window.put(edge.0, start..end, to)
            }
        }
    }

    /// A message has arrived; its length is known if its flag told it.
    pub(super) fn notice(&mut self, edge: EdgeId, length: Option<usize>) {
        if !std::mem::replace(&mut self.noticed[edge.0], true) {
            self.arrived_lengths[edge.0] = length;
            self.ready.push_back(edge.0);
        }
    }

    /// The same for a message that is not in the exchange's slot.
    pub(super) fn notice_at(&mut self, edge: EdgeId, length: usize, place: usize) {
        self.places[edge.0] = Some(place);
        self.notice(edge, Some(length));
    }

    pub(super) fn is_noticed(&self, edge: EdgeId) -> bool {
        self.noticed[edge.0]
    }

    /// All messages from other ranks have arrived.
    pub(super) fn notice_all(&mut self) {
        for edge in self.ledger.edge_ids() {
            if self.edge(edge).flow.receives() && !self.leads_home(edge) {
                self.notice(edge, None);
            }
        }
    }

    /// The messages of this rank to itself have arrived.
    pub(super) fn notice_own(&mut self) {
        for i in 0..self.source.len() {
            if self.source[i].is_some() {
                self.notice(EdgeId(i), None);
            }
        }
    }

    pub(super) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Hands out the next message that has arrived.
    pub(super) fn deliver(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let Some(i) = self.ready.pop_front() else { return Ok(None) };
        let edge = EdgeId(i);
        if let Some(source) = self.source[i] {
            let bytes = &self.arena.window.origin(source)[ORIGIN_HEAD..];
            return self.ledger.arrive(edge, bytes).map(Some);
        }
        let payload = self.places[i].unwrap_or_else(|| self.arena.payload_here(i, self.sequence));
        let length = match (self.arrived_lengths[i], self.ledger.spec().sizes) {
            (Some(length), _) => length,
            (None, Sizes::Fixed) => self.ledger.receive_capacity(edge),
            (None, Sizes::Variable) => self.told_length(payload)?,
        };
        if length > self.arena.room_here(i) {
            return Err(self.ledger.mismatch(edge, format!("claims to have {length} bytes")));
        }
        self.jitter.note_read(payload, length);
        self.ledger.arrive(edge, self.arena.window.arrived(payload, length)?).map(Some)
    }

    /// Makes what has been read unreadable if a test wants it; the slots are not released yet.
    pub(super) fn poison_read(&mut self) -> Result<(), CommError> {
        while let Some((offset, length)) = self.jitter.take_read() {
            self.arena.window.poison(offset, length)?;
        }
        Ok(())
    }

    /// The length that was put before a payload.
    fn told_length(&self, payload: usize) -> Result<usize, CommError> {
        let mut length = [0; LENGTH_BYTES];
        length.copy_from_slice(self.arena.window.arrived(payload - LENGTH_BYTES, LENGTH_BYTES)?);
        Ok(usize::try_from(u64::from_ne_bytes(length)).unwrap_or(usize::MAX))
    }

    /// The exchange is over.
    pub(super) fn next_exchange(&mut self) {
        self.noticed.fill(false);
        self.sequence += 1;
    }

    /// To be called after each poll that found nothing: lets MPI work now and then.
    pub(super) fn poke(&mut self) -> Result<(), CommError> {
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_PER_POKE) { self.world.data.poke() } else { Ok(()) }
    }
}

fn tell_capacities(world: &Inner, ledger: &mut Ledger, number: ContextNumber) -> Result<(), CommError> {
    let capacity = |i: usize| ledger.spec().edges[i].send_capacity;
    let capacities = edge_words::tell(world, ledger, number, Along::Forward, capacity)?;
    ledger.learn_capacities(&capacities);
    Ok(())
}

fn arena(world: &Inner, ledger: &Ledger, number: ContextNumber, plan: Plan) -> Result<Arena, CommError> {
    match (plan.memory, world.node.get()) {
        (Memory::Shared, Some(node)) => {
            let member = |rank| node.member(rank).unwrap_or_default();
            Arena::new(world, ledger, number, (&node.communicator, plan), member)
        }
        _ => Arena::new(world, ledger, number, (&world.data, plan), |rank| rank),
    }
}
