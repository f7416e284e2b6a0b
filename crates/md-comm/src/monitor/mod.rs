//! Watching over calls that cannot be interrupted.
//!
//! A wait of a transport ends by its own watchdog; a call that blocks inside the MPI library does
//! not end at all. The working thread therefore counts, and a second thread checks whether the
//! count changes. If the count has stood still for too long, that thread reports it and ends the
//! job; it must not call MPI for anything else.

#[cfg(loom)]
#[cfg(test)]
mod loom_model;
mod starvation;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only calls of MPI are watched"))]
mod words;

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use starvation::Starvation;
pub use words::Heartbeat;
#[cfg(feature = "mpi")]
pub(crate) use words::{CallLimit, CallWord, call_in, peer_in};

/// Checks per limit.
const LOOKS: u32 = 20;
/// Longest time between two checks, which is the delay after which a shorter limit takes effect.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// Shortest time between two checks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Longest time between two readings of the clock that counts as waiting, and longest sleep in
/// between.
pub(crate) const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// Lower bound of the time waited. A process that was suspended in between must not report the
/// others as late, and no clock tells suspension apart from a long pause between two checks; of
/// such a pause only [`LONGEST_LOOK`] counts. Waits check far more often (64 polls). If a poll is
/// slow, because of a call that lasts or of a core that is shared by many, the watchdog is late by
/// as much as pauses exceed that length, but never early.
///
/// Neither must a process report others that are ready to run but have no core: see
/// [`WaitingTime::expired`].
#[derive(Debug, Clone)]
pub(crate) struct WaitingTime {
    looked: Instant,
    waited: Duration,
    /// Read when a tenth of a limit has passed; most waits are shorter.
    starvation: Option<Starvation>,
}

impl WaitingTime {
    pub(crate) fn start() -> Self {
        Self { looked: Instant::now(), waited: Duration::ZERO, starvation: None }
    }

    /// Returns the time waited if it exceeds the limit, without the longest time for which another
    /// rank of this machine had no core.
    pub(crate) fn expired(&mut self, limit: Duration) -> Option<Duration> {
        /// Limits over the time after which the accounts are read first.
        const FIRST_READING: u32 = 10;
        let waited = self.so_far();
        if waited < limit / FIRST_READING {
            return None;
        }
        let starvation = self.starvation.get_or_insert_with(Starvation::begin);
        if waited < limit {
            return None;
        }
        let waited = waited.saturating_sub(starvation.so_far());
        (waited >= limit).then_some(waited)
    }

    /// Reads the clock and returns the time waited.
    pub(crate) fn so_far(&mut self) -> Duration {
        let now = Instant::now();
        self.waited += (now - self.looked).min(LONGEST_LOOK);
        self.looked = now;
        self.waited
    }
}

/// A pulse that has stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standstill {
    /// The pulse.
    pub pulse: u64,
    /// Time for which it has stood still, without time in which this whole process was stopped or
    /// another rank of this machine had no core.
    pub waited: Duration,
}

/// The watching thread; dropping the monitor ends it.
#[derive(Debug)]
pub struct Monitor {
    /// Never sent on; dropping it ends the thread.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts to watch. Calls `on_standstill` once if `pulse` is the same for as long as `limit`
    /// returns; a pulse of `None` may last. If no thread can be started there is no monitor, and a
    /// call that hangs is not ended.
    pub fn start(
        limit: impl Fn() -> Duration + Send + 'static,
        pulse: impl Fn() -> Option<u64> + Send + 'static,
        on_standstill: impl FnOnce(Standstill) + Send + 'static,
    ) -> Self {
        let (ending, ended) = mpsc::channel();
        let watch = move || {
            let (mut last, mut time) = (pulse(), WaitingTime::start());
            loop {
                let pause = (limit() / LOOKS).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
                if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let now = pulse();
                match now {
                    Some(pulse) if now == last => {
                        if let Some(waited) = time.expired(limit()) {
                            return on_standstill(Standstill { pulse, waited });
                        }
                    }
                    _ => (last, time) = (now, WaitingTime::start()),
                }
            }
        };
        Self { ending: Some(ending), thread: Builder::new().name("monitor".to_owned()).spawn(watch).ok() }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.ending = None;
        if let Some(thread) = self.thread.take() {
            // The thread has reported already; its panic would be a second report.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const LIMIT: Duration = Duration::from_millis(200);

    fn monitor(pulse: impl Fn() -> Option<u64> + Send + 'static) -> (Monitor, Arc<AtomicBool>) {
        let fired = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&fired);
        let fire = move |standstill: Standstill| {
            assert!(standstill.waited >= LIMIT);
            flag.store(true, Ordering::Relaxed);
        };
        (Monitor::start(|| LIMIT, pulse, fire), fired)
    }

    #[test]
    fn a_standstill_is_noticed() {
        let (monitor, fired) = monitor(|| Some(7));
        std::thread::sleep(3 * LIMIT);
        drop(monitor);
        assert!(fired.load(Ordering::Relaxed));
    }

    #[test]
    fn who_waits_for_nothing_may_stand_still() {
        let (monitor, fired) = monitor(|| None);
        std::thread::sleep(3 * LIMIT);
        drop(monitor);
        assert!(!fired.load(Ordering::Relaxed));
    }

    #[test]
    fn beats_keep_the_monitor_quiet() {
        let beat = Heartbeat::default();
        let watched = beat.clone();
        let (monitor, fired) = monitor(move || Some(watched.count()));
        let begun = Instant::now();
        while begun.elapsed() < 3 * LIMIT {
            beat.beat();
            std::thread::sleep(LIMIT / 100);
        }
        drop(monitor);
        assert!(!fired.load(Ordering::Relaxed));
    }
}
