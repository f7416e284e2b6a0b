//! The contract over a neighbourhood collective.

use std::collections::VecDeque;
use std::rc::Rc;

use super::super::edge_words::{self, Along};
use super::super::ffi::Neighbours;
use super::super::world::Inner;
use super::{Blocks, Collective, Stage};
use crate::ledger::Ledger;
use crate::negotiation::Change;
use crate::patience::Patience;
use crate::{AlignedBuffer, Arrival, CommError, EdgeId, Exchange, ExchangeSpec, Growth, Sizes, Traffic};

impl Collective {
    /// *Collective.*
    pub(in crate::mpi) fn open(world: Rc<Inner>, spec: ExchangeSpec) -> Result<Self, CommError> {
        let ledger = Ledger::new(world.rank, world.ranks, spec)?;
        let number = world.numbers.borrow_mut().take()?;
        let edges = &ledger.spec().edges;
        let (blocks, to, from) = Blocks::new(edges, world.rank);
        let neighbours = Neighbours::new(&world.data, to, from)?;
        let many = edges.len();
        let packed = edges.iter().map(|edge| AlignedBuffer::new(edge.send_capacity)).collect();
        let source = (0..many).map(|i| ledger.source(i)).collect();
        let (sent, received) = (vec![0; many], vec![0; many]);
        let (ready, stage) = (VecDeque::with_capacity(many), Stage::Open);
        let mut context =
            Self { ledger, number, neighbours, blocks, packed, sent, received, source, ready, stage, world };
        context.tell_capacities()?;
        Ok(context)
    }

    fn tell_capacities(&mut self) -> Result<(), CommError> {
        let capacity = |i: usize| self.ledger.spec().edges[i].send_capacity;
        let told = edge_words::tell(&self.world, &self.ledger, self.number, Along::Forward, capacity)?;
        self.ledger.learn_capacities(&told);
        if self.ledger.spec().sizes == Sizes::Fixed {
            self.received = told;
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let Some(i) = self.ready.pop_front() else { return Ok(None) };
        let bytes = match self.source[i] {
            Some(source) => self.packed[source].bytes(),
            None => &self.neighbours.incoming()?[self.blocks.start_in(i)..][..self.received[i]],
        };
        self.ledger.arrive(EdgeId(i), bytes).map(Some)
    }

    /// Waits until this rank's part of the collective is over.
    fn finish(&mut self) -> Result<(), CommError> {
        let mut patience = Patience::new(self.world.watchdog());
        while self.stage != Stage::Open {
            self.advance()?;
            let awaited = || "the neighbours to receive".to_owned();
            patience.pause().map_err(|expired| self.ledger.timeout(expired.waited_s, awaited()))?;
        }
        Ok(())
    }
}

impl Exchange for Collective {
    fn spec(&self) -> &ExchangeSpec {
        self.ledger.spec()
    }

    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.ledger.pack(edge, bytes)?;
        self.packed[edge.0].set_length(bytes);
        Ok(self.packed[edge.0].bytes_mut())
    }

    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        self.sent[edge.0] = self.ledger.start(edge)?;
        Ok(())
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.ledger.initiate()?;
        self.ready.extend((0..self.source.len()).filter(|&i| self.source[i].is_some()));
        if self.ledger.spec().sizes == Sizes::Fixed { self.send_messages() } else { self.send_lengths() }
    }

    fn progress(&mut self) -> Result<(), CommError> {
        self.advance()
    }

    fn has_arrival(&mut self) -> Result<bool, CommError> {
        self.ledger.expect_initiated()?;
        if self.ready.is_empty() {
            self.advance()?;
        }
        Ok(!self.ready.is_empty())
    }

    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        self.ledger.expect_initiated()?;
        if self.ledger.all_arrived() {
            return Ok(None);
        }
        let mut patience = Patience::new(self.world.watchdog());
        while self.ready.is_empty() {
            self.advance()?;
            if self.ready.is_empty() {
                let awaited = || self.ledger.awaited_edges();
                patience.pause().map_err(|expired| self.ledger.timeout(expired.waited_s, awaited()))?;
            }
        }
        self.deliver()
    }

    fn complete(&mut self) -> Result<(), CommError> {
        self.ledger.complete()?;
        self.finish()?;
        self.ready.clear();
        Ok(())
    }

    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        Ok(Box::new(Self::open(Rc::clone(&self.world), self.ledger.reversed_spec())?))
    }

    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        let mine = self.ledger.change(need)?;
        let change = Change::from_level(self.world.control.highest(mine.level().into(), self.world.limit())?);
        if change != Change::None {
            self.ledger.apply(need);
            self.tell_capacities()?;
        }
        Ok(change.growth())
    }

    fn traffic(&self) -> Traffic {
        self.ledger.traffic()
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.ledger.expect_idle("finalised")?;
        self.world.control.barrier(self.world.limit())?;
        self.neighbours.free()?;
        self.world.numbers.borrow_mut().release(self.number);
        Ok(())
    }
}
