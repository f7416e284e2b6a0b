//! The transport over queues of messages.
//!
//! Each sending edge owns one or two buffers. Sending moves a buffer to the receiver; the receiver
//! keeps it while the caller reads it and returns it in `complete`. A sender without a buffer waits
//! for one in `send_buffer`; there is no other flow control.

use super::member::{Member, copy_of};
use super::queues::{Address, Kind, NoMessage};
use std::iter::repeat_with;
use std::rc::Rc;

use crate::buffer::AlignedBuffer;
use crate::ledger::{ExchangeLayout, Ledger};
use crate::negotiation::{decode_length, encode_length};
use crate::transport::{Poll, Transport};
use crate::{CommError, Edge, EdgeId, Growth};

#[derive(Debug)]
pub(super) struct LocalTransport {
    member: Member,
    context: u64,
    layout: Rc<ExchangeLayout>,
    /// Per edge: buffers at hand.
    free: Vec<Vec<AlignedBuffer>>,
    /// Per edge: the buffer being packed.
    packing: Vec<Option<AlignedBuffer>>,
    /// Per edge: the message of this exchange, until `complete` sends the buffer back.
    arrived: Vec<Option<AlignedBuffer>>,
}

impl LocalTransport {
    pub(super) fn open(member: Member, ledger: &mut Ledger) -> Result<Self, CommError> {
        let layout = ledger.layout();
        let buffers = layout.spec().buffering.count();
        let buffers_of = |edge: &Edge| {
            let many = if edge.flow.sends() { buffers } else { 0 };
            (0..many).map(|_| AlignedBuffer::new(edge.send_capacity)).collect()
        };
        let free = layout.spec().edges.iter().map(buffers_of).collect::<Result<Vec<Vec<_>>, _>>()?;
        let edges = free.len();
        let context = member.next_context();
        let [packing, arrived] = [0; 2].map(|_| repeat_with(|| None).take(edges).collect());
        let mut exchange = Self { member, context, layout, free, packing, arrived };
        exchange.tell_capacities(ledger)?;
        Ok(exchange)
    }

    /// Sends the edge's capacity from every sender to its receiver.
    fn tell_capacities(&mut self, ledger: &mut Ledger) -> Result<(), CommError> {
        self.layout = ledger.layout();
        for edge in self.layout.edge_ids() {
            let Edge { flow, send_capacity, .. } = *self.layout.edge(edge);
            if flow.sends() {
                let message = copy_of(&encode_length(send_capacity))?;
                self.post_to_receiver(Kind::Capacity, edge, message);
            }
        }
        let capacity = |edge: EdgeId| {
            if !self.layout.edge(edge).flow.receives() {
                return Ok(0);
            }
            let message = self.take_from_sender(Kind::Capacity, edge)?;
            let length = decode_length(message.bytes());
            length.ok_or_else(|| self.layout.mismatch(edge, "is no capacity"))
        };
        let capacities = self.layout.edge_ids().map(capacity).collect::<Result<Vec<_>, _>>()?;
        ledger.learn_capacities(&capacities);
        self.layout = ledger.layout();
        Ok(())
    }

    fn post_to_receiver(&self, kind: Kind, edge: EdgeId, message: AlignedBuffer) {
        let Edge { peer, send_channel: channel, .. } = *self.layout.edge(edge);
        let address = Address { kind, context: self.context, from: self.member.rank, channel };
        self.member.shared.post(peer, address, message);
    }

    fn take_from_sender(&self, kind: Kind, edge: EdgeId) -> Result<AlignedBuffer, CommError> {
        let Edge { peer, receive_channel, .. } = *self.layout.edge(edge);
        let address = Address { kind, context: self.context, from: peer, channel: receive_channel };
        let awaited = || format!("rank {peer} (channel {receive_channel})");
        self.member.take_one(address, |waited_s| self.layout.timeout(waited_s, awaited()))
    }

    /// Returns a free buffer, or waits for the next one that comes back.
    fn free_buffer(&mut self, edge: EdgeId) -> Result<AlignedBuffer, CommError> {
        if let Some(buffer) = self.free[edge.0].pop() {
            return Ok(buffer);
        }
        let Edge { peer, send_channel: channel, .. } = *self.layout.edge(edge);
        let address = Address { kind: Kind::FreeBuffer, context: self.context, from: peer, channel };
        let awaited = || format!("a free buffer of rank {peer} (channel {channel})");
        self.member.take_one(address, |waited_s| self.layout.timeout(waited_s, awaited()))
    }

    /// The queues that may hold messages still awaited.
    fn awaited(&self, ledger: &Ledger) -> impl Iterator<Item = (usize, Address)> {
        let edges = self.layout.edge_ids().filter(|&edge| ledger.awaits(edge));
        edges.map(|edge| {
            let Edge { peer: from, receive_channel: channel, .. } = *self.layout.edge(edge);
            (edge.0, Address { kind: Kind::Payload, context: self.context, from, channel })
        })
    }
}

impl Transport for LocalTransport {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let buffer = match self.packing[edge.0].take() {
            Some(buffer) => buffer,
            None => self.free_buffer(edge)?,
        };
        let buffer = self.packing[edge.0].insert(buffer);
        buffer.set_length(bytes)?;
        Ok(buffer.bytes_mut())
    }

    fn start(&mut self, edge: EdgeId, _: usize) -> Result<(), CommError> {
        if let Some(message) = self.packing[edge.0].take() {
            self.post_to_receiver(Kind::Payload, edge, message);
        }
        Ok(())
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    /// Messages move by themselves.
    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        let late = |waited_s| self.layout.timeout(waited_s, ledger.awaited_edges());
        let error = |none: NoMessage| none.error(late);
        match poll {
            Poll::Progress | Poll::Finish => return Ok(None),
            Poll::Probe => {
                if !self.member.shared.holds(self.member.rank, self.awaited(ledger)).map_err(error)? {
                    return Ok(None);
                }
            }
            Poll::Wait => (),
        }
        let (edge, message) = self.member.take(|| self.awaited(ledger)).map_err(error)?;
        self.arrived[edge] = Some(message);
        Ok(Some(EdgeId(edge)))
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        let message = self.arrived[edge.0].as_ref().map(AlignedBuffer::bytes);
        message.ok_or_else(|| self.layout.mismatch(edge, "is not there"))
    }

    fn complete(&mut self) -> Result<(), CommError> {
        for (edge, message) in self.layout.spec().edges.iter().zip(&mut self.arrived) {
            let Some(message) = message.take() else { continue };
            let (context, from) = (self.context, self.member.rank);
            let address = Address { kind: Kind::FreeBuffer, context, from, channel: edge.receive_channel };
            self.member.shared.post(edge.peer, address, message);
        }
        Ok(())
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let before = ledger.layout();
        ledger.apply(need);
        self.tell_capacities(ledger)?;
        Ok(ledger.growth_since(&before))
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        self.member.barrier()
    }
}

impl Drop for LocalTransport {
    fn drop(&mut self) {
        self.member.shared.close(self.context);
    }
}
