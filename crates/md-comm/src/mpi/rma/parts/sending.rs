//! How a message leaves: packed into an origin buffer or into the window, put or offered or got.

use super::Parts;
use crate::mpi::rma::arena::{LENGTH_BYTES, ORIGIN_HEAD};
use crate::{CommError, EdgeId, Sizes};

impl Parts {
    pub(crate) fn book_length(&mut self, edge: EdgeId, length: usize) {
        self.lengths[edge.0] = length;
    }

    /// True length of the message packed.
    pub(crate) fn length(&self, edge: EdgeId) -> usize {
        self.lengths[edge.0]
    }

    /// Whether the message packed is longer than its buffer at either end.
    pub(crate) fn overflows(&self, edge: EdgeId) -> bool {
        self.length(edge) > self.arena.room_out(edge.0)
    }

    /// Bytes of the message packed that go into its buffer.
    pub(crate) fn length_in_buffer(&self, edge: EdgeId) -> usize {
        if self.overflows(edge) { 0 } else { self.length(edge) }
    }

    /// The origin buffer that a message is put from.
    pub(crate) fn origin(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let origin = self.arena.window.origin_mut(edge.0, ORIGIN_HEAD + bytes)?;
        Ok(&mut origin[ORIGIN_HEAD..])
    }

    /// Copies the packed message past the caches into its buffer at the peer.
    pub(crate) fn stream(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (length, to) = (self.length_in_buffer(edge), self.arena.payload_there(edge.0, self.sequence));
        if length == 0 {
            // Nothing, or what has gone another way because it does not fit.
            return Ok(());
        }
        self.arena.window.stream(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, to)
    }

    /// The buffer that the receiver gets a message from.
    pub(crate) fn own_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let payload = self.arena.payload_here(edge.0, self.sequence);
        self.arena.window.own_buffer(payload, bytes)
    }

    /// Puts the packed message into its buffer at the peer, with its length before it if the peer cannot know it.
    pub(crate) fn put(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (true_length, length) = (self.length(edge) as u64, self.length_in_buffer(edge));
        let end = ORIGIN_HEAD + length;
        let mut to = self.arena.payload_there(edge.0, self.sequence);
        match self.terms.spec().sizes {
            Sizes::Fixed if length == 0 => Ok(()),
            Sizes::Fixed => self.arena.window.put(edge.0, ORIGIN_HEAD..end, to),
            Sizes::Variable => {
                let start = ORIGIN_HEAD - LENGTH_BYTES;
                let origin = self.arena.window.origin_mut(edge.0, end)?;
                origin[start..ORIGIN_HEAD].copy_from_slice(&true_length.to_ne_bytes());
                to.offset -= LENGTH_BYTES;
                self.arena.window.put(edge.0, start..end, to)
            }
        }
    }

    /// Completes the buffer that the receiver gets from: the payload is there, the length is not.
    pub(crate) fn offer(&mut self, edge: EdgeId) -> Result<(), CommError> {
        if self.terms.spec().sizes == Sizes::Variable {
            let (true_length, word) =
                (self.length(edge) as u64, self.arena.payload_here(edge.0, self.sequence));
            let word = self.arena.window.own_buffer(word - LENGTH_BYTES, LENGTH_BYTES)?;
            word.copy_from_slice(&true_length.to_ne_bytes());
        }
        Ok(())
    }

    /// Gets the sender's buffer: all of it if the length is not known, because asking first would cost a round trip.
    pub(crate) fn get(&mut self, edge: EdgeId) -> Result<(), CommError> {
        self.jitter.pause();
        let mut from = self.arena.payload_there(edge.0, self.sequence);
        match self.terms.spec().sizes {
            Sizes::Fixed => match self.terms.receive_capacity(edge) {
                0 => Ok(()),
                length => self.arena.window.get(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, from),
            },
            Sizes::Variable => {
                let end = ORIGIN_HEAD + self.arena.room_in(edge.0);
                from.offset -= LENGTH_BYTES;
                self.arena.window.get(edge.0, ORIGIN_HEAD - LENGTH_BYTES..end, from)
            }
        }
    }
}
