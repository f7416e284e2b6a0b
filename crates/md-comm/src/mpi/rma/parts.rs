//! What all one-sided contexts have, and what schemes do with it.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use super::super::adversity::Jitter;
use super::super::edge_words::{self, Along};
use super::super::ffi::Memory;
use super::super::numbers::ContextNumber;
use super::super::overflow::Overflow;
use super::super::world::Inner;
use super::arena::{Arena, LENGTH_BYTES, ORIGIN_HEAD, Plan};
use super::rehearsal::Stores;
use crate::flag_protocol::{Answer, needs_credit};
use crate::ledger::Ledger;
use crate::{AlignedBuffer, Arrival, CommError, Edge, EdgeId, ExchangeSpec, Operation, RmaOptions, Sizes};

/// Polls between two calls that let MPI work; a load is a hundred times cheaper than such a call.
const POLLS_PER_POKE: u32 = 16;

/// Where a message that has arrived is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whereabouts {
    /// In the exchange's slot, or, with gets, in the edge's buffer.
    Slot,
    /// At an offset of the own part.
    Window(usize),
    /// In one of [`Parts::held`].
    Held(usize),
}

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
    /// How slots in shared memory are written.
    pub(super) stores: Stores,
    /// Told to have arrived, not looked at yet.
    told: VecDeque<usize>,
    /// Arrived, not handed out yet.
    ready: VecDeque<usize>,
    noticed: Vec<bool>,
    /// Lengths of the messages packed, of those whose arrival told a length, and of all that have arrived.
    lengths: Vec<usize>,
    told_lengths: Vec<Option<usize>>,
    arrived_lengths: Vec<usize>,
    whereabouts: Vec<Whereabouts>,
    /// Messages that were copied out of the window.
    pub(super) held: Vec<AlignedBuffer>,
    /// For edges that receive from this rank itself: the sending edge.
    source: Vec<Option<usize>>,
    polls: u32,
    /// For messages that no slot has room for.
    pub(super) overflow: Overflow,
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
        let overflow = Overflow::open(&world, &ledger)?;
        let [told, ready] = [0; 2].map(|_| VecDeque::with_capacity(edges));
        Ok(Self {
            number,
            backward_number,
            arena,
            sequence: 1,
            plan,
            stores: Stores::Cached,
            told,
            ready,
            noticed: vec![false; edges],
            lengths: vec![0; edges],
            told_lengths: vec![None; edges],
            arrived_lengths: vec![0; edges],
            whereabouts: vec![Whereabouts::Slot; edges],
            held: Vec::new(),
            source,
            polls: 0,
            overflow,
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

    /// Whether receivers read, instead of senders writing.
    pub(super) fn gets(&self) -> bool {
        self.plan.options.operation == Operation::Get
    }

    pub(super) fn options(&self) -> RmaOptions {
        self.plan.options
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
        self.ledger.edge_ids().filter(|&edge| self.receives_from_others(edge))
    }

    pub(super) fn receives_from_others(&self, edge: EdgeId) -> bool {
        self.edge(edge).flow.receives() && !self.leads_home(edge)
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

    /// True length of the message packed.
    pub(super) fn length(&self, edge: EdgeId) -> usize {
        self.lengths[edge.0]
    }

    /// Whether the message packed is longer than its slot at either end.
    pub(super) fn overflows(&self, edge: EdgeId) -> bool {
        self.length(edge) > self.arena.room_out(edge.0)
    }

    /// Bytes of the message packed that go into its slot.
    pub(super) fn slot_length(&self, edge: EdgeId) -> usize {
        if self.overflows(edge) { 0 } else { self.length(edge) }
    }

    /// The buffer that a message is put from.
    pub(super) fn origin(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let origin = self.arena.window.origin_mut(edge.0, ORIGIN_HEAD + bytes)?;
        Ok(&mut origin[ORIGIN_HEAD..])
    }

    /// Copies the packed message past the caches into its slot at the peer.
    pub(super) fn stream(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (length, to) = (self.slot_length(edge), self.arena.payload_there(edge.0, self.sequence));
        if length == 0 {
            // Nothing, or what has gone another way because it does not fit.
            return Ok(());
        }
        self.arena.window.stream(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, to)
    }

    /// The slot that the receiver gets a message from.
    pub(super) fn own_slot(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let slot = self.arena.payload_here(edge.0, self.sequence);
        self.arena.window.own_slot(slot, bytes)
    }

    /// Puts the packed message into its slot at the peer, with its length before it if the peer cannot know it.
    pub(super) fn put(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (told, length) = (self.length(edge) as u64, self.slot_length(edge));
        let end = ORIGIN_HEAD + length;
        let mut to = self.arena.payload_there(edge.0, self.sequence);
        match self.ledger.spec().sizes {
            Sizes::Fixed if length == 0 => Ok(()),
            Sizes::Fixed => self.arena.window.put(edge.0, ORIGIN_HEAD..end, to),
            Sizes::Variable => {
                let start = ORIGIN_HEAD - LENGTH_BYTES;
                let origin = self.arena.window.origin_mut(edge.0, end)?;
                origin[start..ORIGIN_HEAD].copy_from_slice(&told.to_ne_bytes());
                to.offset -= LENGTH_BYTES;
                self.arena.window.put(edge.0, start..end, to)
            }
        }
    }

    /// Completes the slot that the receiver gets from: the payload is there, the length is not.
    pub(super) fn offer(&mut self, edge: EdgeId) -> Result<(), CommError> {
        if self.ledger.spec().sizes == Sizes::Variable {
            let (told, word) = (self.length(edge) as u64, self.arena.payload_here(edge.0, self.sequence));
            let word = self.arena.window.own_slot(word - LENGTH_BYTES, LENGTH_BYTES)?;
            word.copy_from_slice(&told.to_ne_bytes());
        }
        Ok(())
    }

    /// Gets the sender's slot: all of it if the length is not known, because asking first would cost a round trip.
    pub(super) fn get(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let mut from = self.arena.payload_there(edge.0, self.sequence);
        match self.ledger.spec().sizes {
            Sizes::Fixed => match self.ledger.receive_capacity(edge) {
                0 => Ok(()),
                length => self.arena.window.get(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, from),
            },
            Sizes::Variable => {
                let end = ORIGIN_HEAD + self.arena.room_in(edge.0);
                from.offset -= LENGTH_BYTES;
                self.arena.window.get(edge.0, ORIGIN_HEAD - LENGTH_BYTES..end, from)
            }
        }
    }

    /// A message has arrived; its length is known if its flag told it.
    pub(super) fn notice(&mut self, edge: EdgeId, length: Option<usize>) {
        if !std::mem::replace(&mut self.noticed[edge.0], true) {
            self.told_lengths[edge.0] = length;
            self.told.push_back(edge.0);
        }
    }

    /// The same for a message that is not in the exchange's slot.
    pub(super) fn notice_at(&mut self, edge: EdgeId, length: usize, place: usize) {
        self.whereabouts[edge.0] = Whereabouts::Window(place);
        self.notice(edge, Some(length));
    }

    /// The same for a message that was copied out.
    pub(super) fn notice_held(&mut self, edge: EdgeId, length: usize, buffer: usize) {
        self.whereabouts[edge.0] = Whereabouts::Held(buffer);
        self.notice(edge, Some(length));
    }

    pub(super) fn is_noticed(&self, edge: EdgeId) -> bool {
        self.noticed[edge.0]
    }

    /// All messages from other ranks have arrived.
    pub(super) fn notice_all(&mut self) {
        for edge in self.ledger.edge_ids() {
            if self.receives_from_others(edge) {
                self.notice(edge, None);
            }
        }
    }

    /// The messages of this rank to itself have arrived.
    pub(super) fn notice_own(&mut self) {
        for i in 0..self.source.len() {
            if self.source[i].is_some() {
                self.noticed[i] = true;
                self.ready.push_back(i);
            }
        }
    }

    pub(super) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether there is notice of messages that have not been looked at.
    pub(super) fn any_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// Looks at the messages noticed since the last call: they are ready, or come by overflow.
    pub(super) fn settle(&mut self) -> Result<(), CommError> {
        while let Some(i) = self.told.pop_front() {
            let (length, sizes) = (self.find_length(EdgeId(i))?, self.ledger.spec().sizes);
            self.arrived_lengths[i] = length;
            match (length > self.arena.room_in(i), sizes) {
                (false, _) => self.ready.push_back(i),
                (true, Sizes::Variable) => {
                    self.overflow.expect(&self.world, &self.ledger, (EdgeId(i), length))?;
                }
                (true, Sizes::Fixed) => {
                    return Err(self.ledger.mismatch(EdgeId(i), format!("claims to have {length} bytes")));
                }
            }
        }
        self.overflow.poll(|i| self.ready.push_back(i))
    }

    /// Hands out the next message that has arrived.
    pub(super) fn deliver(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let Some(i) = self.ready.pop_front() else { return Ok(None) };
        let edge = EdgeId(i);
        let length = self.arrived_lengths[i];
        let bytes = match (self.source[i], self.overflow.message(&self.ledger, edge)?) {
            (Some(source), _) => &self.arena.window.origin(source)?[ORIGIN_HEAD..],
            (None, Some(message)) => message,
            (None, None) if self.gets() => {
                piece(self.arena.window.origin(i)?, ORIGIN_HEAD..ORIGIN_HEAD + length)
            }
            (None, None) => match self.whereabouts[i] {
                Whereabouts::Held(buffer) => piece(self.held[buffer].bytes(), 0..length),
                Whereabouts::Slot | Whereabouts::Window(_) => {
                    let payload = self.payload(i);
                    self.jitter.note_read(payload, length);
                    self.arena.window.arrived(payload, length)?
                }
            },
        };
        self.ledger.arrive(edge, bytes).map(Some)
    }

    /// Makes what has been read unreadable if a test wants it; the slots are not released yet.
    pub(super) fn poison_read(&mut self) -> Result<(), CommError> {
        while let Some((offset, length)) = self.jitter.take_read() {
            self.arena.window.poison(offset, length)?;
        }
        Ok(())
    }

    /// Where a message is in the own part.
    fn payload(&self, i: usize) -> usize {
        match self.whereabouts[i] {
            Whereabouts::Window(place) => place,
            Whereabouts::Slot | Whereabouts::Held(_) => self.arena.payload_here(i, self.sequence),
        }
    }

    /// The length of a message: known, told by its flag, or beside its payload.
    fn find_length(&self, edge: EdgeId) -> Result<usize, CommError> {
        match (self.told_lengths[edge.0], self.ledger.spec().sizes) {
            (Some(length), _) => return Ok(length),
            (None, Sizes::Fixed) => return Ok(self.ledger.receive_capacity(edge)),
            (None, Sizes::Variable) => (),
        }
        let word = if self.gets() {
            self.arena.window.origin(edge.0)?.get(ORIGIN_HEAD - LENGTH_BYTES..ORIGIN_HEAD)
        } else {
            Some(self.arena.window.arrived(self.payload(edge.0) - LENGTH_BYTES, LENGTH_BYTES)?)
        };
        let word = word.and_then(|word| word.try_into().ok()).unwrap_or([u8::MAX; LENGTH_BYTES]);
        Ok(usize::try_from(u64::from_ne_bytes(word)).unwrap_or(usize::MAX))
    }

    /// The exchange is over.
    pub(super) fn next_exchange(&mut self) {
        self.noticed.fill(false);
        self.overflow.next_exchange();
        self.sequence += 1;
    }

    /// To be called after each poll that found nothing: lets MPI work now and then.
    pub(super) fn poke(&mut self) -> Result<(), CommError> {
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_PER_POKE) { self.world.poke() } else { Ok(()) }
    }
}

/// Part of an aligned buffer: nothing of one that is too short or was never filled, but that aligned too.
fn piece(buffer: &[u8], range: Range<usize>) -> &[u8] {
    buffer.get(range).unwrap_or(&buffer[..0])
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
