//! The contract over both halves.

use std::rc::Rc;

use super::{Half, Hybrid};
use crate::ledger::Ledger;
use crate::patience::Patience;
use crate::{Arrival, CommError, EdgeId, Exchange, ExchangeSpec, Growth, Traffic};

impl Hybrid {
    /// The half that has a message at hand, if one does. The one that had the last word comes second, so that a busy
    /// half does not keep the other one's messages waiting. A half without edges here costs nothing.
    fn half_with_arrival(&mut self) -> Result<Option<Half>, CommError> {
        let order = match self.first {
            Half::Inside => [Half::Inside, Half::Between],
            Half::Between => [Half::Between, Half::Inside],
        };
        for half in order {
            if self.routes.has_edges(half) && self.halves[half as usize].has_arrival()? {
                self.first = order[usize::from(half == order[0])];
                return Ok(Some(half));
            }
        }
        Ok(None)
    }

    fn deliver(&mut self, half: Half) -> Result<Option<Arrival<'_>>, CommError> {
        let Some(Arrival { edge, bytes }) = self.halves[half as usize].next()? else { return Ok(None) };
        self.ledger.relay(self.routes.whole(half, edge), bytes).map(Some)
    }
}

impl Exchange for Hybrid {
    fn spec(&self) -> &ExchangeSpec {
        self.ledger.spec()
    }

    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.ledger.pack(edge, bytes)?;
        let (half, edge) = self.routes.there(edge);
        self.halves[half as usize].send_buffer(edge, bytes)
    }

    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        self.ledger.start(edge)?;
        let (half, edge) = self.routes.there(edge);
        self.halves[half as usize].start(edge)
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.ledger.initiate()?;
        self.halves.iter_mut().try_for_each(|half| half.initiate())
    }

    fn progress(&mut self) -> Result<(), CommError> {
        self.halves.iter_mut().try_for_each(|half| half.progress())
    }

    fn has_arrival(&mut self) -> Result<bool, CommError> {
        self.ledger.expect_initiated()?;
        Ok(self.half_with_arrival()?.is_some())
    }

    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        self.ledger.expect_initiated()?;
        if self.ledger.all_arrived() {
            return Ok(None);
        }
        let mut patience = Patience::new(self.world.watchdog());
        let half = loop {
            if let Some(half) = self.half_with_arrival()? {
                break half;
            }
            let awaited = || self.ledger.awaited_edges();
            patience.pause().map_err(|expired| self.ledger.timeout(expired.waited_s, awaited()))?;
        };
        self.deliver(half)
    }

    /// Slots are released in shared memory first: that is quick, and a peer may be waiting.
    fn complete(&mut self) -> Result<(), CommError> {
        self.ledger.complete()?;
        self.halves.iter_mut().try_for_each(|half| half.complete())
    }

    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        let [inside, between] = &self.halves;
        let halves = [inside.reverse()?, between.reverse()?];
        let spec = self.routes.merge([halves[0].spec(), halves[1].spec()]);
        let world = Rc::clone(&self.world);
        let ledger = Ledger::new(world.rank, world.ranks, spec)?;
        let (routes, first) = (self.routes.clone(), Half::Inside);
        Ok(Box::new(Self { ledger, routes, halves, first, world }))
    }

    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        self.ledger.change(need)?;
        let mut growth = Growth::Unchanged;
        for half in Half::BOTH {
            if self.halves[half as usize].negotiate(&self.routes.part(half, need))? == Growth::Grown {
                growth = Growth::Grown;
            }
        }
        self.ledger.apply(need);
        Ok(growth)
    }

    fn traffic(&self) -> Traffic {
        self.ledger.traffic()
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        self.ledger.expect_idle("finalised")?;
        let Self { halves, .. } = *self;
        halves.into_iter().try_for_each(<dyn Exchange>::finalise)
    }
}
