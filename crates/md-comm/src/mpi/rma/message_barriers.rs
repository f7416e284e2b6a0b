//! `rma-barrier` with `barriers = "per-message"`: a global barrier before and behind each put (the
//! "Hybrid-Barrier" of the miniMD study, Li et al.).
//!
//! Structure: all ranks agree on the largest number of messages that one of them sends. So many
//! rounds has an exchange: a barrier; a rank that has a message left puts and flushes it; a
//! barrier. `initiate` enters the first one, and `poll` goes on as the others let it. Behind the
//! last one everything has arrived. The first one tells that all buffers have been read. Relies on:
//! as `rma-barrier`.
//! Cost: per message put, acknowledgement, and twice the ceil(log2 P) latencies of a barrier, one
//! message after another.
//! Advantage: none; it is what blocking sends and receives become when each is replaced by a put.
//! Disadvantage: rounds go on only while their own context is called, so that contexts must be used
//! in the same order on all ranks.

use super::super::ffi::Barriers;
use super::access::{Access, Epoch};
use super::{Parts, Scheme};
use crate::{Backend, CommError, EdgeId};

/// Where this exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Being packed, or everything has arrived.
    Open,
    /// In the barrier before the put of a round.
    Before(usize),
    /// In the barrier behind it.
    Behind(usize),
}

/// Rounds of one context.
#[derive(Debug)]
pub(crate) struct MessageBarriers {
    barriers: Barriers,
    access: Access,
    /// In the order of their rounds.
    sending: Vec<EdgeId>,
    /// The same on all ranks.
    rounds: usize,
    phase: Phase,
}

impl MessageBarriers {
    /// Goes as far as the other ranks let it.
    fn advance(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        while self.phase != Phase::Open && self.barriers.passed()? {
            match self.phase {
                Phase::Open => (),
                Phase::Before(round) => {
                    if let Some(&edge) = self.sending.get(round) {
                        parts.jitter.pause();
                        parts.put(edge)?;
                        self.access.finish_puts(parts)?;
                    }
                    self.barriers.enter()?;
                    self.phase = Phase::Behind(round);
                }
                Phase::Behind(round) => self.begin(parts, round + 1)?,
            }
        }
        Ok(())
    }

    /// Behind the last round everything has arrived.
    fn begin(&mut self, parts: &mut Parts, round: usize) -> Result<(), CommError> {
        if round < self.rounds {
            self.phase = Phase::Before(round);
            return self.barriers.enter();
        }
        self.phase = Phase::Open;
        Access::see_puts(parts)?;
        parts.notice_all();
        Ok(())
    }
}

impl Scheme for MessageBarriers {
    const BACKEND: Backend = Backend::RmaBarrier;

    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        let sending: Vec<_> = parts.sending().collect();
        let rounds = parts.world.highest(sending.len() as u64)? as usize;
        let access = Access::open(parts, Epoch::Window)?;
        let barriers = Barriers::new(&parts.world.communicator)?;
        Ok(Self { barriers, access, sending, rounds, phase: Phase::Open })
    }

    /// Communicator and rounds stay.
    fn reopen(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.access = Access::open(parts, Epoch::Window)?;
        Ok(())
    }

    fn may_pack(&mut self, _: &mut Parts, _: EdgeId) -> Result<bool, CommError> {
        Ok(true)
    }

    /// Its round comes later.
    fn start(&mut self, _: &mut Parts, _: EdgeId) -> Result<(), CommError> {
        Ok(())
    }

    fn initiate(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.begin(parts, 0)?;
        self.advance(parts)
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.advance(parts)
    }

    /// A rank that receives nothing has not looked at the barriers yet.
    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.wait_for("all ranks", |parts| {
            self.advance(parts)?;
            Ok(self.phase == Phase::Open)
        })
    }

    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.access.end(parts)
    }

    fn end(&mut self) -> Result<(), CommError> {
        self.barriers.free()
    }
}
