//! `neighbor-collective`: the whole exchange is one call, `MPI_Ineighbor_alltoallv` on a distributed graph.
//!
//! Structure: the graph has every neighbouring rank once, however many edges lead there, and never the rank itself: with
//! one or two ranks in a periodic dimension several libraries deliver blocks of duplicate neighbours in the wrong order
//! (<https://github.com/open-mpi/ompi/issues/14430>). The messages to one rank lie in one block, ordered by channel,
//! which both ends know. `initiate` starts the collective; everything arrives at once. Variable lengths travel first, in
//! a collective of their own, because the two ends of a block must agree on its length (MPI-3.1 section 7.6.2); hence a
//! message that has outgrown its capacity needs nothing further.
//! Relies on: collectives on one communicator match in their order; every context has its own.
//! Cost: as two-sided messages, one call; two rounds if lengths vary.
//! Advantage: the library sees the whole pattern and may schedule or combine it. Disadvantage: one more copy into the
//! block, no arrival before the last one; the second round starts only when this context is called, so that
//! contexts must be used in the same order on all ranks; and a library that schedules nothing only adds its overhead.

mod blocks;
mod transport;

use super::ffi::Neighbours;
use super::numbers::ContextNumber;
use super::world::Inner;
use crate::ledger::Terms;
use crate::{AlignedBuffer, CommError};
use blocks::Blocks;
use std::collections::VecDeque;
use std::rc::Rc;

/// Where an exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Being packed, or everything has arrived.
    Open,
    /// The lengths are under way.
    Lengths,
    /// The messages are under way.
    Messages,
}

/// A context over a neighbourhood collective.
#[derive(Debug)]
pub(super) struct Collective {
    terms: Rc<Terms>,
    number: ContextNumber,
    neighbours: Neighbours,
    blocks: Blocks,
    /// Per sending edge: its message.
    packed: Vec<AlignedBuffer>,
    /// Lengths of this exchange's messages, sent and received.
    sent: Vec<usize>,
    received: Vec<usize>,
    /// For edges that receive from this rank itself: the sending edge.
    source: Vec<Option<usize>>,
    ready: VecDeque<usize>,
    phase: Phase,
    world: Rc<Inner>,
}

impl Collective {
    /// Goes as far as the other ranks let it.
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
