//! What a receiver has to know and do before a message may come.

use super::{NOTICE_BYTES, P2p};
use crate::mpi::ffi::Cancelled;
use crate::negotiation::decode_length;
use crate::{CommError, EdgeId, Sizes};

impl P2p {
    pub(super) fn post_receives(&mut self) -> Result<(), CommError> {
        for (i, edge) in self.terms.spec().edges.iter().enumerate() {
            if edge.flow.receives() {
                let notice = if self.terms.spec().sizes == Sizes::Variable { NOTICE_BYTES } else { 0 };
                let most = self.terms.receive_capacity(EdgeId(i)) + notice;
                let tag = self.number.tag(edge.receive_channel);
                self.receives.receive(i, &self.world.data, edge.peer, tag, most)?;
            }
        }
        Ok(())
    }

    /// The length of a message that comes by another way, if what was received is such a notice.
    pub(super) fn announced(&self, edge: EdgeId) -> Result<Option<usize>, CommError> {
        let bytes = self.receives.bytes(edge.0)?;
        match bytes.get(self.terms.receive_capacity(edge)..) {
            Some(notice) if !notice.is_empty() => {
                let length = decode_length(notice);
                length.map(Some).ok_or_else(|| self.terms.mismatch(edge, "is too long".to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Takes back what was posted for the next exchange.
    pub(super) fn withdraw_receives(&mut self) -> Result<(), CommError> {
        for edge in self.terms.edge_ids().filter(|&EdgeId(i)| self.terms.spec().edges[i].flow.receives()) {
            let early = !self.receives.is_active(edge.0)
                || self.receives.cancel(edge.0, self.world.watchdog())? == Cancelled::Delivered;
            if early {
                return Err(self.terms.mismatch(edge, "came between two exchanges".to_owned()));
            }
        }
        Ok(())
    }
}
