//! The messages that wait at each rank: queues by (kind, context, sender, channel), first in, first
//! out.

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;
use std::time::Duration;

use super::sync::{Condvar, Mutex, MutexGuard};
use crate::buffer::AlignedBuffer;
use crate::monitor::{LONGEST_LOOK, WaitingTime};
use crate::{Channel, CommError, Rank};

/// What a message is for; part of its address, so that a collective called out of order cannot take
/// another's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An exchange's message.
    Payload,
    /// A buffer coming back to its sender: the sender may pack it again.
    FreeBuffer,
    /// A capacity, at opening or negotiation.
    Capacity,
    /// One of [`crate::UnexpectedMessages`].
    Unexpected,
    GatherAll,
    Gather,
    Broadcast,
    Shift,
}

/// Address of a queue among those of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) kind: Kind,
    pub(super) context: u64,
    pub(super) from: Rank,
    pub(super) channel: Channel,
}

/// Why a wait ended without a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NoMessage {
    PeerFailed(Rank),
    Expired { waited_s: f64 },
}

impl NoMessage {
    /// Returns the error; `late` makes it from the seconds waited in vain.
    pub(super) fn error(self, late: impl FnOnce(f64) -> CommError) -> CommError {
        match self {
            Self::PeerFailed(rank) => CommError::PeerFailed { rank },
            Self::Expired { waited_s } => late(waited_s),
        }
    }
}

#[derive(Debug, Default)]
struct RankQueues {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Address, VecDeque<AlignedBuffer>>,
    failed: Option<Rank>,
}

impl RankQueues {
    /// A thread that panics while it holds the lock leaves complete queues behind, so poisoning is
    /// not an error here.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the threads of one world share.
#[derive(Debug)]
pub(super) struct Shared {
    ranks: Vec<RankQueues>,
    /// Number of ranks that have closed each context, for contexts closed by some.
    closed: Mutex<HashMap<u64, usize>>,
}

impl Shared {
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks: (0..ranks).map(|_| RankQueues::default()).collect(), closed: Mutex::default() }
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Puts a message into a rank's queues. Never blocks.
    pub(super) fn post(&self, to: Rank, address: Address, message: AlignedBuffer) {
        let queues = &self.ranks[to];
        queues.lock().queues.entry(address).or_default().push_back(message);
        queues.changed.notify_all();
    }

    /// Posts a message without waking the receiver: wrong, to show that the model finds it.
    #[cfg(all(test, loom))]
    pub(super) fn post_unheard(&self, to: Rank, address: Address, message: AlignedBuffer) {
        self.ranks[to].lock().queues.entry(address).or_default().push_back(message);
    }

    /// Returns whether any of the queues has a message, or `Err` if a rank has failed. Only the
    /// rank itself takes messages out.
    pub(super) fn holds(
        &self,
        of: Rank,
        mut choices: impl Iterator<Item = (usize, Address)>,
    ) -> Result<bool, NoMessage> {
        let state = self.ranks[of].lock();
        match state.failed {
            Some(rank) => Err(NoMessage::PeerFailed(rank)),
            None => {
                Ok(choices
                    .any(|(_, address)| state.queues.get(&address).is_some_and(|queue| !queue.is_empty())))
            }
        }
    }

    /// Takes the first message of any of the queues, waiting for at most `watchdog`. `choices` is
    /// called again after every change.
    pub(super) fn take<I>(
        &self,
        of: Rank,
        watchdog: Duration,
        choices: impl Fn() -> I,
    ) -> Result<(usize, AlignedBuffer), NoMessage>
    where
        I: Iterator<Item = (usize, Address)>,
    {
        let queues = &self.ranks[of];
        let mut time = WaitingTime::start();
        let mut state = queues.lock();
        loop {
            if let Some(found) = state.take(choices())? {
                return Ok(found);
            }
            let waited = time.so_far();
            let Some(left) = watchdog.checked_sub(waited).filter(|left| !left.is_zero()) else {
                return Err(NoMessage::Expired { waited_s: waited.as_secs_f64() });
            };
            let pause = left.min(LONGEST_LOOK);
            state = queues.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the number of queues of all ranks.
    #[cfg(test)]
    pub(super) fn queues(&self) -> usize {
        self.ranks.iter().map(|queues| queues.lock().queues.len()).sum()
    }

    /// Closes a context on one rank. The queues are removed once all ranks have closed it: until
    /// then, one rank may still take what another has left.
    pub(super) fn close(&self, context: u64) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let ranks = closed.entry(context).or_default();
        *ranks += 1;
        if *ranks < self.ranks() {
            return;
        }
        closed.remove(&context);
        drop(closed);
        for queues in &self.ranks {
            queues.lock().queues.retain(|address, _| address.context != context);
        }
    }

    /// Wakes and fails every present and future wait of every rank. The first failure is the one
    /// reported.
    pub(super) fn fail(&self, rank: Rank) {
        for queues in &self.ranks {
            queues.lock().failed.get_or_insert(rank);
            queues.changed.notify_all();
        }
    }
}

impl State {
    fn take<I>(&mut self, mut choices: I) -> Result<Option<(usize, AlignedBuffer)>, NoMessage>
    where
        I: Iterator<Item = (usize, Address)>,
    {
        if let Some(rank) = self.failed {
            return Err(NoMessage::PeerFailed(rank));
        }
        Ok(choices.find_map(|(i, address)| Some((i, self.queues.get_mut(&address)?.pop_front()?))))
    }
}
