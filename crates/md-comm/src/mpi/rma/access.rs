//! Access to all ranks by a shared lock, held for the life of the window or for each exchange.

use super::WindowContext;
use crate::CommError;

/// Length of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// As long as the window keeps its size; puts are flushed.
    Window,
    /// One exchange.
    Exchange,
}

/// The lock of one context.
#[derive(Debug)]
pub(super) struct Access {
    epoch: Epoch,
    is_open: bool,
}

impl Access {
    /// Opens access to a new window.
    pub(super) fn open(context: &mut WindowContext, epoch: Epoch) -> Result<Self, CommError> {
        if epoch == Epoch::Exchange && !context.arena.window.is_unified() {
            let reason =
                "the library's windows have separate copies, which only an open epoch can synchronise";
            return Err(context.backend().unavailable(reason));
        }
        let mut access = Self { epoch, is_open: false };
        access.begin(context)?;
        context.arena.window.sync()?;
        if epoch == Epoch::Exchange && !context.opens_ahead() {
            access.end(context)?;
        }
        Ok(access)
    }

    /// Opens the epoch of an exchange before the first put.
    pub(super) fn begin(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if std::mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        match self.epoch {
            Epoch::Window => context.arena.window.hold_all(),
            Epoch::Exchange => context.arena.window.lock_all(),
        }
    }

    /// Completes all puts of this exchange at their targets.
    pub(super) fn finish_puts(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        match self.epoch {
            Epoch::Window => context.arena.window.flush(),
            Epoch::Exchange => self.end(context),
        }
    }

    /// Ends the exchange.
    pub(super) fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if context.opens_ahead() { self.begin(context) } else { Ok(()) }
    }

    /// Makes puts that have arrived visible to loads. With an epoch per exchange the memory model
    /// is unified.
    pub(super) fn see_puts(context: &WindowContext) -> Result<(), CommError> {
        if !context.arena.window.is_unified() {
            context.arena.window.sync()?;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }

    /// Ends access, between two exchanges.
    pub(super) fn end(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if std::mem::take(&mut self.is_open) { context.arena.window.unlock_all() } else { Ok(()) }
    }
}
