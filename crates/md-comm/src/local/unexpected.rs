//! Unexpected messages of the `local` transport: one of the rank's queues for each sender.

use std::time::Duration;

use super::member::{Member, copy_of};
use super::queues::{Address, Kind, NoMessage};
use crate::unexpected::{UnexpectedMessage, UnexpectedMessages, left_over};
use crate::{AlignedBuffer, CommError, Rank, Traffic};

/// A context of unexpected messages.
#[derive(Debug)]
pub(super) struct Unexpected {
    member: Member,
    context: u64,
    name: &'static str,
    traffic: Traffic,
    /// The sender that is checked first: all in turn, so that none is starved.
    first: Rank,
}

impl Unexpected {
    /// Opens the context. *Collective.*
    pub(super) fn open(member: Member, name: &'static str) -> Self {
        let context = member.next_context();
        Self { member, context, name, traffic: Traffic::default(), first: 0 }
    }

    fn address(&self, from: Rank) -> Address {
        Address { kind: Kind::Unexpected, context: self.context, from, channel: 0 }
    }

    fn senders(&self) -> impl Iterator<Item = (usize, Address)> {
        let ranks = self.member.shared.ranks();
        (0..ranks).map(move |i| (self.first + i) % ranks).map(|from| (from, self.address(from)))
    }

    fn came(&mut self, (from, bytes): (Rank, AlignedBuffer)) -> UnexpectedMessage {
        self.first = from + 1;
        UnexpectedMessage { from, bytes }
    }

    fn late(&self, waited_s: f64, awaited: String) -> CommError {
        CommError::Timeout { context: self.name, rank: self.member.rank, waited_s, awaited }
    }
}

impl UnexpectedMessages for Unexpected {
    fn send(&mut self, to: Rank, bytes: &[u8]) -> Result<(), CommError> {
        self.traffic.messages += 1;
        self.traffic.bytes += bytes.len() as u64;
        self.member.shared.post(to, self.address(self.member.rank), copy_of(bytes)?);
        Ok(())
    }

    fn take(&mut self) -> Result<Option<UnexpectedMessage>, CommError> {
        match self.member.shared.take(self.member.rank, Duration::ZERO, || self.senders()) {
            Ok(found) => Ok(Some(self.came(found))),
            Err(NoMessage::Expired { .. }) => Ok(None),
            Err(none @ NoMessage::PeerFailed(_)) => {
                Err(none.error(|waited_s| self.late(waited_s, String::new())))
            }
        }
    }

    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<UnexpectedMessage, CommError> {
        let found = self.member.take(|| self.senders());
        let found = found.map_err(|none| none.error(|waited_s| self.late(waited_s, awaited())))?;
        Ok(self.came(found))
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.member.barrier()?;
        self.take()?.map_or(Ok(()), |message| Err(left_over(self.name, message.from)))
    }
}

impl Drop for Unexpected {
    fn drop(&mut self) {
        self.member.shared.close(self.context);
    }
}
