//! The transport over both halves.

use super::{Half, Hybrid};
use crate::ledger::Ledger;
use crate::spin_wait::SpinWait;
use crate::transport::{Poll, Transport};
use crate::{CommError, EdgeId, Exchange, Growth};

impl Hybrid {
    /// The next message of either half. The half that had the last one comes second, so that a busy half does not keep
    /// the other one's messages waiting. A half without edges here costs nothing.
    fn probe(&mut self) -> Result<Option<EdgeId>, CommError> {
        let order = match self.first {
            Half::Inside => [Half::Inside, Half::Between],
            Half::Between => [Half::Between, Half::Inside],
        };
        for half in order {
            if self.routes.has_edges(half)
                && let Some(edge) = self.halves[half as usize].poll(Poll::Probe)?
            {
                self.first = order[usize::from(half == order[0])];
                return Ok(Some(self.routes.whole(half, edge)));
            }
        }
        Ok(None)
    }

    /// Receive capacities of the whole.
    pub(super) fn learn_capacities(&self, ledger: &mut Ledger) {
        let capacity = |edge| {
            let (half, edge) = self.routes.there(edge);
            self.halves[half as usize].receive_capacity(edge)
        };
        ledger.learn_capacities(&ledger.edge_ids().map(capacity).collect::<Vec<_>>());
    }
}

impl Transport for Hybrid {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let (half, edge) = self.routes.there(edge);
        self.halves[half as usize].send_buffer(edge, bytes)
    }

    fn start(&mut self, edge: EdgeId, _: usize) -> Result<(), CommError> {
        let (half, edge) = self.routes.there(edge);
        self.halves[half as usize].start(edge)
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.halves.iter_mut().try_for_each(Exchange::initiate)
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        match poll {
            Poll::Progress => {
                return self.halves.iter_mut().try_for_each(Exchange::progress).map(|()| None);
            }
            Poll::Finish => return Ok(None),
            Poll::Probe => return self.probe(),
            Poll::Wait => (),
        }
        let mut wait = SpinWait::new(self.world.watchdog());
        loop {
            if let Some(edge) = self.probe()? {
                return Ok(Some(edge));
            }
            wait.pause().map_err(|expired| ledger.timeout(expired.waited_s, ledger.awaited_edges()))?;
        }
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        let (half, edge) = self.routes.there(edge);
        Ok(self.halves[half as usize].message(edge)?.bytes)
    }

    /// Shared memory first: that is quick, and a peer may be waiting for its buffer.
    fn complete(&mut self) -> Result<(), CommError> {
        self.halves.iter_mut().try_for_each(Exchange::complete)
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let mut growth = Growth::Unchanged;
        for half in Half::BOTH {
            if self.halves[half as usize].negotiate(&self.routes.part(half, need))? == Growth::Grown {
                growth = Growth::Grown;
            }
        }
        ledger.apply(need);
        self.learn_capacities(ledger);
        Ok(growth)
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        let Self { halves, .. } = *self;
        halves.into_iter().try_for_each(Exchange::finalise)
    }
}
