//! Waits between ranks, and their causes.

use std::collections::{BTreeMap, HashMap};

use md_comm::Backend;
use md_engine::Phase;

use super::path::segments;
use super::read::{Activity, Entrance, Message, Timeline};
use crate::predict::delivers_together;

/// Microseconds per second.
const US: f64 = 1e6;

/// Messages from one rank to another, and waits of the second for the first; in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EdgeSummary {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Time that the receiver waited before the message was sent.
    pub late_s: f64,
    /// Time that the receiver waited while the message was in flight.
    pub transfer_s: f64,
    /// Time that the receiver waited in collectives that the sender entered last.
    pub collective_late_s: f64,
}

/// Waits of one rank, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waits {
    /// For messages that had not been sent yet.
    pub late_s: f64,
    /// For messages in flight.
    pub transfer_s: f64,
    /// In collectives that not all ranks had entered yet.
    pub collective_late_s: f64,
    /// In collectives that all ranks had entered.
    pub collective_s: f64,
    /// The rest of `halo_wait`: for buffers, the end of sending, and messages with a missing end.
    pub other_s: f64,
}

/// Evaluation of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Messages and waits by sender and receiver.
    pub edges: BTreeMap<[usize; 2], EdgeSummary>,
    /// Waits by rank.
    pub waits: Vec<Waits>,
    /// Number of messages and of bytes by size: below 2^key bytes, and not below half of that.
    pub sizes: BTreeMap<u32, [u64; 2]>,
    /// Number of messages with a missing end.
    pub halves: u64,
}

impl Summary {
    /// Evaluates a timeline.
    pub fn of(timeline: &Timeline) -> Self {
        let mut summary = Self {
            edges: BTreeMap::new(),
            waits: vec![Waits::default(); timeline.ranks],
            sizes: BTreeMap::new(),
            halves: 0,
        };
        let last_to_leave = last_to_leave(timeline);
        for message in &timeline.messages {
            summary.count(message);
            let exchange = (message.to, message.exchange);
            summary.wait_for(message, last_to_leave.get(&exchange).copied().unwrap_or(message));
        }
        timeline.collectives.iter().for_each(|entrances| summary.wait_for_all(entrances));
        for (waits, spans) in summary.waits.iter_mut().zip(&timeline.spans) {
            let rest =
                segments(spans).into_iter().filter(|span| span.activity == Activity::Phase(Phase::HaloWait));
            waits.other_s += rest.map(|span| span.ended - span.begun).sum::<f64>() / US;
        }
        summary
    }

    fn count(&mut self, message: &Message) {
        let edge = self.edges.entry([message.from, message.to]).or_default();
        edge.messages += 1;
        edge.bytes += message.bytes;
        let size = self.sizes.entry(u64::BITS - message.bytes.leading_zeros()).or_default();
        *size = [size[0] + 1, size[1] + message.bytes];
        self.halves += u64::from(message.started.is_none() || message.arrived.is_none());
    }

    /// Attributes the wait for a message to the message that caused it.
    fn wait_for(&mut self, message: &Message, cause: &Message) {
        let waits = &mut self.waits[message.to];
        let (Some(started), Some(arrived)) = (cause.started, message.arrived) else {
            waits.other_s += message.waited / US;
            return;
        };
        let late = (started.min(arrived) - (arrived - message.waited)).clamp(0.0, message.waited) / US;
        let transfer = message.waited / US - late;
        waits.late_s += late;
        waits.transfer_s += transfer;
        let edge = self.edges.entry([cause.from, cause.to]).or_default();
        edge.late_s += late;
        edge.transfer_s += transfer;
    }

    fn wait_for_all(&mut self, entrances: &[Entrance]) {
        let Some(last) = entrances.iter().max_by(|a, b| a.entered.total_cmp(&b.entered)) else { return };
        for &Entrance { rank, begun, ended, .. } in entrances {
            let waited = (ended - begun).max(0.0);
            let late = (last.entered.min(ended) - begun).clamp(0.0, waited);
            self.waits[rank].collective_late_s += late / US;
            if late > 0.0 {
                self.edges.entry([last.rank, rank]).or_default().collective_late_s += late / US;
            }
            self.waits[rank].collective_s += (waited - late) / US;
        }
    }
}

/// Returns the last message by receiver and exchange, for backends that deliver all at once.
fn last_to_leave(timeline: &Timeline) -> HashMap<(usize, [u32; 2]), &Message> {
    let mut last: HashMap<_, &Message> = HashMap::new();
    let backend = timeline.strategy.split(' ').next().unwrap_or_default();
    let named = Backend::ALL.iter().find(|own| own.name() == backend);
    let is_together = named.is_some_and(|&backend| delivers_together(backend));
    for message in timeline.messages.iter().filter(|_| is_together) {
        let known = last.entry((message.to, message.exchange)).or_insert(message);
        if message.started > known.started {
            *known = message;
        }
    }
    last
}
