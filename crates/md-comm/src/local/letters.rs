//! Letters of the `local` transport: queues by sender in the rank's mailbox.

use std::time::Duration;

use super::mailbox::{Address, Kind, NoMessage};
use super::member::{Member, copy_of};
use crate::mailbox::{Letter, Mailbox, left_over};
use crate::{AlignedBuffer, CommError, Rank, Traffic};

/// This rank's letters in one context.
#[derive(Debug)]
pub(super) struct Letters {
    member: Member,
    context: u64,
    name: &'static str,
    traffic: Traffic,
    /// The sender that is checked first: all in turn, so that none is starved.
    first: Rank,
}

impl Letters {
    /// Opens a mailbox. *Collective.*
    pub(super) fn open(member: Member, name: &'static str) -> Self {
        let context = member.next_context();
        Self { member, context, name, traffic: Traffic::default(), first: 0 }
    }

    fn address(&self, from: Rank) -> Address {
        Address { kind: Kind::Letter, context: self.context, from, channel: 0 }
    }

    fn senders(&self) -> impl Iterator<Item = (usize, Address)> {
        let ranks = self.member.shared.ranks();
        (0..ranks).map(move |i| (self.first + i) % ranks).map(|from| (from, self.address(from)))
    }

    fn came(&mut self, (from, bytes): (Rank, AlignedBuffer)) -> Letter {
        self.first = from + 1;
        Letter { from, bytes }
    }

    fn late(&self, waited_s: f64, awaited: String) -> CommError {
        CommError::Timeout { context: self.name, rank: self.member.rank, waited_s, awaited }
    }
}

impl Mailbox for Letters {
    fn send(&mut self, to: Rank, bytes: &[u8]) -> Result<(), CommError> {
        self.traffic.messages += 1;
        self.traffic.bytes += bytes.len() as u64;
        self.member.shared.post(to, self.address(self.member.rank), copy_of(bytes)?);
        Ok(())
    }

    fn take(&mut self) -> Result<Option<Letter>, CommError> {
        match self.member.shared.take(self.member.rank, Duration::ZERO, || self.senders()) {
            Ok(found) => Ok(Some(self.came(found))),
            Err(NoMessage::Expired { .. }) => Ok(None),
            Err(none @ NoMessage::PeerFailed(_)) => {
                Err(none.error(|waited_s| self.late(waited_s, String::new())))
            }
        }
    }

    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<Letter, CommError> {
        let found = self.member.take(|| self.senders());
        let found = found.map_err(|none| none.error(|waited_s| self.late(waited_s, awaited())))?;
        Ok(self.came(found))
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.member.barrier()?;
        self.take()?.map_or(Ok(()), |letter| Err(left_over(self.name, letter.from)))
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        self.member.shared.close(self.context);
    }
}
