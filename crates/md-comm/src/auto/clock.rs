//! Time spent on moving messages, exchange by exchange.

use std::time::{Duration, Instant};

/// A clock that can be switched off, so that exchanges whose time nobody wants do not pay for it.
#[derive(Debug, Default)]
pub(crate) struct TransportClock {
    on: bool,
    running_since: Option<Instant>,
    spent: Duration,
}

impl TransportClock {
    /// Starts from zero, on or off.
    pub(super) fn reset(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    /// Runs from now on, if it is on and does not run already.
    #[inline]
    pub(crate) fn run(&mut self) {
        if self.on && self.running_since.is_none() {
            self.running_since = Some(Instant::now());
        }
    }

    /// Stands still from now on.
    #[inline]
    pub(crate) fn pause(&mut self) {
        if let Some(since) = self.running_since.take() {
            self.spent += since.elapsed();
        }
    }

    /// Seconds since the last lap, if the clock is on.
    pub(super) fn lap_s(&mut self) -> Option<f64> {
        let spent = std::mem::take(&mut self.spent);
        self.on.then_some(spent.as_secs_f64())
    }
}
