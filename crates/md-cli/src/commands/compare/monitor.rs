//! Watching over calls that cannot be interrupted.
//!
//! A wait of a transport ends by its own watchdog; a call that blocks inside the MPI library does not end at all. So the
//! measuring thread counts, and a second thread looks whether it still does. If the count has stood still for too long,
//! that thread does what is left to do and ends the job; it must not call MPI for anything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Looks per limit.
const LOOKS: u32 = 20;

/// A sign of life: to be given wherever the measuring thread comes along. Costs one atomic store.
#[derive(Debug, Clone, Default)]
pub(super) struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// Gives a sign.
    pub(super) fn beat(&self) {
        // One thread counts; nothing else is published with this number.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The watching thread; dropping the monitor ends it.
#[derive(Debug)]
pub(super) struct Monitor {
    /// Never sent on: dropped, it tells the thread to end.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts to watch; calls `on_standstill` once if there is no heartbeat for `limit`. Without a thread to be had there
    /// is no monitor, and a call that hangs hangs.
    pub(super) fn start(
        limit: Duration,
        heartbeat: Heartbeat,
        on_standstill: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (ending, ended) = mpsc::channel();
        let watch = move || {
            let (mut count, mut since) = (heartbeat.count(), Instant::now());
            while ended.recv_timeout(limit / LOOKS) == Err(RecvTimeoutError::Timeout) {
                if heartbeat.count() != count {
                    (count, since) = (heartbeat.count(), Instant::now());
                } else if since.elapsed() >= limit {
                    return on_standstill();
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
            // What the thread had to say it has said; its panic would be a second report of the same.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(200);

    fn monitor(heartbeat: &Heartbeat) -> (Monitor, Arc<AtomicBool>) {
        let fired = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&fired);
        (Monitor::start(LIMIT, heartbeat.clone(), move || flag.store(true, Ordering::Relaxed)), fired)
    }

    #[test]
    fn a_standstill_is_noticed() {
        let (monitor, fired) = monitor(&Heartbeat::default());
        std::thread::sleep(3 * LIMIT);
        drop(monitor);
        assert!(fired.load(Ordering::Relaxed));
    }

    #[test]
    fn beats_keep_the_monitor_quiet() {
        let heartbeat = Heartbeat::default();
        let (monitor, fired) = monitor(&heartbeat);
        let begun = Instant::now();
        while begun.elapsed() < 3 * LIMIT {
            heartbeat.beat();
            std::thread::sleep(LIMIT / 100);
        }
        drop(monitor);
        assert!(!fired.load(Ordering::Relaxed));
    }
}
