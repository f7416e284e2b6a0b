//! `neighbor-collective`: the whole exchange is one call, `MPI_Ineighbor_alltoallv` on a
//! distributed graph.
//!
//! Structure: the graph has every neighbouring rank once, however many edges lead there, and never
//! the rank itself: with one or two ranks in a periodic dimension several libraries deliver blocks
//! of duplicate neighbours in the wrong order (<https://github.com/open-mpi/ompi/issues/14430>).
//! The messages to one rank lie in one block, ordered by channel, which both ends have. `initiate`
//! starts the collective; everything arrives at once. Variable lengths travel first, in a
//! collective of their own, because the two ends of a block must agree on its length (MPI-3.1
//! section 7.6.2). A message that has outgrown its capacity therefore needs nothing further.
//! Relies on: collectives on one communicator match in their order; every context has its own
//! communicator.
//! Cost: that of two-sided messages, in one call; two rounds if lengths vary.
//! Advantage: the library sees the whole pattern and may schedule or combine it.
//! Disadvantage: one more copy into the block, and no arrival before the last one. The second round
//! starts only when this context is called, so that contexts must be used in the same order on all
//! ranks. A library that schedules nothing only adds its overhead.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::ledger::{ExchangeLayout, Ledger};
use crate::mpi::edge_words::{self, Along, Recipients};
use crate::mpi::ffi::{Neighbours, Side};
use crate::mpi::numbers::ContextNumber;
use crate::mpi::world_state::WorldState;
use crate::spin_wait::wait_until;
use crate::transport::{Poll, Transport};
use crate::{ALIGNMENT, AlignedBuffer, CommError, Edge, EdgeId, Growth, Rank, Sizes};

/// Progress of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Edges are being packed, or everything has arrived.
    Open,
    /// The lengths are under way.
    Lengths,
    /// The messages are under way.
    Messages,
}

/// A context over a neighbourhood collective.
#[derive(Debug)]
pub(super) struct Collective {
    layout: Rc<ExchangeLayout>,
    number: ContextNumber,
    neighbours: Neighbours,
    blocks: Blocks,
    /// The message of each sending edge.
    packed: Vec<AlignedBuffer>,
    /// Lengths of this exchange's messages, sent and received.
    sent: Vec<usize>,
    received: Vec<usize>,
    /// The sending edge, for edges that receive from this rank itself.
    source: Vec<Option<usize>>,
    ready: VecDeque<usize>,
    phase: Phase,
    world: Rc<WorldState>,
}

impl Collective {
    /// Advances as far as the other ranks allow.
    fn advance(&mut self) -> Result<(), CommError> {
        if self.phase == Phase::Open || !self.neighbours.is_over()? {
            return Ok(());
        }
        if self.phase == Phase::Lengths {
            self.blocks.read_lengths(self.neighbours.incoming()?, &mut self.received);
            return self.send_messages();
        }
        self.phase = Phase::Open;
        self.ready.extend(self.blocks.from.iter().flatten());
        Ok(())
    }

    fn send_lengths(&mut self) -> Result<(), CommError> {
        self.blocks.lay_out_lengths(&mut self.neighbours)?;
        self.blocks.write_lengths(self.neighbours.outgoing()?, &self.sent);
        self.phase = Phase::Lengths;
        self.neighbours.exchange()
    }

    fn send_messages(&mut self) -> Result<(), CommError> {
        self.blocks.lay_out_messages(&mut self.neighbours, &self.sent, &self.received)?;
        self.blocks.write_messages(self.neighbours.outgoing()?, &self.packed);
        self.phase = Phase::Messages;
        self.neighbours.exchange()
    }
}

impl Collective {
    /// Opens a context. *Collective.*
    pub(crate) fn open(world: Rc<WorldState>, ledger: &mut Ledger) -> Result<Self, CommError> {
        let [number] = world.numbers.borrow_mut().take()?;
        let edges = &ledger.spec().edges;
        let (blocks, to, from) = Blocks::new(edges, world.rank);
        let neighbours = Neighbours::new(&world.communicator, to, from)?;
        let many = edges.len();
        let packed =
            edges.iter().map(|edge| AlignedBuffer::new(edge.send_capacity)).collect::<Result<_, _>>()?;
        let source = (0..many).map(|i| ledger.source(i)).collect();
        let (sent, received) = (vec![0; many], vec![0; many]);
        let (ready, phase, layout) = (VecDeque::with_capacity(many), Phase::Open, ledger.layout());
        let mut context =
            Self { layout, number, neighbours, blocks, packed, sent, received, source, ready, phase, world };
        context.tell_capacities(ledger)?;
        Ok(context)
    }

    fn tell_capacities(&mut self, ledger: &mut Ledger) -> Result<(), CommError> {
        edge_words::tell_capacities(&self.world, ledger, self.number, Recipients::Receivers)?;
        self.layout = ledger.layout();
        if self.layout.spec().sizes == Sizes::Fixed {
            let capacities = self.layout.edge_ids().map(|edge| self.layout.receive_capacity(edge));
            self.received = capacities.collect();
        }
        Ok(())
    }

    /// Waits until this rank's part of the collective is over.
    fn finish(&mut self) -> Result<(), CommError> {
        let late = |context: &Self, waited_s| {
            context.layout.timeout(waited_s, "the neighbours to receive".to_owned())
        };
        wait_until(self.world.watchdog(), self, late, |context| {
            context.advance()?;
            Ok(context.phase == Phase::Open)
        })
    }
}

impl Transport for Collective {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.packed[edge.0].set_length(bytes)?;
        Ok(self.packed[edge.0].bytes_mut())
    }

    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError> {
        self.sent[edge.0] = bytes;
        Ok(())
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.ready.extend((0..self.source.len()).filter(|&i| self.source[i].is_some()));
        if self.layout.spec().sizes == Sizes::Fixed { self.send_messages() } else { self.send_lengths() }
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        match poll {
            Poll::Progress => return self.advance().map(|()| None),
            Poll::Finish => return Ok(None),
            Poll::Probe | Poll::Wait => (),
        }
        poll.answer(self.world.watchdog(), ledger, self, |context| {
            if context.ready.is_empty() {
                context.advance()?;
            }
            Ok(context.ready.pop_front().map(EdgeId))
        })
    }

    fn message(&mut self, EdgeId(i): EdgeId) -> Result<&[u8], CommError> {
        Ok(match self.source[i] {
            Some(source) => self.packed[source].bytes(),
            None => &self.neighbours.incoming()?[self.blocks.start_in(i)..][..self.received[i]],
        })
    }

    fn complete(&mut self) -> Result<(), CommError> {
        self.finish()?;
        self.ready.clear();
        Ok(())
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let before = ledger.layout();
        ledger.apply(need);
        self.tell_capacities(ledger)?;
        Ok(ledger.growth_since(&before))
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.world.barrier()?;
        self.neighbours.free()?;
        self.world.numbers.borrow_mut().release(&[self.number]);
        Ok(())
    }
}

const LENGTH_BYTES: usize = size_of::<u64>();

/// Edges per neighbour, in the order of their channels, which is the same at both ends.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) to: Vec<Vec<usize>>,
    pub(super) from: Vec<Vec<usize>>,
    /// Offset of each edge's message: outgoing, incoming.
    starts_out: Vec<usize>,
    starts_in: Vec<usize>,
    /// Bytes per neighbour: outgoing, incoming.
    lengths_out: Vec<usize>,
    lengths_in: Vec<usize>,
}

/// Returns the neighbours in the direction of the messages (`Forward`), or against it, and the
/// edges of each.
fn group(edges: &[Edge], me: Rank, along: Along) -> (Vec<Rank>, Vec<Vec<usize>>) {
    let mut chosen: Vec<usize> =
        (0..edges.len()).filter(|&i| along.sends(&edges[i]) && edges[i].peer != me).collect();
    chosen.sort_unstable_by_key(|&i| (edges[i].peer, along.channels(&edges[i])[0]));
    let groups: Vec<Vec<usize>> =
        chosen.chunk_by(|&a, &b| edges[a].peer == edges[b].peer).map(<[usize]>::to_vec).collect();
    (groups.iter().map(|group| edges[group[0]].peer).collect(), groups)
}

/// Lays messages out consecutively, aligned.
fn lay_out(groups: &[Vec<usize>], lengths: &[usize], starts: &mut [usize], blocks: &mut [usize]) {
    let mut end = 0;
    for (group, block) in groups.iter().zip(blocks) {
        let begin = end;
        for &i in group {
            starts[i] = end;
            end += lengths[i].next_multiple_of(ALIGNMENT);
        }
        *block = end - begin;
    }
}

impl Blocks {
    /// Returns the blocks and the two sides of the neighbourhood.
    pub(super) fn new(edges: &[Edge], me: Rank) -> (Self, Side, Side) {
        let (targets, to) = group(edges, me, Along::Forward);
        let (sources, from) = group(edges, me, Along::Backward);
        let (starts_out, starts_in) = (vec![0; edges.len()], vec![0; edges.len()]);
        let (lengths_out, lengths_in) = (vec![0; to.len()], vec![0; from.len()]);
        let blocks = Self { to, from, starts_out, starts_in, lengths_out, lengths_in };
        (blocks, Side::new(targets), Side::new(sources))
    }

    /// Lays out the lengths: one word per edge.
    pub(super) fn lay_out_lengths(&mut self, neighbours: &mut Neighbours) -> Result<(), CommError> {
        for (block, group) in self.lengths_out.iter_mut().zip(&self.to) {
            *block = group.len() * LENGTH_BYTES;
        }
        for (block, group) in self.lengths_in.iter_mut().zip(&self.from) {
            *block = group.len() * LENGTH_BYTES;
        }
        neighbours.lay_out(&self.lengths_out, &self.lengths_in)
    }

    pub(super) fn write_lengths(&self, words: &mut [u8], lengths: &[usize]) {
        for (word, &i) in words.chunks_exact_mut(LENGTH_BYTES).zip(self.to.iter().flatten()) {
            word.copy_from_slice(&(lengths[i] as u64).to_ne_bytes());
        }
    }

    pub(super) fn read_lengths(&self, words: &[u8], lengths: &mut [usize]) {
        for (word, &i) in words.chunks_exact(LENGTH_BYTES).zip(self.from.iter().flatten()) {
            let mut length = [0; LENGTH_BYTES];
            length.copy_from_slice(word);
            lengths[i] = usize::try_from(u64::from_ne_bytes(length)).unwrap_or(usize::MAX);
        }
    }

    pub(super) fn lay_out_messages(
        &mut self,
        neighbours: &mut Neighbours,
        sent: &[usize],
        received: &[usize],
    ) -> Result<(), CommError> {
        lay_out(&self.to, sent, &mut self.starts_out, &mut self.lengths_out);
        lay_out(&self.from, received, &mut self.starts_in, &mut self.lengths_in);
        neighbours.lay_out(&self.lengths_out, &self.lengths_in)
    }

    pub(super) fn write_messages(&self, bytes: &mut [u8], packed: &[AlignedBuffer]) {
        for &i in self.to.iter().flatten() {
            let message = packed[i].bytes();
            bytes[self.starts_out[i]..][..message.len()].copy_from_slice(message);
        }
    }

    /// Returns the offset at which an edge's message has arrived.
    pub(super) fn start_in(&self, i: usize) -> usize {
        self.starts_in[i]
    }
}
