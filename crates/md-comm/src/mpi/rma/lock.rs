//! `rma-lock` and `rma-lock-epoch`: passive target, arrivals announced by empty messages (MONC's
//! winner).
//!
//! Structure: `start` puts; `initiate` completes all puts at their targets and then sends an empty
//! message along every edge: when it is received, the data are in place. `rma-lock` locks all ranks
//! once, when the context is opened, and flushes; `rma-lock-epoch` locks and unlocks in every
//! exchange (the naive form), opening the epoch at the end of `complete`, or with the first message
//! (`epoch = "initiate"`). Buffers are released by empty messages in the opposite direction unless
//! the pattern implies the release.
//! Relies on: flush and unlock complete puts at origin and target (MPI-3.1 sections 11.5.3,
//! 11.5.4); a message sent afterwards is received afterwards; `MPI_Win_sync` makes the put visible
//! if the memory model is not unified. `MPI_MODE_NOCHECK` is true in both (section 11.5.5), because
//! no rank ever requests an exclusive lock: `rma-lock` always asserts it, `rma-lock-epoch` if the
//! options ask for assertions.
//! Cost: three latencies: put, its acknowledgement, message; or message, get, answer.
//! Advantage: only neighbours wait for each other, each message is found as it arrives, and no
//! memory is polled.
//! Disadvantage: a matched message per edge beside the data, so that it cannot be faster than an
//! eager message on a network.

use super::access::{Access, Epoch};
use super::signals::Signals;
use super::{Parts, Scheme};
use crate::mpi::edge_words::Along;
use crate::{Backend, CommError, EdgeId};

/// Passive target; `HELD`: one epoch for the whole life of the context.
#[derive(Debug)]
pub(crate) struct Lock<const HELD: bool> {
    access: Access,
    arrivals: Signals,
    credits: Signals,
    /// Number of free buffers per edge, counted if credits are needed.
    free: Vec<u64>,
    credited: Vec<EdgeId>,
    /// Receiving edges whose senders wait for credits.
    crediting: Vec<EdgeId>,
}

impl<const HELD: bool> Lock<HELD> {
    fn collect_credits(&mut self, parts: &Parts) -> Result<(), CommError> {
        let heard = self.credits.poll()?;
        if heard.is_empty() {
            return Ok(());
        }
        for &i in heard {
            self.free[i] += 1;
        }
        self.credits.listen(parts)
    }

    fn all_free(&self, parts: &Parts) -> bool {
        self.credited.iter().all(|edge| self.free[edge.0] == parts.arena.buffers)
    }
}

impl<const HELD: bool> Scheme for Lock<HELD> {
    const BACKEND: Backend = if HELD { Backend::RmaLock } else { Backend::RmaLockEpoch };

    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        let access = Access::open(parts, if HELD { Epoch::Window } else { Epoch::Exchange })?;
        let credited: Vec<_> =
            parts.sending().filter(|&edge| parts.needs_credit(edge, Along::Forward)).collect();
        let arrivals = Signals::open(parts, Along::Forward, parts.receiving().collect())?;
        let credits = Signals::open(parts, Along::Backward, credited.clone())?;
        let free = vec![parts.arena.buffers; parts.terms.spec().edges.len()];
        Ok(Self { access, arrivals, credits, free, credited, crediting: parts.crediting() })
    }

    fn may_pack(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<bool, CommError> {
        self.collect_credits(parts)?;
        let may = self.free[edge.0] > 0 && self.arrivals.has_left(edge)?;
        if may {
            self.access.begin(parts)?;
        }
        Ok(may)
    }

    fn initiate(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if parts.gets() {
            // The packed data are visible before their arrival is announced.
            parts.arena.window.sync()?;
        } else {
            self.access.finish_puts(parts)?;
        }
        for &EdgeId(i) in &self.credited {
            self.free[i] -= 1;
        }
        parts.sending().try_for_each(|edge| {
            parts.jitter.pause();
            self.arrivals.raise(parts, edge)
        })
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        let heard = self.arrivals.poll()?;
        if heard.is_empty() {
            return Ok(());
        }
        if parts.gets() {
            heard.iter().try_for_each(|&i| parts.get(EdgeId(i)))?;
            parts.arena.window.flush()?;
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        } else {
            Access::see_puts(parts)?;
        }
        heard.iter().for_each(|&i| parts.notice(EdgeId(i), None));
        Ok(())
    }

    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.arrivals.listen(parts)?;
        self.credits.finish(parts)?;
        self.crediting.iter().try_for_each(|&edge| self.credits.raise(parts, edge))?;
        self.access.complete(parts)
    }

    /// Ends the epoch after every credit has come back to its sender.
    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.wait_for("the last credits", |parts| {
            self.collect_credits(parts)?;
            Ok(self.all_free(parts))
        })?;
        self.arrivals.close(parts)?;
        self.credits.close(parts)?;
        self.access.end(parts)
    }
}
