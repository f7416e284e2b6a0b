//! Access to all ranks by a shared lock, held for the life of the window or for each exchange.

use super::Parts;
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
    pub(super) fn open(parts: &mut Parts, epoch: Epoch) -> Result<Self, CommError> {
        if epoch == Epoch::Exchange && !parts.arena.window.is_unified() {
            let reason =
                "the library's windows have separate copies, which only an open epoch can synchronise";
            return Err(parts.backend().unavailable(reason));
        }
        let mut access = Self { epoch, is_open: false };
        access.begin(parts)?;
        parts.arena.window.sync()?;
        if epoch == Epoch::Exchange && !parts.opens_ahead() {
            access.end(parts)?;
        }
        Ok(access)
    }

    /// Opens the epoch of an exchange before the first put.
    pub(super) fn begin(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if std::mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        match self.epoch {
            Epoch::Window => parts.arena.window.hold_all(),
            Epoch::Exchange => parts.arena.window.lock_all(),
        }
    }

    /// Completes all puts of this exchange at their targets.
    pub(super) fn finish_puts(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        match self.epoch {
            Epoch::Window => parts.arena.window.flush(),
            Epoch::Exchange => self.end(parts),
        }
    }

    /// Ends the exchange.
    pub(super) fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if parts.opens_ahead() { self.begin(parts) } else { Ok(()) }
    }

    /// Makes puts that have arrived visible to loads. With an epoch per exchange the memory model
    /// is unified.
    pub(super) fn see_puts(parts: &Parts) -> Result<(), CommError> {
        if !parts.arena.window.is_unified() {
            parts.arena.window.sync()?;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }

    /// Ends access, between two exchanges.
    pub(super) fn end(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if std::mem::take(&mut self.is_open) { parts.arena.window.unlock_all() } else { Ok(()) }
    }
}
