//! The replacement of [`adversity`](super::adversity) outside of tests, which does nothing.

use crate::Rank;
use crate::mpi::ffi::RANKS_PER_FLUSH;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Adversity;

impl Adversity {
    pub(super) fn refuses_window(self, _: Rank, _: usize) -> bool {
        false
    }

    pub(super) fn ranks_per_flush(self) -> usize {
        RANKS_PER_FLUSH
    }
}

#[derive(Debug)]
pub(super) struct Jitter;

impl Jitter {
    pub(super) fn new(_: Adversity, _: Rank, _: u64) -> Self {
        Self
    }

    pub(super) fn forces_streaming(&self, _: u64) -> Option<bool> {
        None
    }

    pub(super) fn pause(&self) {}

    pub(super) fn note_read(&mut self, _: usize, _: usize) {}

    pub(super) fn take_read(&mut self) -> Option<(usize, usize)> {
        None
    }
}
