//! Flag words in windows: which message is in which buffer, and how long it is. The protocol itself
//! is in [`crate::flag_protocol`].

use std::sync::atomic::Ordering;

use super::super::ffi::Place;
use super::Parts;
use crate::flag_protocol::awaited_credit;
pub(super) use crate::flag_protocol::{flag, length_in};
use crate::mpi::edge_words::Along;
use crate::{CommError, EdgeId};

impl Parts {
    /// A word of the own part that another rank replaces.
    pub(super) fn polled_word(&self, offset: usize) -> Result<u64, CommError> {
        if !self.arena.window.is_unified() {
            self.arena.window.sync()?;
        }
        Ok(self.arena.window.own_word(offset)?.load(Ordering::Acquire))
    }

    /// Raises the flags of messages, after what has been put has arrived; flushed again, or a flag
    /// might never leave.
    pub(super) fn raise_flags(
        &mut self,
        edges: &[EdgeId],
        place: impl Fn(&Self, EdgeId) -> Place,
    ) -> Result<(), CommError> {
        if edges.is_empty() {
            return Ok(());
        }
        self.arena.window.flush()?;
        for &edge in edges {
            self.jitter.pause();
            let (flag, place) = (flag(self.sequence, self.length(edge)), place(self, edge));
            self.arena.window.replace(2 * edge.0, flag, place)?;
        }
        self.arena.window.flush()
    }

    /// Tells the senders of messages which buffers are free; `credit`: the word and its place.
    pub(super) fn return_credits(
        &mut self,
        edges: &[EdgeId],
        credit: impl Fn(&Self, EdgeId) -> (u64, Place),
    ) -> Result<(), CommError> {
        if edges.is_empty() {
            return Ok(());
        }
        for &edge in edges {
            let (word, place) = credit(self, edge);
            self.arena.window.replace(2 * edge.0 + 1, word, place)?;
        }
        self.arena.window.flush()
    }

    /// The place of this exchange's flag.
    pub(super) fn flag_place(&self, edge: EdgeId) -> Place {
        self.arena.flag_there(edge.0, self.sequence)
    }

    /// This exchange's credit.
    pub(super) fn credit(&self, edge: EdgeId) -> (u64, Place) {
        (self.sequence, self.arena.credit_there(edge.0, self.sequence))
    }

    /// Looks at the flags of all messages still awaited and gives notice of those that have come.
    pub(super) fn poll_flags(
        &mut self,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<(), CommError> {
        for edge in (0..self.terms.spec().edges.len()).map(EdgeId) {
            if !self.edge(edge).flow.receives() || self.is_to_self(edge) || self.is_noticed(edge) {
                continue;
            }
            let flag = read(self, self.arena.flag_here(edge.0, self.sequence))?;
            if let Some(length) = length_in(flag, self.sequence) {
                self.notice(edge, Some(length));
            }
        }
        Ok(())
    }

    /// Whether the buffer of this exchange is free.
    pub(super) fn has_credit(
        &self,
        edge: EdgeId,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<bool, CommError> {
        match awaited_credit(self.sequence, self.arena.sizes.depth_there[edge.0]) {
            Some(credit) if self.needs_credit(edge, Along::Forward) => {
                Ok(read(self, self.arena.credit_here(edge.0, self.sequence))? == credit)
            }
            _ => Ok(true),
        }
    }
}
