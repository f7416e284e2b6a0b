//! The contract over mailboxes.
//!
//! Each sending edge owns one or two buffers (its slots). Sending moves a buffer to the receiver; the receiver keeps it
//! while the caller reads it and gives it back in `complete`. A sender whose slots are all away waits for one in
//! `send_buffer`: that is all the flow control there is, and it is exact.

use super::mailbox::{Address, Kind, NoMessage};
use super::world::{Member, copy_of};
use crate::buffer::AlignedBuffer;
use crate::ledger::Ledger;
use crate::negotiation::{Change, encode_length};
use crate::{Arrival, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Growth, Traffic};

#[derive(Debug)]
pub(super) struct LocalExchange {
    member: Member,
    context: u64,
    ledger: Ledger,
    /// Per edge: slots at home.
    free: Vec<Vec<AlignedBuffer>>,
    /// Per edge: the slot being packed.
    packing: Vec<Option<AlignedBuffer>>,
    /// Per edge: the message of this exchange, until `complete` sends the buffer home.
    arrived: Vec<Option<AlignedBuffer>>,
}

impl LocalExchange {
    pub(super) fn open(member: Member, spec: ExchangeSpec) -> Result<Self, CommError> {
        let ledger = Ledger::new(member.rank, member.shared.ranks(), spec)?;
        let slots = ledger.spec().buffering.count();
        let slots_of = |edge: &Edge| {
            if edge.flow.sends() { vec![AlignedBuffer::new(edge.send_capacity); slots] } else { Vec::new() }
        };
        let free: Vec<_> = ledger.spec().edges.iter().map(slots_of).collect();
        let edges = free.len();
        let context = member.next_context();
        let (packing, arrived) = (vec![None; edges], vec![None; edges]);
        let mut exchange = Self { member, context, ledger, free, packing, arrived };
        exchange.tell_capacities()?;
        Ok(exchange)
    }

    /// Every sender tells its receiver the edge's capacity.
    fn tell_capacities(&mut self) -> Result<(), CommError> {
        for edge in self.ledger.edge_ids() {
            let Edge { flow, send_capacity, .. } = *self.ledger.edge(edge)?;
            if flow.sends() {
                let message = copy_of(&encode_length(send_capacity));
                self.post_to_receiver(Kind::Capacity, edge, message);
            }
        }
        for edge in self.ledger.edge_ids() {
            if !self.ledger.edge(edge)?.flow.receives() {
                continue;
            }
            let message = self.take_from_sender(Kind::Capacity, edge)?;
            self.ledger.learn_capacity(edge, message.bytes())?;
        }
        Ok(())
    }

    fn post_to_receiver(&self, kind: Kind, edge: EdgeId, message: AlignedBuffer) {
        let Edge { peer, send_channel: channel, .. } = self.ledger.spec().edges[edge.0];
        let address = Address { kind, context: self.context, from: self.member.rank, channel };
        self.member.shared.post(peer, address, message);
    }

    fn take_from_sender(&self, kind: Kind, edge: EdgeId) -> Result<AlignedBuffer, CommError> {
        let Edge { peer, receive_channel, .. } = self.ledger.spec().edges[edge.0];
        let address = Address { kind, context: self.context, from: peer, channel: receive_channel };
        let found = self.member.take(|| [(0, address)].into_iter());
        let awaited = || format!("rank {peer} (channel {receive_channel})");
        found.map(|(_, message)| message).map_err(|none| self.error(none, awaited()))
    }

    /// A slot at home, or the next one that comes home.
    fn free_slot(&mut self, edge: EdgeId) -> Result<AlignedBuffer, CommError> {
        if let Some(slot) = self.free[edge.0].pop() {
            return Ok(slot);
        }
        let Edge { peer, send_channel: channel, .. } = self.ledger.spec().edges[edge.0];
        let address = Address { kind: Kind::FreeSlot, context: self.context, from: peer, channel };
        let found = self.member.take(|| [(0, address)].into_iter());
        let awaited = || format!("a free slot of rank {peer} (channel {channel})");
        found.map(|(_, slot)| slot).map_err(|none| self.error(none, awaited()))
    }

    /// The queues that may hold messages still awaited.
    fn awaited(&self) -> impl Iterator<Item = (usize, Address)> {
        let edges = self.ledger.edge_ids().filter(|&edge| self.ledger.awaits(edge));
        edges.map(|EdgeId(i)| {
            let Edge { peer: from, receive_channel: channel, .. } = self.ledger.spec().edges[i];
            (i, Address { kind: Kind::Payload, context: self.context, from, channel })
        })
    }

    fn deliver(&mut self, edge: usize, message: AlignedBuffer) -> Result<Option<Arrival<'_>>, CommError> {
        let message = self.arrived[edge].insert(message);
        self.ledger.arrive(EdgeId(edge), message.bytes()).map(Some)
    }

    fn error(&self, none: NoMessage, awaited: String) -> CommError {
        match none {
            NoMessage::PeerFailed(rank) => CommError::PeerFailed { rank },
            NoMessage::Expired { waited_s } => self.ledger.timeout(waited_s, awaited),
        }
    }
}

impl Exchange for LocalExchange {
    fn spec(&self) -> &ExchangeSpec {
        self.ledger.spec()
    }

    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.ledger.pack(edge, bytes)?;
        let slot = match self.packing[edge.0].take() {
            Some(slot) => slot,
            None => self.free_slot(edge)?,
        };
        let slot = self.packing[edge.0].insert(slot);
        slot.set_length(bytes);
        Ok(slot.bytes_mut())
    }

    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        self.ledger.start(edge)?;
        if let Some(message) = self.packing[edge.0].take() {
            self.post_to_receiver(Kind::Payload, edge, message);
        }
        Ok(())
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.ledger.initiate()
    }

    /// Nothing to do: messages move by themselves.
    fn progress(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    fn has_arrival(&mut self) -> Result<bool, CommError> {
        self.ledger.expect_initiated()?;
        let holds = self.member.shared.holds(self.member.rank, self.awaited());
        holds.map_err(|none| self.error(none, self.ledger.awaited_edges()))
    }

    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        self.ledger.expect_initiated()?;
        if self.ledger.all_arrived() {
            return Ok(None);
        }
        let found = self.member.take(|| self.awaited());
        let (edge, message) = found.map_err(|none| self.error(none, self.ledger.awaited_edges()))?;
        self.deliver(edge, message)
    }

    fn complete(&mut self) -> Result<(), CommError> {
        self.ledger.complete()?;
        for (edge, slot) in self.ledger.spec().edges.iter().zip(&mut self.arrived) {
            let Some(message) = slot.take() else { continue };
            let (context, from) = (self.context, self.member.rank);
            let address = Address { kind: Kind::FreeSlot, context, from, channel: edge.receive_channel };
            self.member.shared.post(edge.peer, address, message);
        }
        Ok(())
    }

    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        Ok(Box::new(Self::open(self.member.clone(), self.ledger.reversed_spec())?))
    }

    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        let mine = self.ledger.change(need)?;
        let change = Change::from_level(self.member.highest(mine.level())?.into());
        if change != Change::None {
            self.ledger.apply(need);
            self.tell_capacities()?;
        }
        Ok(change.growth())
    }

    fn traffic(&self) -> Traffic {
        self.ledger.traffic()
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        self.ledger.expect_idle("finalised")?;
        self.member.barrier()?;
        self.member.shared.forget(self.member.rank, self.context);
        Ok(())
    }
}
