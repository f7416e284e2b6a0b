//! The path of messages that have outgrown the capacity agreed for their edge: they travel beside
//! the transport, as two-sided messages.
//!
//! Structure: the transport carries the true length to the receiver by its own means (a length
//! beside the payload, a flag, a notice); the payload is sent with a context number of its own, so
//! that it matches nothing else; the receiver posts a receive of exactly that length. Send buffers
//! alternate as the transport's do: when a buffer may be written again, the message that left from
//! it has been received.
//! Relies on: messages between two ranks with one tag do not overtake each other (MPI-3.1 section
//! 3.5).
//! Cost: a message with rendezvous after the notice, and memory for it; once per growth, because
//! the next negotiation makes room.
//! Advantage: no message is ever too long, and the ranks need not agree on lengths in advance.

use super::buffer_sets::next_in_turn;
use super::ffi::Transfers;
use super::numbers::ContextNumber;
use super::world_state::WorldState;
use crate::ledger::ExchangeLayout;
use crate::spin_wait::wait_until;
use crate::{CommError, Edge, EdgeId};

/// Overflow messages of one context.
#[derive(Debug)]
pub(super) struct Overflow {
    pub(super) number: ContextNumber,
    /// One or two sets of send buffers, used in turn.
    sends: Vec<Transfers>,
    /// The set that this exchange packs.
    current: usize,
    receives: Transfers,
    /// The length of this exchange's message per edge, if it takes this path.
    expected: Vec<Option<usize>>,
}

impl Overflow {
    /// Creates the overflow of a context, with a number beside that of the context itself.
    pub(super) fn new(number: ContextNumber, layout: &ExchangeLayout) -> Self {
        let many = layout.spec().edges.len();
        let sends = (0..layout.spec().buffering.count()).map(|_| Transfers::outgoing(many)).collect();
        let receives = Transfers::incoming(many);
        Self { number, sends, current: 0, receives, expected: vec![None; many] }
    }

    /// Returns the buffer of a message to send; waits until the last message from it has been
    /// received.
    pub(super) fn buffer(
        &mut self,
        world: &WorldState,
        layout: &ExchangeLayout,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&mut [u8], CommError> {
        let late = |_: &Self, waited_s| late(layout, edge, waited_s);
        wait_until(world.watchdog(), self, late, |overflow| {
            overflow.poll_sends()?;
            Ok(!overflow.sends[overflow.current].is_active(edge.0))
        })?;
        self.sends[self.current].bytes_mut(edge.0, bytes)
    }

    /// Sends the packed message.
    pub(super) fn send(
        &mut self,
        world: &WorldState,
        layout: &ExchangeLayout,
        edge: EdgeId,
    ) -> Result<(), CommError> {
        let Edge { peer, send_channel, .. } = *layout.edge(edge);
        self.sends[self.current].send(edge.0, &world.communicator, peer, self.number.tag(send_channel))
    }

    /// Records that the edge's message has this length and takes this path.
    pub(super) fn expect(
        &mut self,
        world: &WorldState,
        layout: &ExchangeLayout,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<(), CommError> {
        let Edge { peer, receive_channel, .. } = *layout.edge(edge);
        self.expected[edge.0] = Some(bytes);
        self.receives.receive(edge.0, &world.communicator, peer, self.number.tag(receive_channel), bytes)
    }

    /// Lets MPI work and passes the edges of finished messages to `done`. Never blocks.
    pub(super) fn poll(&mut self, done: impl FnMut(usize)) -> Result<(), CommError> {
        self.receives.poll(done)?;
        self.poll_sends()
    }

    fn poll_sends(&mut self) -> Result<(), CommError> {
        self.sends.iter_mut().try_for_each(|sends| sends.poll(|_| ()))
    }

    /// Returns this exchange's message along the edge, if it has taken this path.
    pub(super) fn message(&self, layout: &ExchangeLayout, edge: EdgeId) -> Result<Option<&[u8]>, CommError> {
        let Some(expected) = self.expected[edge.0] else { return Ok(None) };
        let bytes = self.receives.bytes(edge.0)?;
        if bytes.len() == expected {
            return Ok(Some(bytes));
        }
        Err(layout.mismatch(edge, format_args!("has {} bytes, announced were {expected}", bytes.len())))
    }

    /// Ends the exchange.
    pub(super) fn next_exchange(&mut self) {
        self.expected.fill(None);
        self.current = next_in_turn(self.current, self.sends.len());
    }

    /// Waits until everything sent has been received.
    pub(super) fn finish(&mut self, world: &WorldState, layout: &ExchangeLayout) -> Result<(), CommError> {
        let late = |overflow: &Self, waited_s| {
            let stuck = |edge: &EdgeId| overflow.sends.iter().any(|sends| sends.is_active(edge.0));
            late(layout, layout.edge_ids().find(stuck).unwrap_or(EdgeId(0)), waited_s)
        };
        wait_until(world.watchdog(), self, late, |overflow| {
            overflow.poll_sends()?;
            Ok(!overflow.sends.iter().any(Transfers::any_active))
        })
    }
}

fn late(layout: &ExchangeLayout, EdgeId(i): EdgeId, waited_s: f64) -> CommError {
    let awaited = layout.spec().edges.get(i).map_or_else(String::new, |edge| {
        format!("rank {} (channel {}) to receive a long message", edge.peer, edge.send_channel)
    });
    layout.timeout(waited_s, awaited)
}
