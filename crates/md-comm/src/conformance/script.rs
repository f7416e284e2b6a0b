//! The length and content that each message must have, computed at both ends of every edge.

use super::payload::Stamp;
use super::random::Random;
use crate::{ALIGNMENT, Arrival, Edge, EdgeId, Rank};

/// How much longer messages become per growth step: more than any head-room a transport adds.
const GROWTH_PER_STEP: usize = 7;
/// Fixed lengths of different edges differ by less than this.
const SPREAD: usize = 16;

/// Lengths of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Every message of an edge is as long as the last: at least this number of bytes, but none at
    /// all if it is 0.
    Fixed(usize),
    /// Anything from 0 to this number of bytes, another length in each exchange.
    Varying(usize),
}

/// Whether the context was opened or made by `reverse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Reversed,
}

/// The script of one context on one rank.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) rank: Rank,
    pub(super) edges: Vec<Edge>,
    pub(super) rule: Rule,
    pub(super) direction: Direction,
    /// Distinguishes the context's messages from those of others.
    pub(super) salt: u64,
    /// Number of the exchange.
    pub(super) sequence: u64,
    /// Growth step; messages of step s are 7^s times as long.
    pub(super) step: u32,
    /// Only this rank's messages grow (`None`: all).
    pub(super) grower: Option<Rank>,
}

impl Script {
    /// Returns identity and length of this exchange's message on a sending edge.
    pub(super) fn outgoing(&self, EdgeId(i): EdgeId) -> (Stamp, usize) {
        let Edge { peer, send_channel: channel, .. } = self.edges[i];
        self.message(Stamp { sender: self.rank, receiver: peer, channel, ..self.blank() })
    }

    /// Returns what is wrong with an arrival, if anything.
    pub(super) fn flaw(&self, arrival: &Arrival<'_>) -> Option<String> {
        let EdgeId(i) = arrival.edge;
        let Some(edge) = self.edges.get(i).filter(|edge| edge.flow.receives()) else {
            return Some(format!("a message on edge {i}, which does not receive"));
        };
        if !(arrival.bytes.as_ptr() as usize).is_multiple_of(ALIGNMENT) {
            return Some(format!("edge {i}: the arrival is not aligned"));
        }
        let Edge { peer: sender, receive_channel: channel, .. } = *edge;
        let (stamp, length) = self.message(Stamp { sender, receiver: self.rank, channel, ..self.blank() });
        stamp.flaw(length, arrival.bytes)
    }

    /// Returns the need of every sending edge at the current growth step (0 for the others).
    pub(super) fn needs(&self) -> Vec<usize> {
        let need = |edge: &Edge| {
            let Edge { peer: receiver, send_channel: channel, .. } = *edge;
            let stamp = Stamp { sender: self.rank, receiver, channel, ..self.blank() };
            if edge.flow.sends() { self.longest(stamp) } else { 0 }
        };
        self.edges.iter().map(need).collect()
    }

    fn blank(&self) -> Stamp {
        Stamp { salt: self.salt, sender: 0, receiver: 0, channel: 0, sequence: self.sequence }
    }

    fn message(&self, stamp: Stamp) -> (Stamp, usize) {
        let longest = self.longest(stamp);
        let length = match self.rule {
            Rule::Fixed(_) => longest,
            Rule::Varying(_) => match stamp.random().below(8) {
                0 => 0,
                1 => longest,
                _ => stamp.random().below(longest + 1),
            },
        };
        (stamp, length)
    }

    /// Returns the longest message of an edge. A reversed edge has the lengths of the edge it
    /// reverses.
    fn longest(&self, Stamp { sender, receiver, channel, .. }: Stamp) -> usize {
        let (from, to) = match self.direction {
            Direction::Forward => (sender, receiver),
            Direction::Reversed => (receiver, sender),
        };
        let grows = self.grower.is_none_or(|grower| grower == from);
        let factor = if grows { GROWTH_PER_STEP.pow(self.step) } else { 1 };
        match self.rule {
            Rule::Fixed(0) => 0,
            Rule::Fixed(base) => {
                let link = Random::keyed(&[from as u64, to as u64, u64::from(channel)]).below(SPREAD);
                factor * (base + link)
            }
            Rule::Varying(most) => factor * most,
        }
    }
}
