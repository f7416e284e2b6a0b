//! A context whose messages are exchanged repeatedly and verified before and after.

use std::cell::RefCell;

use md_comm::{
    Arrival, Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Rank, Sizes, World,
};

use super::block;
use super::walk::Walk;
use crate::Problem;
use crate::sampling::{Effort, sample_in_turn};

/// Name of the contexts in errors.
const NAME: &str = "bench";

/// Treatment of the messages at both ends.
#[derive(Clone, Copy)]
pub(super) enum Handling<'w> {
    /// Nothing is written or read: cost of the transport alone.
    InPlace,
    /// Copied from and to private memory, so that all transports move the same data.
    Copied,
    /// As `Copied`, with a different place of a walk for each message.
    Walked(&'w RefCell<Walk>),
}

/// A context and its private memory.
pub(super) struct Line {
    context: Exchange,
    sends: Vec<(EdgeId, usize)>,
    private: Vec<u8>,
    rank: Rank,
}

/// Returns the specification of messages of fixed length along these edges.
pub(super) fn spec(edges: Vec<Edge>, buffering: Buffering) -> ExchangeSpec {
    ExchangeSpec { name: NAME, edges, sizes: Sizes::Fixed, buffering }
}

/// Returns this rank's edges for `messages` messages at a time from `from` to `to`.
pub(super) fn one_way(rank: Rank, [from, to]: [Rank; 2], messages: u16, bytes: usize) -> Vec<Edge> {
    let (peer, flow) = match (rank == from, rank == to) {
        (true, true) => (rank, Flow::Both),
        (true, false) => (to, Flow::SendOnly),
        (false, true) => (from, Flow::ReceiveOnly),
        (false, false) => return Vec::new(),
    };
    let edge =
        |channel| Edge { peer, send_channel: channel, receive_channel: channel, flow, send_capacity: bytes };
    (0..messages).map(edge).collect()
}

impl Line {
    /// Opens a context. *Collective.*
    pub(super) fn open(world: &dyn World, spec: ExchangeSpec) -> Result<Self, CommError> {
        Self::with(world.open(spec)?, world.rank())
    }

    /// Opens a context with the same edges in the opposite direction. *Collective.*
    pub(super) fn reverse(&self) -> Result<Self, CommError> {
        Self::with(self.context.reverse()?, self.rank)
    }

    fn with(context: Exchange, rank: Rank) -> Result<Self, CommError> {
        let edges = context.spec().edges.iter().enumerate();
        let sends: Vec<_> = edges
            .filter(|(_, edge)| edge.flow.sends())
            .map(|(number, edge)| (EdgeId(number), edge.send_capacity))
            .collect();
        let longest = sends.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
        Ok(Self { context, sends, private: block(longest, 1)?, rank })
    }

    /// Exchanges once and calls `during` while messages are under way. *Collective* if the
    /// transport is.
    pub(super) fn exchange(
        &mut self,
        handling: Handling,
        during: impl FnOnce(&mut Exchange) -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        let Self { context, sends, private, .. } = self;
        for &(edge, bytes) in &*sends {
            let buffer = context.send_buffer(edge, bytes)?;
            match handling {
                Handling::InPlace => (),
                Handling::Copied => buffer.copy_from_slice(&private[..bytes]),
                Handling::Walked(walk) => buffer.copy_from_slice(walk.borrow_mut().next(bytes)),
            }
            context.start(edge)?;
        }
        context.initiate()?;
        during(context)?;
        while let Some(Arrival { bytes, .. }) = context.next()? {
            match handling {
                Handling::InPlace => (),
                Handling::Copied => {
                    if private.len() < bytes.len() {
                        *private = block(bytes.len(), 1)?;
                    }
                    private[..bytes.len()].copy_from_slice(bytes);
                }
                Handling::Walked(walk) => walk.borrow_mut().next(bytes.len()).copy_from_slice(bytes),
            }
        }
        context.complete()
    }

    /// Lets the library make progress between two exchanges.
    pub(super) fn drive_progress(&mut self) -> Result<(), CommError> {
        self.context.progress()
    }

    /// Exchanges once with contents unique to each message and checks them. A wrong message is an
    /// error on all ranks. *Collective.*
    pub(super) fn verify(&mut self, world: &dyn World, number: u64) -> Result<(), Problem> {
        let wrong = self.find_wrong(number)?;
        let mut is_wrong = [f64::from(u8::from(wrong.is_some()))];
        world.max(&mut is_wrong)?;
        if is_wrong[0] == 0.0 { Ok(()) } else { Err(Problem::wrong(wrong.unwrap_or_default())) }
    }

    fn find_wrong(&mut self, number: u64) -> Result<Option<String>, CommError> {
        let Self { context, sends, rank, .. } = self;
        let edges = context.spec().edges.clone();
        for &(edge, bytes) in &*sends {
            let content = Content { number, from: *rank, channel: edges[edge.0].send_channel };
            content.fill(context.send_buffer(edge, bytes)?);
            context.start(edge)?;
        }
        context.initiate()?;
        let mut wrong = None;
        while let Some(Arrival { edge, bytes }) = context.next()? {
            let Edge { peer, receive_channel, .. } = edges[edge.0];
            let content = Content { number, from: peer, channel: receive_channel };
            wrong = wrong.or(content.first_wrong(bytes).map(|byte| {
                let length = bytes.len();
                format!("byte {byte} of {length} from rank {peer}, channel {receive_channel}, is wrong")
            }));
        }
        context.complete()?;
        Ok(wrong)
    }

    /// Negotiates the message sizes. *Collective.*
    pub(super) fn negotiate(&mut self, need: &[usize]) -> Result<(), CommError> {
        self.context.negotiate(need).map(drop)
    }

    /// Closes the context. *Collective.*
    pub(super) fn finalise(self) -> Result<(), CommError> {
        self.context.finalise()
    }
}

const WORD: usize = 8;

/// Content of a message.
pub(super) struct Content {
    pub(super) number: u64,
    pub(super) from: Rank,
    pub(super) channel: u16,
}

impl Content {
    /// Returns eight bytes of a multiplicative hash (Knuth): neighbouring numbers give unrelated
    /// bytes.
    fn word(&self, place: usize) -> [u8; WORD] {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let key = (self.number << 40) ^ ((self.from as u64) << 8) ^ u64::from(self.channel);
        let mixed = (key.wrapping_mul(GOLDEN) ^ place as u64).wrapping_mul(GOLDEN);
        (mixed ^ mixed >> 32).wrapping_mul(GOLDEN).to_le_bytes()
    }

    pub(super) fn fill(&self, buffer: &mut [u8]) {
        for (place, bytes) in buffer.chunks_mut(WORD).enumerate() {
            bytes.copy_from_slice(&self.word(place)[..bytes.len()]);
        }
    }

    pub(super) fn first_wrong(&self, bytes: &[u8]) -> Option<usize> {
        let is_wrong = |&(place, bytes): &(usize, &[u8])| *bytes != self.word(place)[..bytes.len()];
        let (place, bytes) = bytes.chunks(WORD).enumerate().find(is_wrong)?;
        let wrong = bytes.iter().zip(self.word(place)).position(|(byte, right)| *byte != right)?;
        Some(WORD * place + wrong)
    }
}

/// Samples exchanges of all lines, one after the other, with each way of handling the messages in
/// turn. *Collective.*
pub(super) fn exchanged<const N: usize>(
    world: &dyn World,
    lines: [Line; N],
    effort: Effort,
    handling: &[Handling],
) -> Result<Vec<Vec<f64>>, Problem> {
    verified(world, lines, |lines| {
        Ok(sample_in_turn(world, handling.len(), effort, |kind, iterations| {
            let mut once = || lines.iter_mut().try_for_each(|line| line.exchange(handling[kind], |_| Ok(())));
            (0..iterations).try_for_each(|_| once())
        })?)
    })
}

/// Verifies the contents before and after the timed work. Lines that have failed are left open,
/// since withdrawing pending messages may take long. *Collective.*
pub(super) fn verified<T, const N: usize>(
    world: &dyn World,
    mut lines: [Line; N],
    timed: impl FnOnce(&mut [Line; N]) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let verify =
        |lines: &mut [Line; N], number| lines.iter_mut().try_for_each(|line| line.verify(world, number));
    let result = verify(&mut lines, 1).and_then(|()| timed(&mut lines)).and_then(|result| {
        verify(&mut lines, 2)?;
        Ok(result)
    });
    if result.is_err() {
        std::mem::forget(lines);
        return result;
    }
    lines.into_iter().try_for_each(Line::finalise)?;
    result
}
