//! Unexpected messages over MPI: `MPI_Isend`, and at the receiver `MPI_Improbe` for any source,
//! then `MPI_Mrecv`.

use std::rc::Rc;

use super::adversity::Jitter;
use super::ffi::Transfers;
use super::numbers::ContextNumber;
use super::world_state::WorldState;
use crate::spin_wait::{SpinWait, wait_until};
use crate::unexpected::{UnexpectedMessage, UnexpectedMessages, left_over};
use crate::{CommError, Rank, Traffic};

/// A context of unexpected messages.
#[derive(Debug)]
pub(super) struct Unexpected {
    name: &'static str,
    number: ContextNumber,
    /// One entry for each message that has been under way at the same time as others.
    outgoing: Vec<Transfers>,
    traffic: Traffic,
    jitter: Jitter,
    /// The last field, so that MPI is finalised after the requests are dropped.
    world: Rc<WorldState>,
}

impl Unexpected {
    /// Opens the context. *Collective.*
    pub(super) fn open(world: Rc<WorldState>, name: &'static str) -> Result<Self, CommError> {
        let [number] = world.numbers.borrow_mut().take()?;
        let jitter = Jitter::new(world.adversity.get(), world.rank, number.tag(0) as u64);
        Ok(Self { name, number, outgoing: Vec::new(), traffic: Traffic::default(), jitter, world })
    }

    fn timeout(&self, waited_s: f64, awaited: String) -> CommError {
        CommError::Timeout { context: self.name, rank: self.world.rank, waited_s, awaited }
    }

    /// Lets the library move messages that are under way.
    fn drive(&mut self) -> Result<bool, CommError> {
        self.outgoing.iter_mut().try_for_each(|message| message.poll(|_| ()))?;
        Ok(!self.outgoing.iter().any(Transfers::any_active))
    }
}

impl UnexpectedMessages for Unexpected {
    fn send(&mut self, to: Rank, bytes: &[u8]) -> Result<(), CommError> {
        self.jitter.pause();
        self.traffic.messages += 1;
        self.traffic.bytes += bytes.len() as u64;
        let free = self.outgoing.iter().position(|message| !message.any_active());
        let free = free.unwrap_or(self.outgoing.len());
        if free == self.outgoing.len() {
            self.drive()?;
            self.outgoing.push(Transfers::outgoing(1));
        }
        let message = &mut self.outgoing[free];
        message.bytes_mut(0, bytes.len())?.copy_from_slice(bytes);
        message.send(0, &self.world.communicator, to, self.number.tag(0))
    }

    fn take(&mut self) -> Result<Option<UnexpectedMessage>, CommError> {
        self.jitter.pause();
        let found = self.world.communicator.take_any(self.number.tag(0))?;
        if found.is_none() {
            self.drive()?;
        }
        Ok(found.map(|(from, bytes)| UnexpectedMessage { from, bytes }))
    }

    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<UnexpectedMessage, CommError> {
        let mut wait = SpinWait::new(self.world.watchdog());
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            wait.pause().map_err(|expired| self.timeout(expired.waited_s, awaited()))?;
        }
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Closes the context. Messages that were not taken are detected if they have arrived by then.
    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        let late =
            |messages: &Self, waited_s| messages.timeout(waited_s, "the messages it has sent".to_owned());
        wait_until(self.world.watchdog(), &mut *self, late, Self::drive)?;
        self.world.barrier()?;
        if let Some(message) = self.take()? {
            return Err(left_over(self.name, message.from));
        }
        self.world.barrier()?;
        self.world.numbers.borrow_mut().release(&[self.number]);
        Ok(())
    }
}
