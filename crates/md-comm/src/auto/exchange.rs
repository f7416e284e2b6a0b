//! The contract: every call goes to the candidate whose turn it is, with a clock around all that moves messages.

use super::Auto;
use super::choosing::sum;
use super::field::Market;
use crate::{Arrival, Choice, CommError, EdgeId, Exchange, ExchangeSpec, Growth, Traffic};

impl<M: Market> Exchange for Auto<M> {
    fn spec(&self) -> &ExchangeSpec {
        self.field.runners[self.current].exchange.spec()
    }

    /// The clock runs on until the message is packed: where it is packed in place, that is part of moving it.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.clock.run();
        self.field.runners[self.current].exchange.send_buffer(edge, bytes)
    }

    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        self.clock.run();
        let started = self.field.runners[self.current].exchange.start(edge);
        self.clock.pause();
        started
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.clock.run();
        let initiated = self.field.runners[self.current].exchange.initiate();
        self.clock.pause();
        initiated
    }

    fn progress(&mut self) -> Result<(), CommError> {
        self.field.runners[self.current].exchange.progress()
    }

    fn has_arrival(&mut self) -> Result<bool, CommError> {
        self.clock.run();
        let has_arrival = self.field.runners[self.current].exchange.has_arrival();
        self.clock.pause();
        has_arrival
    }

    /// The clock runs on while an arrival is read, in place or not.
    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        self.clock.run();
        let arrival = self.field.runners[self.current].exchange.next();
        if let Ok(None) = arrival {
            self.clock.pause();
        }
        arrival
    }

    fn complete(&mut self) -> Result<(), CommError> {
        self.clock.run();
        self.field.runners[self.current].exchange.complete()?;
        self.clock.pause();
        self.end_exchange();
        Ok(())
    }

    /// The reverse context has trials of its own: other sizes, another time in the step.
    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        let runner = &self.field.runners[self.current];
        let first = (runner.backend, runner.exchange.reverse()?);
        Ok(Box::new(Self::unused(self.market.clone(), self.trials, first)))
    }

    /// The candidate that had the last exchange comes first: it refuses what the contract does not allow.
    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        let growth = self.field.runners[self.current].exchange.negotiate(need)?;
        for (_, other) in self.field.runners.iter_mut().enumerate().filter(|&(i, _)| i != self.current) {
            other.exchange.negotiate(need)?;
        }
        self.reconsider()?;
        Ok(growth)
    }

    fn traffic(&self) -> Traffic {
        self.field.runners.iter().map(|runner| runner.exchange.traffic()).fold(self.ended, sum)
    }

    fn choice(&self) -> Option<Choice> {
        Some(Choice {
            context: self.spec().name.to_owned(),
            chosen: self.chosen,
            candidates: self.field.tried.clone(),
            reason: self.account(),
            rechecks: self.rechecks,
        })
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        let Self { mut field, current, .. } = *self;
        field.runners.swap(0, current);
        field.runners.into_iter().try_for_each(|runner| runner.exchange.finalise())
    }
}
