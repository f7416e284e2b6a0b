//! Collectives of the `local` transport, as plain messages: gathering in rounds that double what
//! each rank has, all ranks to the root, the root to all ranks, and around a ring.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::letters::Letters;
use super::mailbox::{Address, Kind, NoMessage, Shared};
use super::transport::LocalTransport;
use crate::buffer::AlignedBuffer;
use crate::deliver::copied;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{CommError, Exchange, ExchangeSpec, Mailbox, Rank, World};

/// Every world has this many context numbers: the first for its collectives, the others for its
/// exchanges.
const CONTEXTS_PER_WORLD: u64 = 1 << 32;

/// One rank's view of the world.
#[derive(Debug, Clone)]
pub(crate) struct LocalWorld {
    member: Member,
}

/// What a rank and its contexts share.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) rank: Rank,
    pub(super) shared: Arc<Shared>,
    watchdog: Rc<Cell<Duration>>,
    /// The context of the collectives.
    collectives: u64,
    /// Opening is collective, so that all ranks count to the same numbers.
    contexts: Rc<Cell<u64>>,
    /// Worlds so far, for all worlds of this rank.
    worlds: Rc<Cell<u64>>,
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

    fn post(&self, kind: Kind, to: Rank, bytes: &[u8]) -> Result<(), CommError> {
        let address = Address { kind, context: self.collectives, from: self.rank, channel: 0 };
        self.shared.post(to, address, copy_of(bytes)?);
        Ok(())
    }

    fn take_from(&self, kind: Kind, from: Rank) -> Result<AlignedBuffer, CommError> {
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
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
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
            Self::Payload | Self::FreeBuffer | Self::Capacity | Self::Letter => "exchange",
        }
    }
}

impl LocalWorld {
    pub(super) fn new(rank: Rank, shared: Arc<Shared>, watchdog: Duration) -> Self {
        let watchdog = Rc::new(Cell::new(watchdog));
        let (contexts, worlds) = (Rc::default(), Rc::default());
        Self { member: Member { rank, shared, watchdog, collectives: 0, contexts, worlds } }
    }

    /// *Collective.*
    pub(crate) fn transport(&self, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError> {
        Ok(Box::new(LocalTransport::open(self.member.clone(), ledger)?))
    }
}

impl World for LocalWorld {
    fn rank(&self) -> Rank {
        self.member.rank
    }

    fn ranks(&self) -> usize {
        self.member.shared.ranks()
    }

    fn set_watchdog(&self, limit: Duration) {
        self.member.watchdog.set(limit);
    }

    fn duplicate(&self) -> Result<Box<dyn World + '_>, CommError> {
        let Member { rank, shared, watchdog, worlds, .. } = self.member.clone();
        worlds.set(worlds.get() + 1);
        let collectives = worlds.get() * CONTEXTS_PER_WORLD;
        let watchdog = Rc::new(Cell::new(watchdog.get()));
        let contexts = Rc::new(Cell::new(collectives));
        Ok(Box::new(Self { member: Member { rank, shared, watchdog, collectives, contexts, worlds } }))
    }

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        let mut ledger = Ledger::new(self.rank(), self.ranks(), spec)?;
        let transport = self.transport(&mut ledger)?;
        let world = self.clone();
        Ok(Exchange::new(ledger, transport, move |spec| world.open(spec)))
    }

    fn mailbox(&self, name: &'static str) -> Result<Box<dyn Mailbox>, CommError> {
        Ok(Box::new(Letters::open(self.member.clone(), name)))
    }

    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.member.gather_all(mine)
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        if self.rank() == root {
            (0..self.ranks())
                .filter(|&to| to != root)
                .try_for_each(|to| self.member.post(Kind::Broadcast, to, bytes))?;
        } else {
            *bytes = copied(self.member.take_from(Kind::Broadcast, root)?.bytes())?;
        }
        Ok(())
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.member.post(Kind::Gather, root, mine)?;
        if self.rank() != root {
            return Ok(Vec::new());
        }
        (0..self.ranks()).map(|from| copied(self.member.take_from(Kind::Gather, from)?.bytes())).collect()
    }

    fn shift(&self, by: usize, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        let (rank, ranks) = (self.rank(), self.ranks());
        self.member.post(Kind::Shift, (rank + by) % ranks, mine)?;
        let from = (rank + ranks - by % ranks) % ranks;
        copied(self.member.take_from(Kind::Shift, from)?.bytes())
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.member.barrier()
    }

    fn abort(&self, _exit_code: i32) {
        self.member.shared.fail(self.rank());
    }

    fn library(&self) -> String {
        "none".to_owned()
    }
}

/// A message with these bytes.
pub(super) fn copy_of(bytes: &[u8]) -> Result<AlignedBuffer, CommError> {
    let mut message = AlignedBuffer::new(bytes.len())?;
    message.bytes_mut().copy_from_slice(bytes);
    Ok(message)
}
