//! What a receiver has to know and do before a message may come.

use super::P2p;
use crate::mpi::ffi::{Cancelled, Transfers};
use crate::negotiation::{LENGTH_BYTES, encode_length};
use crate::patience::Patience;
use crate::{CommError, EdgeId};

impl P2p {
    /// Every sender tells its receiver the edge's capacity, with one message per edge.
    pub(super) fn tell_capacities(&mut self) -> Result<(), CommError> {
        let edges = &self.ledger.spec().edges;
        let mut told = Transfers::outgoing(edges.iter().map(|_| LENGTH_BYTES));
        let mut heard = Transfers::incoming(edges.iter().map(|_| LENGTH_BYTES));
        for (i, edge) in edges.iter().enumerate() {
            if edge.flow.receives() {
                let tag = self.number.tag(edge.receive_channel);
                heard.receive(i, &self.world.control, (edge.peer, tag, LENGTH_BYTES))?;
            }
            if edge.flow.sends() {
                let capacity = encode_length(edge.send_capacity);
                told.bytes_mut(i, LENGTH_BYTES)?.copy_from_slice(&capacity);
                told.send(i, &self.world.control, (edge.peer, self.number.tag(edge.send_channel)))?;
            }
        }
        let mut patience = Patience::new(self.world.watchdog());
        while told.any_active() || heard.any_active() {
            told.poll(|_| ())?;
            heard.poll(|i| self.ready.push_back(i))?;
            while let Some(i) = self.ready.pop_front() {
                self.ledger.learn_capacity(EdgeId(i), heard.bytes(i)?)?;
            }
            patience.pause().map_err(|expired| {
                let edges = &self.ledger.spec().edges;
                let late = (0..edges.len()).filter(|&i| heard.is_active(i) || told.is_active(i));
                let late = late.map(|i| format!("rank {}", edges[i].peer)).collect::<Vec<_>>();
                self.ledger.timeout(expired.waited_s, format!("the capacities of {}", late.join(", ")))
            })?;
        }
        Ok(())
    }

    pub(super) fn post_receives(&mut self) -> Result<(), CommError> {
        for (i, edge) in self.ledger.spec().edges.iter().enumerate() {
            if edge.flow.receives() {
                let (tag, most) =
                    (self.number.tag(edge.receive_channel), self.ledger.receive_capacity(EdgeId(i)));
                self.receives.receive(i, &self.world.data, (edge.peer, tag, most))?;
            }
        }
        Ok(())
    }

    /// Takes back what was posted for the next exchange.
    pub(super) fn withdraw_receives(&mut self) -> Result<(), CommError> {
        for edge in self.ledger.edge_ids().filter(|&EdgeId(i)| self.ledger.spec().edges[i].flow.receives()) {
            let early = !self.receives.is_active(edge.0)
                || self.receives.cancel(edge.0, self.world.watchdog())? == Cancelled::Delivered;
            if early {
                return Err(self.ledger.mismatch(edge, "came between two exchanges".to_owned()));
            }
        }
        Ok(())
    }
}
