//! The transport over a neighbourhood collective.

use std::collections::VecDeque;
use std::rc::Rc;

use super::super::edge_words;
use super::super::ffi::Neighbours;
use super::super::world::Inner;
use super::{Blocks, Collective, Phase};
use crate::ledger::Ledger;
use crate::negotiation::Change;
use crate::spin_wait::SpinWait;
use crate::transport::{Poll, Transport};
use crate::{AlignedBuffer, CommError, EdgeId, Growth, Sizes};

impl Collective {
    /// *Collective.*
    pub(crate) fn open(world: Rc<Inner>, ledger: &mut Ledger) -> Result<Self, CommError> {
        let number = world.numbers.borrow_mut().take()?;
        let edges = &ledger.spec().edges;
        let (blocks, to, from) = Blocks::new(edges, world.rank);
        let neighbours = Neighbours::new(&world.data, to, from)?;
        let many = edges.len();
        let packed = edges.iter().map(|edge| AlignedBuffer::new(edge.send_capacity)).collect();
        let source = (0..many).map(|i| ledger.source(i)).collect();
        let (sent, received) = (vec![0; many], vec![0; many]);
        let (ready, phase, terms) = (VecDeque::with_capacity(many), Phase::Open, ledger.terms());
        let mut context =
            Self { terms, number, neighbours, blocks, packed, sent, received, source, ready, phase, world };
        context.tell_capacities(ledger)?;
        Ok(context)
    }

    fn tell_capacities(&mut self, ledger: &mut Ledger) -> Result<(), CommError> {
        edge_words::tell_capacities(&self.world, ledger, self.number)?;
        self.terms = ledger.terms();
        if self.terms.spec().sizes == Sizes::Fixed {
            let capacities = self.terms.edge_ids().map(|edge| self.terms.receive_capacity(edge));
            self.received = capacities.collect();
        }
        Ok(())
    }

    /// Waits until this rank's part of the collective is over.
    fn finish(&mut self) -> Result<(), CommError> {
        let mut wait = SpinWait::new(self.world.watchdog());
        while self.phase != Phase::Open {
            self.advance()?;
            let awaited = || "the neighbours to receive".to_owned();
            wait.pause().map_err(|expired| self.terms.timeout(expired.waited_s, awaited()))?;
        }
        Ok(())
    }
}

impl Transport for Collective {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.packed[edge.0].set_length(bytes);
        Ok(self.packed[edge.0].bytes_mut())
    }

    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError> {
        self.sent[edge.0] = bytes;
        Ok(())
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.ready.extend((0..self.source.len()).filter(|&i| self.source[i].is_some()));
        if self.terms.spec().sizes == Sizes::Fixed { self.send_messages() } else { self.send_lengths() }
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        match poll {
            Poll::Progress => return self.advance().map(|()| None),
            Poll::Finish => return Ok(None),
            Poll::Probe | Poll::Wait => (),
        }
        let mut wait = SpinWait::new(self.world.watchdog());
        while self.ready.is_empty() {
            self.advance()?;
            if self.ready.is_empty() {
                if poll == Poll::Probe {
                    return Ok(None);
                }
                wait.pause().map_err(|expired| ledger.timeout(expired.waited_s, ledger.awaited_edges()))?;
            }
        }
        Ok(self.ready.pop_front().map(EdgeId))
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
        let change = self.world.agree_on_change(ledger.change(need))?;
        if change != Change::None {
            ledger.apply(need);
            self.tell_capacities(ledger)?;
        }
        Ok(change.growth())
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.world.control.barrier(self.world.limit())?;
        self.neighbours.free()?;
        self.world.numbers.borrow_mut().release(self.number);
        Ok(())
    }
}
