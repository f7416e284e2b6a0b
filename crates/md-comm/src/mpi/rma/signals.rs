//! Messages without content along the edges, used as flags: forward (a message is in its buffer)
//! and backward (a buffer is free).
//!
//! One receive per edge is posted ahead, and at most one send per edge is under way.

use super::super::ffi::{Cancelled, Transfers};
use super::super::numbers::ContextNumber;
use super::WindowContext;
use crate::mpi::edge_words::Along;
use crate::{CommError, EdgeId};

/// One direction of signals.
#[derive(Debug)]
pub(super) struct Signals {
    number: ContextNumber,
    along: Along,
    leaving: Transfers,
    coming: Transfers,
    /// Edges on which signals arrive.
    listened: Vec<EdgeId>,
    heard: Vec<usize>,
}

impl Signals {
    /// Posts receives on the given edges. Backward signals have numbers of their own, because
    /// otherwise they would match forward ones of another edge with the same channel.
    pub(super) fn open(
        context: &WindowContext,
        along: Along,
        listened: Vec<EdgeId>,
    ) -> Result<Self, CommError> {
        let edges = context.layout.spec().edges.len();
        let number = match along {
            Along::Forward => context.number,
            Along::Backward => context.backward_number,
        };
        let (leaving, coming) = (Transfers::outgoing(edges), Transfers::incoming(edges));
        let heard = Vec::with_capacity(edges);
        let mut signals = Self { number, along, leaving, coming, listened, heard };
        signals.listen(context)?;
        Ok(signals)
    }

    /// Posts the receives that are not posted.
    pub(super) fn listen(&mut self, context: &WindowContext) -> Result<(), CommError> {
        for &edge in &self.listened {
            if self.coming.is_active(edge.0) {
                continue;
            }
            let (peer, [_, channel]) = (context.edge(edge).peer, self.along.channels(context.edge(edge)));
            self.coming.receive(edge.0, &context.world.communicator, peer, self.number.tag(channel), 0)?;
        }
        Ok(())
    }

    /// Returns whether the last signal along the edge has left.
    pub(super) fn has_left(&mut self, edge: EdgeId) -> Result<bool, CommError> {
        self.leaving.poll(|_| ())?;
        Ok(!self.leaving.is_active(edge.0))
    }

    /// Sends a signal; the last one must have left.
    pub(super) fn raise(&mut self, context: &WindowContext, edge: EdgeId) -> Result<(), CommError> {
        let (peer, [channel, _]) = (context.edge(edge).peer, self.along.channels(context.edge(edge)));
        self.leaving.send(edge.0, &context.world.communicator, peer, self.number.tag(channel))
    }

    /// Returns the edges whose signals have arrived since the last call.
    pub(super) fn poll(&mut self) -> Result<&[usize], CommError> {
        self.heard.clear();
        let heard = &mut self.heard;
        self.coming.poll(|i| heard.push(i))?;
        Ok(&self.heard)
    }

    /// Waits until all signals have left. They have no content, so that the library sends them at
    /// once.
    pub(super) fn finish(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.wait_for("signals to leave", |_| {
            self.leaving.poll(|_| ())?;
            Ok(!self.leaving.any_active())
        })
    }

    /// Cancels the receives posted ahead.
    pub(super) fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.finish(context)?;
        for &edge in &self.listened {
            if self.coming.is_active(edge.0)
                && self.coming.cancel(edge.0, context.world.watchdog())? == Cancelled::Delivered
            {
                return Err(context.layout.mismatch(edge, "came between two exchanges"));
            }
        }
        Ok(())
    }
}
