//! Waiting: a rank spins briefly, then yields the core, and gives up when the watchdog's limit has
//! passed.
//!
//! The clock is read only now and then. On an oversubscribed machine the awaited rank may need this
//! core: spinning for long would delay it by a scheduler quantum.

use std::time::Duration;

use crate::ledger::Ledger;
use crate::monitor::WaitingTime;
use crate::transport::Poll;
use crate::{CommError, EdgeId};

/// Polls without yielding the core: about the time of a few message latencies.
const SPINS: u32 = 256;
/// Polls between two readings of the clock.
const POLLS_PER_CLOCK: u32 = 64;

/// The limit has passed, after this number of seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Expired {
    pub(crate) waited_s: f64,
}

/// One wait in progress.
#[derive(Debug)]
pub(crate) struct SpinWait {
    limit: Duration,
    time: Option<WaitingTime>,
    polls: u32,
}

impl SpinWait {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, time: None, polls: 0 }
    }

    /// Pauses; to be called after each poll that found nothing.
    pub(crate) fn pause(&mut self) -> Result<(), Expired> {
        self.polls = self.polls.wrapping_add(1);
        if self.time.is_none() && self.polls < SPINS {
            std::hint::spin_loop();
            return Ok(());
        }
        std::thread::yield_now();
        let time = self.time.get_or_insert_with(WaitingTime::start);
        if self.polls.is_multiple_of(POLLS_PER_CLOCK)
            && let Some(waited) = time.expired(self.limit)
        {
            return Err(Expired { waited_s: waited.as_secs_f64() });
        }
        Ok(())
    }
}

/// Waits until something is over, and yields the core in between; `late` makes the error from the
/// seconds waited in vain.
pub(crate) fn wait_until<S>(
    limit: Duration,
    state: &mut S,
    late: impl FnOnce(&S, f64) -> CommError,
    mut is_over: impl FnMut(&mut S) -> Result<bool, CommError>,
) -> Result<(), CommError> {
    let mut wait = SpinWait::new(limit);
    while !is_over(state)? {
        if let Err(expired) = wait.pause() {
            return Err(late(state, expired.waited_s));
        }
    }
    Ok(())
}

impl Poll {
    /// Looks for a message as often as `poll` requires.
    pub(crate) fn answer<S>(
        self,
        limit: Duration,
        ledger: &Ledger,
        transport: &mut S,
        mut look: impl FnMut(&mut S) -> Result<Option<EdgeId>, CommError>,
    ) -> Result<Option<EdgeId>, CommError> {
        let mut wait = SpinWait::new(limit);
        loop {
            let found = look(transport)?;
            if found.is_some() || self == Self::Probe {
                return Ok(found);
            }
            wait.pause().map_err(|expired| ledger.timeout(expired.waited_s, ledger.awaited_edges()))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn expires_after_its_limit() {
        let mut wait = SpinWait::new(Duration::from_millis(5));
        let begun = Instant::now();
        let expired = loop {
            if let Err(expired) = wait.pause() {
                break expired;
            }
        };
        assert!(begun.elapsed() >= Duration::from_millis(5));
        assert!(expired.waited_s >= 0.005);
    }
}
