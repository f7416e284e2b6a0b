//! `rma-barrier`: puts between global barriers (the "Hybrid-Barrier" of the miniMD study): the negative control.
//!
//! Structure: `start` puts; `initiate` completes all puts at their targets and enters a barrier; when it is over,
//! everything has arrived everywhere. With one buffer a second barrier, entered in `complete`, tells when all buffers
//! have been read; with two buffers the first one tells that of the exchange before.
//! Relies on: flush completes puts at their targets (MPI-3.1 section 11.5.4); a barrier is over on no rank before all
//! have entered it (section 5.3).
//! Cost: put and acknowledgement, then ceil(log2 P) latencies per barrier; everybody waits for the slowest rank.
//! Advantage: as simple as a fence, and the barrier is non-blocking: contexts may be used in any order and the watchdog
//! sees it. Disadvantage: global; measured slower than two-sided messages in the study.

use super::super::ffi::Barriers;
use super::{Parts, Scheme};
use crate::{Backend, CommError, EdgeId};

/// Where this exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Being packed, or everything has arrived.
    Open,
    /// The puts are done; the barrier can be entered once the last one has been passed.
    Put,
    /// The barrier has been entered.
    Entered,
}

/// Barriers of one context, on a communicator of its own.
#[derive(Debug)]
pub(crate) struct Barrier {
    barriers: Barriers,
    phase: Phase,
}

impl Barrier {
    /// Goes as far as the other ranks let it.
    fn advance(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if self.phase == Phase::Put && self.barriers.passed()? {
            self.barriers.enter()?;
            self.phase = Phase::Entered;
        }
        if self.phase == Phase::Entered && self.barriers.passed()? {
            self.phase = Phase::Open;
            parts.arena.window.sync()?;
            parts.notice_all();
        }
        Ok(())
    }

    /// Waits for the barrier that was entered last.
    fn finish(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.wait_for("all ranks", |parts| {
            self.advance(parts)?;
            Ok(self.phase == Phase::Open && self.barriers.passed()?)
        })
    }
}

impl Scheme for Barrier {
    const BACKEND: Backend = Backend::RmaBarrier;

    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        let barriers = Barriers::new(&parts.world.communicator)?;
        let mut scheme = Self { barriers, phase: Phase::Open };
        scheme.reopen(parts)?;
        Ok(scheme)
    }

    /// The communicator stays.
    fn reopen(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.arena.window.hold_all()?;
        parts.arena.window.sync()
    }

    fn may_pack(&mut self, _: &mut Parts, _: EdgeId) -> Result<bool, CommError> {
        self.barriers.passed()
    }

    fn initiate(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.arena.window.flush()?;
        parts.jitter.pause();
        // Senders have passed the last barrier in `send_buffer`. A rank that only receives waits here, at most until all
        // ranks have completed the last exchange; entering later, from `next` of this context, could deadlock with a
        // rank that waits in another context first.
        self.finish(parts)?;
        self.phase = Phase::Put;
        self.advance(parts)
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.advance(parts)
    }

    /// A rank that receives nothing has not looked at the barrier yet.
    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.finish(parts)?;
        if parts.arena.buffers < 2 { self.barriers.enter() } else { Ok(()) }
    }

    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.finish(parts)?;
        parts.arena.window.unlock_all()
    }

    fn end(&mut self) -> Result<(), CommError> {
        self.barriers.free()
    }
}
