//! Time spent inside the transport, exchange by exchange.

use std::time::{Duration, Instant};

/// A clock that can be switched off, so that exchanges whose time nobody wants do not pay for it.
#[derive(Debug, Default)]
pub(super) struct TransportClock {
    on: bool,
    spent: Duration,
}

impl TransportClock {
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

    /// Seconds since the last lap, if the clock is on.
    pub(super) fn lap_s(&mut self) -> Option<f64> {
        let spent = std::mem::take(&mut self.spent);
        self.on.then_some(spent.as_secs_f64())
    }
}
