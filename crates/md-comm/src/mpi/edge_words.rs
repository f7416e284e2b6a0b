//! One number along every edge: the exchange of capacities and addresses between the two ends of an
//! edge.
//!
//! Structure: all messages are posted at once and awaited together. Consecutive rounds cannot mix
//! although they use the same tags, because messages between two ranks with one tag do not overtake
//! each other and every rank plays the rounds in the same order. Used when contexts are opened and
//! negotiated, never in an exchange.

use super::ffi::Transfers;
use super::numbers::ContextNumber;
use super::world_state::WorldState;
use crate::ledger::{ExchangeLayout, Ledger};
use crate::negotiation::{LENGTH_BYTES, decode_length, encode_length};
use crate::spin_wait::SpinWait;
use crate::{CommError, Edge, EdgeId, Flow, Rank};

/// Direction of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// In the direction of the messages.
    Forward,
    /// From the messages' receivers to their senders.
    Backward,
}

impl Along {
    pub(super) fn sends(self, edge: &Edge) -> bool {
        if self == Self::Forward { edge.flow.sends() } else { edge.flow.receives() }
    }

    pub(super) fn receives(self, edge: &Edge) -> bool {
        if self == Self::Forward { edge.flow.receives() } else { edge.flow.sends() }
    }

    /// Returns the channels for sending and receiving.
    pub(super) fn channels(self, edge: &Edge) -> [u16; 2] {
        let [send, receive] = [edge.send_channel, edge.receive_channel];
        if self == Self::Forward { [send, receive] } else { [receive, send] }
    }
}

/// The ranks that receive a message from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recipients {
    /// The ranks for which a number is meant.
    Receivers,
    /// Senders too, from peers that have no number for them: no rank goes on before all of its
    /// peers have come this far.
    All,
}

/// Sends the edge's capacity from every sender to its receiver. *Collective.*
pub(super) fn tell_capacities(
    world: &WorldState,
    ledger: &mut Ledger,
    number: ContextNumber,
    heard: Recipients,
) -> Result<(), CommError> {
    let edges = &ledger.spec().edges;
    let capacities = tell(world, ledger, number, Along::Forward, heard, |i| edges[i].send_capacity)?;
    ledger.learn_capacities(&capacities);
    Ok(())
}

/// Sends `word(edge)` to the other end and returns what the other ends sent (0 where an end sends
/// none). *Collective.*
pub(super) fn tell(
    world: &WorldState,
    layout: &ExchangeLayout,
    number: ContextNumber,
    along: Along,
    heard: Recipients,
    word: impl Fn(usize) -> usize,
) -> Result<Vec<usize>, CommError> {
    let edges = &layout.spec().edges;
    let mut outgoing = Transfers::outgoing(edges.len());
    let mut incoming = Transfers::incoming(edges.len());
    for (i, edge) in edges.iter().enumerate() {
        let [send, receive] = along.channels(edge).map(|channel| number.word_tag(channel));
        let [sends, receives] = [along.sends(edge), along.receives(edge)];
        // An answer travels against the direction of an edge that has only one, hence on the same
        // channel.
        let answers = heard == Recipients::All && !is_mutual(edges, edge.peer);
        if receives || answers {
            let tag = if receives { receive } else { send };
            incoming.receive(i, &world.communicator, edge.peer, tag, LENGTH_BYTES)?;
        }
        if sends || answers {
            let tag = if sends { send } else { receive };
            outgoing.bytes_mut(i, LENGTH_BYTES)?.copy_from_slice(&encode_length(word(i)));
            outgoing.send(i, &world.communicator, edge.peer, tag)?;
        }
    }
    finish(world, layout, &mut outgoing, &mut incoming)?;
    let number = |(i, edge): (usize, &Edge)| {
        if !along.receives(edge) {
            return Ok(0);
        }
        let number = decode_length(incoming.bytes(i)?);
        number.ok_or_else(|| layout.mismatch(EdgeId(i), "is no number"))
    };
    edges.iter().enumerate().map(number).collect()
}

/// Returns whether messages go both ways between this rank and a peer; both ranks get the same
/// result.
fn is_mutual(edges: &[Edge], peer: Rank) -> bool {
    let has = |goes: fn(Flow) -> bool| edges.iter().any(|edge| edge.peer == peer && goes(edge.flow));
    has(Flow::sends) && has(Flow::receives)
}

fn finish(
    world: &WorldState,
    layout: &ExchangeLayout,
    outgoing: &mut Transfers,
    incoming: &mut Transfers,
) -> Result<(), CommError> {
    let mut wait = SpinWait::new(world.watchdog());
    while outgoing.any_active() || incoming.any_active() {
        outgoing.poll(|_| ())?;
        incoming.poll(|_| ())?;
        wait.pause().map_err(|expired| {
            let edges = layout.spec().edges.iter().enumerate();
            let late = edges.filter(|&(i, _)| incoming.is_active(i) || outgoing.is_active(i));
            let late = late.map(|(_, edge)| format!("rank {}", edge.peer)).collect::<Vec<_>>();
            layout.timeout(expired.waited_s, format!("the capacities of {}", late.join(", ")))
        })?;
    }
    Ok(())
}
