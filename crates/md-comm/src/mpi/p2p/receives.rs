//! What a receiver has to know and do before a message may come.

use super::P2p;
use crate::mpi::edge_words::{self, Along};
use crate::mpi::ffi::Cancelled;
use crate::{CommError, EdgeId};

impl P2p {
    /// Every sender tells its receiver the edge's capacity, with one message per edge.
    pub(super) fn tell_capacities(&mut self) -> Result<(), CommError> {
        let capacity = |i: usize| self.ledger.spec().edges[i].send_capacity;
        let capacities = edge_words::tell(&self.world, &self.ledger, self.number, Along::Forward, capacity)?;
        self.ledger.learn_capacities(&capacities);
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
