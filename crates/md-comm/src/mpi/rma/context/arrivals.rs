//! Messages that have arrived.
//!
//! ```text
//! notice     by flag, epoch or poll: it is there          -> noticed_edges
//! settle     its length: it fits, or comes by overflow    -> ready
//! deliver    its bytes, wherever they are
//! ```

use std::ops::Range;

use super::WindowContext;
use crate::mpi::rma::arena::{LENGTH_BYTES, ORIGIN_HEAD};
use crate::{AlignedBuffer, Arrivals, CommError, EdgeId, Sizes};

/// Location of a message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePlace {
    /// In the exchange's buffer in the window, or, with gets, in the edge's origin buffer.
    Buffer,
    /// At an offset of the own part.
    Window(usize),
    /// In one of [`WindowContext::held`].
    Held(usize),
}

impl WindowContext {
    /// Records that a message has arrived. Its length is known if its flag carried it.
    pub(crate) fn notice(&mut self, edge: EdgeId, length: Option<usize>) {
        if !std::mem::replace(&mut self.noticed[edge.0], true) {
            self.flagged_lengths[edge.0] = length;
            self.noticed_edges.push_back(edge.0);
        }
    }

    /// Records the arrival of a message that is not in the exchange's buffer.
    pub(crate) fn notice_at(&mut self, edge: EdgeId, length: usize, place: usize) {
        self.places[edge.0] = MessagePlace::Window(place);
        self.notice(edge, Some(length));
    }

    /// Records the arrival of a message that was copied out.
    pub(crate) fn notice_held(&mut self, edge: EdgeId, length: usize, buffer: usize) {
        self.places[edge.0] = MessagePlace::Held(buffer);
        self.notice(edge, Some(length));
    }

    pub(crate) fn is_noticed(&self, edge: EdgeId) -> bool {
        self.noticed[edge.0]
    }

    /// Records that all messages from other ranks have arrived.
    pub(crate) fn notice_all(&mut self) {
        for edge in self.layout.edge_ids() {
            if self.receives_from_others(edge) {
                self.notice(edge, None);
            }
        }
    }

    /// Records that the messages of this rank to itself have arrived.
    pub(crate) fn notice_own(&mut self) {
        for i in 0..self.source.len() {
            if self.source[i].is_some() {
                self.noticed[i] = true;
                self.ready.push_back(i);
            }
        }
    }

    /// Returns whether there are recorded messages that have not been settled.
    pub(crate) fn any_noticed(&self) -> bool {
        !self.noticed_edges.is_empty()
    }

    /// Settles the messages recorded since the last call: each is ready, or is expected by
    /// overflow.
    pub(crate) fn settle(&mut self) -> Result<(), CommError> {
        while let Some(i) = self.noticed_edges.pop_front() {
            let (length, sizes) = (self.find_length(EdgeId(i))?, self.layout.spec().sizes);
            self.arrived_lengths[i] = length;
            match (length > self.arena.sizes.room_in[i], sizes) {
                (false, _) => self.ready.push_back(i),
                (true, Sizes::Variable) => {
                    self.overflow.expect(&self.world, &self.layout, EdgeId(i), length)?;
                }
                (true, Sizes::Fixed) => {
                    return Err(self
                        .layout
                        .mismatch(EdgeId(i), format_args!("claims to have {length} bytes")));
                }
            }
        }
        self.overflow.poll(|i| self.ready.push_back(i))
    }

    /// Returns the edge of the next message that is ready.
    pub(crate) fn take_ready(&mut self) -> Option<EdgeId> {
        self.ready.pop_front().map(EdgeId)
    }

    /// Hands out a message that has arrived.
    pub(crate) fn deliver(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        let EdgeId(i) = edge;
        let length = self.arrived_lengths[i];
        Ok(match (self.source[i], self.overflow.message(&self.layout, edge)?) {
            (Some(source), _) => &self.arena.window.origin(source)?[ORIGIN_HEAD..],
            (None, Some(message)) => message,
            (None, None) if self.gets() => {
                piece(self.arena.window.origin(i)?, ORIGIN_HEAD..ORIGIN_HEAD + length)
            }
            (None, None) => match self.places[i] {
                MessagePlace::Held(buffer) => piece(self.held[buffer].bytes(), 0..length),
                MessagePlace::Buffer | MessagePlace::Window(_) => {
                    let payload = self.payload(i);
                    self.jitter.note_read(payload, length);
                    let message = self.arena.window.arrived(payload, length)?;
                    match self.request.options.arrivals {
                        Arrivals::InPlace => message,
                        Arrivals::Copied => copied(message, &mut self.copies[i])?,
                    }
                }
            },
        })
    }

    /// Overwrites what has been read, if a test requires it; the buffers are not released yet.
    pub(crate) fn poison_read(&mut self) -> Result<(), CommError> {
        while let Some((offset, length)) = self.jitter.take_read() {
            self.arena.window.poison(offset, length)?;
        }
        Ok(())
    }

    /// Returns the offset of a message in the own part.
    fn payload(&self, i: usize) -> usize {
        match self.places[i] {
            MessagePlace::Window(place) => place,
            MessagePlace::Buffer | MessagePlace::Held(_) => self.arena.payload_here(i, self.sequence),
        }
    }

    /// Returns the length of a message: already recorded, carried by its flag, or stored beside its
    /// payload.
    fn find_length(&self, edge: EdgeId) -> Result<usize, CommError> {
        match (self.flagged_lengths[edge.0], self.layout.spec().sizes) {
            (Some(length), _) => return Ok(length),
            (None, Sizes::Fixed) => return Ok(self.layout.receive_capacity(edge)),
            (None, Sizes::Variable) => (),
        }
        let word = if self.gets() {
            self.arena.window.origin(edge.0)?.get(ORIGIN_HEAD - LENGTH_BYTES..ORIGIN_HEAD)
        } else {
            Some(self.arena.window.arrived(self.payload(edge.0) - LENGTH_BYTES, LENGTH_BYTES)?)
        };
        let word = word.and_then(|word| word.try_into().ok()).unwrap_or([u8::MAX; LENGTH_BYTES]);
        Ok(usize::try_from(u64::from_ne_bytes(word)).unwrap_or(usize::MAX))
    }
}

fn copied<'c>(message: &[u8], to: &'c mut AlignedBuffer) -> Result<&'c [u8], CommError> {
    to.set_length(message.len())?;
    to.bytes_mut().copy_from_slice(message);
    Ok(to.bytes())
}

/// Returns part of an aligned buffer. The result is empty, but also aligned, if the buffer is too
/// short or was never filled.
fn piece(buffer: &[u8], range: Range<usize>) -> &[u8] {
    buffer.get(range).unwrap_or(&buffer[..0])
}
