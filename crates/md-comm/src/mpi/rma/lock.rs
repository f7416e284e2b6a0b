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
use super::{Scheme, WindowContext};
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
    fn collect_credits(&mut self, context: &WindowContext) -> Result<(), CommError> {
        let heard = self.credits.poll()?;
        if heard.is_empty() {
            return Ok(());
        }
        for &i in heard {
            self.free[i] += 1;
        }
        self.credits.listen(context)
    }

    fn all_free(&self, context: &WindowContext) -> bool {
        self.credited.iter().all(|edge| self.free[edge.0] == context.arena.buffers)
    }
}

impl<const HELD: bool> Scheme for Lock<HELD> {
    const BACKEND: Backend = if HELD { Backend::RmaLock } else { Backend::RmaLockEpoch };

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        let access = Access::open(context, if HELD { Epoch::Window } else { Epoch::Exchange })?;
        let credited: Vec<_> =
            context.sending().filter(|&edge| context.needs_credit(edge, Along::Forward)).collect();
        let arrivals = Signals::open(context, Along::Forward, context.receiving().collect())?;
        let credits = Signals::open(context, Along::Backward, credited.clone())?;
        let free = vec![context.arena.buffers; context.layout.spec().edges.len()];
        Ok(Self { access, arrivals, credits, free, credited, crediting: context.crediting() })
    }

    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError> {
        self.collect_credits(context)?;
        let may = self.free[edge.0] > 0 && self.arrivals.has_left(edge)?;
        if may {
            self.access.begin(context)?;
        }
        Ok(may)
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if context.gets() {
            // The packed data are visible before their arrival is announced.
            context.arena.window.sync()?;
        } else {
            self.access.finish_puts(context)?;
        }
        for &EdgeId(i) in &self.credited {
            self.free[i] -= 1;
        }
        context.sending().try_for_each(|edge| {
            context.jitter.pause();
            self.arrivals.raise(context, edge)
        })
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        let heard = self.arrivals.poll()?;
        if heard.is_empty() {
            return Ok(());
        }
        if context.gets() {
            heard.iter().try_for_each(|&i| context.get(EdgeId(i)))?;
            context.arena.window.flush()?;
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        } else {
            Access::see_puts(context)?;
        }
        heard.iter().for_each(|&i| context.notice(EdgeId(i), None));
        Ok(())
    }

    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.arrivals.listen(context)?;
        self.credits.finish(context)?;
        self.crediting.iter().try_for_each(|&edge| self.credits.raise(context, edge))?;
        self.access.complete(context)
    }

    /// Ends the epoch after every credit has come back to its sender.
    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.wait_for("the last credits", |context| {
            self.collect_credits(context)?;
            Ok(self.all_free(context))
        })?;
        self.arrivals.close(context)?;
        self.credits.close(context)?;
        self.access.end(context)
    }
}
