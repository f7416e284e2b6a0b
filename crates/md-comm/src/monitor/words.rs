//! The words that a watched thread and its monitor share. One thread writes each; all of them
//! change with one store.

use std::sync::Arc;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(all(test, loom))]
use loom::sync::atomic::AtomicU64;

use crate::Rank;

/// A sign of life of the working thread; only one thread may give it, because signs are lost
/// otherwise. Costs one atomic store.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// Gives a sign.
    pub fn beat(&self) {
        // Nothing else is published with this number.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Returns the number of signs given so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The call that the process is in: in the low bits the call's code, 0 for none; then the rank it
/// concerns, plus 1; and a number that differs between consecutive calls.
#[derive(Debug, Default)]
pub(crate) struct CallWord(pub(crate) AtomicU64);

const CALL_BITS: u32 = 8;
const PEER_BITS: u32 = 24;
const NUMBER: u64 = 1 << (CALL_BITS + PEER_BITS);

impl CallWord {
    /// Enters a call. A thread that sees the call also sees the limit that was set before it.
    pub(crate) fn enter(&self, call: u8, peer: Option<Rank>) {
        let peer = peer.map_or(0, |peer| (peer as u64 + 1) % (1 << PEER_BITS));
        self.0.store(self.0.load(Ordering::Relaxed) | peer << CALL_BITS | u64::from(call), Ordering::Release);
    }

    pub(crate) fn leave(&self) {
        let number = self.0.load(Ordering::Relaxed) / NUMBER;
        self.0.store(number.wrapping_add(1).wrapping_mul(NUMBER), Ordering::Relaxed);
    }

    pub(crate) fn pulse(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|word| call_in(*word) != 0)
    }
}

/// Returns the code of the call.
pub(crate) fn call_in(word: u64) -> u8 {
    word as u8
}

pub(crate) fn peer_in(word: u64) -> Option<Rank> {
    ((word % NUMBER) >> CALL_BITS).checked_sub(1).map(|peer| peer as Rank)
}

/// How long calls may last.
#[derive(Debug, Clone)]
pub(crate) struct CallLimit(Arc<AtomicU64>);

impl CallLimit {
    pub(crate) fn new(limit: Duration) -> Self {
        let own = Self(Arc::default());
        own.set(limit);
        own
    }

    pub(crate) fn set(&self, limit: Duration) {
        self.0.store(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
