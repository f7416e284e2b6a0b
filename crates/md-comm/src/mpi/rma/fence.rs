//! `rma-fence`: all ranks put between two fences.
//!
//! Structure: `start` puts; the first call that requires a message fences, which completes the puts
//! of all ranks. With one buffer a second fence, in `complete`, shows all ranks that the buffers
//! have been read; with two buffers the next exchange writes to the other buffer, and the one fence
//! also opens its epoch. With gets, the first of two fences shows that all ranks have packed, the
//! second that all ranks have read. With `epoch = "initiate"` the second fence opens the next
//! exchange instead of ending this one, with two buffers as well.
//! Relies on: a fence without assertions completes all puts at both ends and, because it closes an
//! epoch with and opens one for all ranks, orders them like a barrier (MPI-3.1 section 11.5.1). A
//! fence with NOPRECEDE would not.
//! Cost: ceil(log2 P) latencies per fence, those of its barrier, and two before them if the library
//! first waits until the puts are acknowledged; every rank waits for the slowest of all, not of its
//! neighbours.
//! Advantage: nothing to track; no message per neighbour beside the data.
//! Disadvantage: global, and blocking: contexts must be used in the same order on all ranks,
//! `try_next` blocks, and a wait that is too long can only end the job.

use super::super::ffi::Assertion;
use super::{Scheme, WindowContext};
use crate::{Backend, CommError, EdgeId};

/// The fences of this exchange that have been passed.
#[derive(Debug)]
pub(crate) struct Fence {
    /// The fence that opens its epoch.
    opened: bool,
    /// The fences that end it.
    passed: bool,
}

impl Fence {
    fn open_epoch(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if std::mem::replace(&mut self.opened, true) {
            Ok(())
        } else {
            context.arena.window.fence(&[Assertion::NoStore])
        }
    }

    fn pass(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if !self.passed {
            let pass = if context.gets() { read } else { pass_puts };
            pass(context)?;
            self.passed = true;
            context.notice_all();
        }
        Ok(())
    }
}

/// Completes the puts of all ranks.
fn pass_puts(context: &mut WindowContext) -> Result<(), CommError> {
    // With one buffer, or an epoch that is opened late, the next puts come after another fence.
    // `NOSUCCEED` would be true too, but then the fence would be one that need not be a barrier.
    let also_opens = context.arena.buffers > 1 && context.opens_ahead();
    let assertions: &[Assertion] =
        if also_opens { &[Assertion::NoStore] } else { &[Assertion::NoStore, Assertion::NoPut] };
    context.arena.window.fence(assertions)
}

/// Reads between two fences: after the first, all ranks have packed; after the second, all ranks
/// have read. The first fence is not given `NOPRECEDE` although it ends no accesses, because it
/// must be a barrier.
fn read(context: &mut WindowContext) -> Result<(), CommError> {
    context.arena.window.fence(&[Assertion::NoPut])?;
    for edge in context.layout.edge_ids() {
        if context.receives_from_others(edge) {
            context.get(edge)?;
        }
    }
    context.arena.window.fence(&[Assertion::NoStore, Assertion::NoPut])
}

impl Scheme for Fence {
    const BACKEND: Backend = Backend::RmaFence;

    /// Opens the first epoch. A barrier follows, so that this fence need not be one.
    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        context.arena.window.fence(&[Assertion::NoPrecede])?;
        Ok(Self { opened: context.opens_ahead(), passed: false })
    }

    fn may_pack(&mut self, context: &mut WindowContext, _: EdgeId) -> Result<bool, CommError> {
        self.open_epoch(context)?;
        Ok(true)
    }

    /// Fences also on a rank that sends nothing.
    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.open_epoch(context)
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.pass(context)
    }

    /// Fences also on a rank that receives nothing.
    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.pass(context)?;
        (self.opened, self.passed) = (context.opens_ahead(), false);
        let must_free_buffers = context.arena.buffers < 2 && context.opens_ahead() && !context.gets();
        if must_free_buffers { context.arena.window.fence(&[Assertion::NoStore]) } else { Ok(()) }
    }

    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.arena.window.last_fence()
    }
}
