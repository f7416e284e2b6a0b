//! One rank of a `local` world, and the messages that it posts and takes.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::queues::{Address, Kind, NoMessage, Shared};
use crate::buffer::AlignedBuffer;
use crate::deliver::copied;
use crate::{CommError, Rank};

/// Every world has this many context numbers: the first for its collectives, the others for its
/// exchanges.
pub(super) const CONTEXTS_PER_WORLD: u64 = 1 << 32;

/// What a rank and its contexts share.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) rank: Rank,
    pub(super) shared: Arc<Shared>,
    pub(super) watchdog: Rc<Cell<Duration>>,
    /// The context of the collectives.
    pub(super) collectives: u64,
    /// Opening is collective, so that all ranks count to the same numbers.
    pub(super) contexts: Rc<Cell<u64>>,
    /// Worlds so far, for all worlds of this rank.
    pub(super) worlds: Rc<Cell<u64>>,
}

impl Member {
    pub(super) fn next_context(&self) -> u64 {
        let number = self.contexts.get() + 1;
        self.contexts.set(number);
        number
    }

    /// Takes the first message of any of the queues, waiting for it.
    pub(super) fn take<I>(&self, choices: impl Fn() -> I) -> Result<(usize, AlignedBuffer), NoMessage>
    where
        I: Iterator<Item = (usize, Address)>,
    {
        self.shared.take(self.rank, self.watchdog.get(), choices)
    }

    /// Takes the first message of a queue, waiting for it.
    pub(super) fn take_one(
        &self,
        address: Address,
        late: impl FnOnce(f64) -> CommError,
    ) -> Result<AlignedBuffer, CommError> {
        let found = self.take(|| [(0, address)].into_iter());
        found.map(|(_, message)| message).map_err(|none| none.error(late))
    }

    pub(super) fn post(&self, kind: Kind, to: Rank, bytes: &[u8]) -> Result<(), CommError> {
        let address = Address { kind, context: self.collectives, from: self.rank, channel: 0 };
        self.shared.post(to, address, copy_of(bytes)?);
        Ok(())
    }

    pub(super) fn take_from(&self, kind: Kind, from: Rank) -> Result<AlignedBuffer, CommError> {
        let address = Address { kind, context: self.collectives, from, channel: 0 };
        let (context, rank) = (kind.name(), self.rank);
        self.take_one(address, |waited_s| CommError::Timeout {
            context,
            rank,
            waited_s,
            awaited: format!("rank {from}"),
        })
    }

    /// Gathers in rounds that double what each rank has (Bruck et al. 1997): each rank passes on
    /// all its bytes, its own and those of the ranks after it. If every rank sent to every other, a
    /// thousand threads would wake each other a million times.
    pub(super) fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        let (rank, ranks) = (self.rank, self.shared.ranks());
        let (mut all, mut known) = (copied(mine)?, 1);
        while known < ranks {
            let more = known.min(ranks - known);
            self.post(Kind::GatherAll, (rank + ranks - known) % ranks, &all[..more * mine.len()])?;
            let from = (rank + known) % ranks;
            let message = self.take_from(Kind::GatherAll, from)?;
            if message.bytes().len() != more * mine.len() {
                self.shared.fail(rank);
                let bytes = message.bytes().len();
                let what = format!("{more} ranks from {from} on gave {bytes} bytes, not {} each", mine.len());
                return Err(CommError::Misuse { context: Kind::GatherAll.name(), what });
            }
            all.extend_from_slice(message.bytes());
            known += more;
        }
        all.rotate_right(rank * mine.len());
        Ok(all)
    }

    pub(super) fn barrier(&self) -> Result<(), CommError> {
        self.gather_all(&[]).map(drop)
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::GatherAll => "gather_all",
            Self::Gather => "gather",
            Self::Broadcast => "broadcast",
            Self::Shift => "shift",
            Self::Payload | Self::FreeBuffer | Self::Capacity | Self::Unexpected => "exchange",
        }
    }
}

/// A message with these bytes.
pub(super) fn copy_of(bytes: &[u8]) -> Result<AlignedBuffer, CommError> {
    let mut message = AlignedBuffer::new(bytes.len())?;
    message.bytes_mut().copy_from_slice(bytes);
    Ok(message)
}
