//! One number along every edge: how both ends of an edge come to know the same capacities and addresses.
//!
//! Structure: all messages are posted at once and awaited together. Several rounds in a row cannot mix although they
//! use the same tags, because messages between two ranks with one tag do not overtake each other and every rank plays
//! the rounds in the same order. Used when contexts are opened and negotiated, never in an exchange.

use super::ffi::Transfers;
use super::numbers::ContextNumber;
use super::world::Inner;
use crate::ledger::{Ledger, Terms};
use crate::negotiation::{LENGTH_BYTES, decode_length, encode_length};
use crate::patience::Patience;
use crate::{CommError, Edge, EdgeId};

/// Which way the numbers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// As the messages do.
    Forward,
    /// From the messages' receivers to their senders.
    Backward,
}

impl Along {
    fn tells(self, edge: &Edge) -> bool {
        if self == Self::Forward { edge.flow.sends() } else { edge.flow.receives() }
    }

    fn hears(self, edge: &Edge) -> bool {
        if self == Self::Forward { edge.flow.receives() } else { edge.flow.sends() }
    }

    /// Channels for telling and hearing.
    fn channels(self, edge: &Edge) -> [u16; 2] {
        let [send, receive] = [edge.send_channel, edge.receive_channel];
        if self == Self::Forward { [send, receive] } else { [receive, send] }
    }
}

/// Every sender tells its receiver the edge's capacity. *Collective.*
pub(super) fn tell_capacities(
    world: &Inner,
    ledger: &mut Ledger,
    number: ContextNumber,
) -> Result<(), CommError> {
    let edges = &ledger.spec().edges;
    let capacities = tell(world, ledger, number, Along::Forward, |i| edges[i].send_capacity)?;
    ledger.learn_capacities(&capacities);
    Ok(())
}

/// Tells `word(edge)` to the other end and returns what the other ends told (0 where none does). *Collective.*
pub(super) fn tell(
    world: &Inner,
    terms: &Terms,
    number: ContextNumber,
    along: Along,
    word: impl Fn(usize) -> usize,
) -> Result<Vec<usize>, CommError> {
    let edges = &terms.spec().edges;
    let mut told = Transfers::outgoing(edges.iter().map(|_| LENGTH_BYTES));
    let mut heard = Transfers::incoming(edges.iter().map(|_| LENGTH_BYTES));
    for (i, edge) in edges.iter().enumerate() {
        let [tell, hear] = along.channels(edge).map(|channel| number.tag(channel));
        if along.hears(edge) {
            heard.receive(i, &world.control, (edge.peer, hear, LENGTH_BYTES))?;
        }
        if along.tells(edge) {
            told.bytes_mut(i, LENGTH_BYTES)?.copy_from_slice(&encode_length(word(i)));
            told.send(i, &world.control, (edge.peer, tell))?;
        }
    }
    finish(world, terms, &mut told, &mut heard)?;
    let number = |(i, edge): (usize, &Edge)| {
        if !along.hears(edge) {
            return Ok(0);
        }
        let number = decode_length(heard.bytes(i)?);
        number.ok_or_else(|| terms.mismatch(EdgeId(i), "is no number".to_owned()))
    };
    edges.iter().enumerate().map(number).collect()
}

fn finish(
    world: &Inner,
    terms: &Terms,
    told: &mut Transfers,
    heard: &mut Transfers,
) -> Result<(), CommError> {
    let mut patience = Patience::new(world.watchdog());
    while told.any_active() || heard.any_active() {
        told.poll(|_| ())?;
        heard.poll(|_| ())?;
        patience.pause().map_err(|expired| {
            let edges = terms.spec().edges.iter().enumerate();
            let late = edges.filter(|&(i, _)| heard.is_active(i) || told.is_active(i));
            let late = late.map(|(_, edge)| format!("rank {}", edge.peer)).collect::<Vec<_>>();
            terms.timeout(expired.waited_s, format!("the capacities of {}", late.join(", ")))
        })?;
    }
    Ok(())
}
