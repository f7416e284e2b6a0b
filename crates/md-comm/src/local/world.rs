//! The world of the `local` transport. Its collectives are plain messages: gathering in rounds that
//! double what each rank has, all ranks to the root, the root to all ranks, and around a ring.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::member::{CONTEXTS_PER_WORLD, Member};
use super::queues::{Kind, Shared};
use super::transport::LocalTransport;
use super::unexpected::Unexpected;
use crate::deliver::copied;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{CommError, Exchange, ExchangeSpec, Platform, Rank, UnexpectedMessages, World};

/// One rank's view of the world.
#[derive(Debug, Clone)]
pub(crate) struct LocalWorld {
    member: Member,
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

    fn open_unexpected(&self, name: &'static str) -> Result<Box<dyn UnexpectedMessages>, CommError> {
        Ok(Box::new(Unexpected::open(self.member.clone(), name)))
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

    fn platform(&self) -> &dyn Platform {
        self
    }
}

impl Platform for LocalWorld {
    fn library(&self) -> String {
        "none".to_owned()
    }
}
