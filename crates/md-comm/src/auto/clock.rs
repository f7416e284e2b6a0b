//! Time spent inside the transport, for one block of exchanges.

use std::time::{Duration, Instant};

/// A clock that can be switched off, so that exchanges whose time nobody wants do not pay for it.
#[derive(Debug, Default)]
pub(super) struct BlockClock {
    on: bool,
    spent: Duration,
}

impl BlockClock {
    /// Starts from zero, on or off.
    pub(super) fn reset(&mut self, on: bool) {
        *self = Self { on, spent: Duration::ZERO };
    }

    /// A call into the transport begins.
    #[inline]
    pub(super) fn begin(&self) -> Option<Instant> {
        self.on.then(Instant::now)
    }

    /// It is over.
    #[inline]
    pub(super) fn end(&mut self, begun: Option<Instant>) {
        if let Some(begun) = begun {
            self.spent += begun.elapsed();
        }
    }

    /// Seconds spent, if the clock is on.
    pub(super) fn spent_s(&self) -> Option<f64> {
        self.on.then_some(self.spent.as_secs_f64())
    }
}
