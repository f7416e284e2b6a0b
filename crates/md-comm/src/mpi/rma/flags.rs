//! Flag words in windows. A flag contains the exchange and the length of the message in a buffer.
//! The protocol itself is in [`crate::flag_protocol`].

use std::sync::atomic::Ordering;

use super::super::ffi::Place;
use super::WindowContext;
use crate::flag_protocol::awaited_credit;
pub(super) use crate::flag_protocol::{flag, length_in};
use crate::mpi::edge_words::Along;
use crate::{CommError, EdgeId};

impl WindowContext {
    /// Returns a word of the own part that another rank replaces.
    pub(super) fn polled_word(&self, offset: usize) -> Result<u64, CommError> {
        if !self.arena.window.is_unified() {
            self.arena.window.sync()?;
        }
        Ok(self.arena.window.own_word(offset)?.load(Ordering::Acquire))
    }

    /// Raises the flags of messages, after all puts have arrived. Flushes again, because a flag
    /// might never leave otherwise.
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

    /// Returns credits to the senders of messages, as notice of free buffers. `credit` is the word
    /// and its place.
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

    /// Returns the place of this exchange's flag.
    pub(super) fn flag_place(&self, edge: EdgeId) -> Place {
        self.arena.flag_there(edge.0, self.sequence)
    }

    /// Returns this exchange's credit.
    pub(super) fn credit(&self, edge: EdgeId) -> (u64, Place) {
        (self.sequence, self.arena.credit_there(edge.0, self.sequence))
    }

    /// Polls the flags of all messages still awaited and records those that have arrived.
    pub(super) fn poll_flags(
        &mut self,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<(), CommError> {
        for edge in (0..self.layout.spec().edges.len()).map(EdgeId) {
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

    /// Returns whether the buffer of this exchange is free.
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
