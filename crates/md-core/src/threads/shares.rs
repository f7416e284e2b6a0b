//! A log of the threads that have worked on shares, for timelines.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Number of shares per thread that are kept until they are taken; later ones are dropped. A phase
/// of a step has a few.
const KEPT: usize = 1024;

/// One share of some work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Thread that worked on the share; 0 is the calling thread.
    pub thread: usize,
    /// Start time.
    pub begun: Instant,
    /// End time.
    pub ended: Instant,
}

/// The shares of all threads of a rank since they were last taken, while recording is on.
#[derive(Debug)]
pub(super) struct ShareLog {
    watched: AtomicBool,
    by_thread: Box<[Mutex<Vec<Share>>]>,
}

impl ShareLog {
    pub(super) fn new(threads: usize) -> Self {
        let by_thread = (0..threads).map(|_| Mutex::default()).collect();
        Self { watched: AtomicBool::new(false), by_thread }
    }

    /// Starts recording shares, in memory that has already been allocated.
    pub(super) fn watch(&self) {
        for shares in &self.by_thread {
            let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
            shares.clear();
            shares.reserve_exact(KEPT);
        }
        self.watched.store(true, Ordering::Relaxed);
    }

    pub(super) fn stop_watching(&self) {
        self.watched.store(false, Ordering::Relaxed);
    }

    /// Runs one share of work and records it while recording is on.
    pub(super) fn time<R>(&self, work: impl FnOnce() -> R) -> R {
        if !self.watched.load(Ordering::Relaxed) {
            return work();
        }
        let begun = Instant::now();
        let result = work();
        self.note(begun);
        result
    }

    fn note(&self, begun: Instant) {
        let thread = rayon::current_thread_index().unwrap_or(0);
        let Some(shares) = self.by_thread.get(thread) else { return };
        let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() < KEPT {
            shares.push(Share { thread, begun, ended: Instant::now() });
        }
    }

    /// Passes the recorded shares to `each`, thread by thread.
    pub(super) fn take(&self, mut each: impl FnMut(Share)) {
        for shares in &self.by_thread {
            shares.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(&mut each);
        }
    }
}
