//! The calls of the contract, passed on to the entry that has the present exchange, under the
//! clock.

use crate::auto::Auto;
use crate::auto::candidates::Entry;
use crate::ledger::Ledger;
use crate::transport::{Poll, Transport};
use crate::{Choice, CommError, EdgeId, Growth};

impl Auto {
    /// Returns the transport that has the present exchange.
    #[inline]
    fn active(&mut self) -> &mut dyn Transport {
        &mut *self.entries[self.current].transport
    }

    /// Makes a call that the clock covers. Its result is not kept across the end of the clock: a
    /// copy of it would wait for all earlier stores, including those to the memory of another rank.
    #[inline]
    fn timed(
        &mut self,
        call: impl FnOnce(&mut dyn Transport) -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        self.clock.run();
        call(self.active())?;
        self.clock.pause();
        Ok(())
    }
}

impl Transport for Auto {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        // The clock runs on until the message is packed: packing in place is part of moving it.
        self.clock.run();
        self.active().send_buffer(edge, bytes)
    }

    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError> {
        self.timed(|transport| transport.start(edge, bytes))
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.timed(|transport| transport.initiate())
    }

    /// The result is written by the transport itself and only looked at here; see [`Auto::timed`].
    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        if poll == Poll::Progress {
            return self.active().poll(ledger, poll);
        }
        self.clock.run();
        let found = self.active().poll(ledger, poll);
        // The clock runs on while an arrival is read, in place or not.
        if matches!(found, Ok(None)) {
            self.clock.pause();
        }
        found
    }

    fn all_sent(&self) -> bool {
        self.entries[self.current].transport.all_sent()
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        self.active().message(edge)
    }

    fn complete(&mut self) -> Result<(), CommError> {
        self.timed(|transport| transport.complete())?;
        self.end_exchange();
        Ok(())
    }

    /// Negotiates for all candidates, then considers the choice.
    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let growth = self.negotiate_all(ledger, need)?;
        self.reconsider(ledger)?;
        Ok(growth)
    }

    fn choice(&self, context: &str) -> Option<Choice> {
        Some(Choice {
            context: context.to_owned(),
            chosen: self.chosen,
            candidates: self.results.clone(),
            reason: self.account(),
            rechecks: self.rechecks,
        })
    }

    /// Ends the transport that has the present exchange, then the others.
    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.entries.remove(self.current).finalise()?;
        self.entries.into_iter().try_for_each(Entry::finalise)
    }
}
