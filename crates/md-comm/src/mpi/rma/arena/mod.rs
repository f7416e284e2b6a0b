//! The layout of a context's window, and the addresses of the peers' buffers.
//!
//! Own part: per edge its credit words, then, if buffers of it are here, its flags and buffers. With puts the buffers
//! of an edge are at the receiver, with gets at the sender. A buffer is a line with the flag, a line that ends with the
//! message's length, then the payload. Flags and credits are 128 bytes apart, because processors fetch pairs of lines.
//! A buffer has head-room beyond the agreed capacity, so that a fixed length that changes a little at every neighbour
//! rebuild does not make a new window every time. With one window per edge, an edge's words and buffers are in the
//! window that has its number at the rank whose part it is. (`layout`: sizes and places; `making`: the window, and what
//! peers tell each other; `ring`: the buffers of an edge as one ring.)

mod layout;
mod making;
mod ring;

use super::shared_part::SharedPart;
use crate::flag_protocol::buffer_of;
use crate::mpi::ffi::{Memory, Place, Window};
use crate::{ALIGNMENT, Backend, RmaOptions};

/// Distance of words that different ranks poll or set.
pub(super) const WORD_STRIDE: usize = 128;
/// From a buffer's start to its payload.
const HEAD: usize = 2 * ALIGNMENT;
/// Bytes of a message's length, right before the payload.
pub(super) const LENGTH_BYTES: usize = size_of::<u64>();
/// Origin buffers have one line before the payload; the length is at its end.
pub(super) const ORIGIN_HEAD: usize = ALIGNMENT;
/// Parts are whole pages: osc/sm packs them back to back.
const PAGE_BYTES: usize = 4096;

/// Where messages are in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In buffers of their edges.
    Buffers,
    /// In one ring for all edges; an edge's buffers have flags only.
    SharedRing,
}

/// What a scheme wants of its window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Whose it is.
    pub(super) backend: Backend,
    pub(super) memory: Memory,
    /// Flag words per receiving edge, before its buffers.
    pub(super) flags: usize,
    pub(super) form: Form,
    pub(super) options: RmaOptions,
}

/// Window and addresses.
#[derive(Debug)]
pub(super) struct Arena {
    pub(super) window: Window,
    /// As many as the context was asked to have; of an edge there may be more.
    pub(super) buffers: u64,
    /// Buffers of an edge: at the peer, in the own part.
    depth_there: Vec<u64>,
    depth_here: Vec<u64>,
    /// Bytes that the buffers of an edge have room for: of messages that leave, of messages that arrive.
    room_out: Vec<usize>,
    room_in: Vec<usize>,
    /// Buffers of an edge at the peer, in the own part.
    there: Vec<Place>,
    here: Vec<usize>,
    /// Distances of the buffers of an edge: at the peer, in the own part.
    stride_there: Vec<usize>,
    stride_here: Vec<usize>,
    /// First credit word of an edge: at the peer, in the own part.
    credits_there: Vec<Place>,
    credits_here: Vec<usize>,
    /// Only of [`Form::SharedRing`].
    pub(super) shared: SharedPart,
}

impl Arena {
    /// Whether all buffers on the way out have room for these lengths.
    pub(super) fn has_room(&self, lengths: impl Iterator<Item = usize>) -> bool {
        lengths.zip(&self.room_out).all(|(length, &room)| length <= room)
    }

    /// Start of the buffer at the peer.
    fn buffer_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.there[i];
        Place { member, offset: offset + buffer_of(sequence, self.depth_there[i]) * self.stride_there[i] }
    }

    fn buffer_here(&self, i: usize, sequence: u64) -> usize {
        self.here[i] + buffer_of(sequence, self.depth_here[i]) * self.stride_here[i]
    }

    /// After so many exchanges a message of the edge is put into the same buffer again.
    pub(super) fn depth_there(&self, i: usize) -> u64 {
        self.depth_there[i]
    }

    pub(super) fn flag_there(&self, i: usize, sequence: u64) -> Place {
        self.buffer_there(i, sequence)
    }

    pub(super) fn flag_here(&self, i: usize, sequence: u64) -> usize {
        self.buffer_here(i, sequence)
    }

    pub(super) fn payload_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.buffer_there(i, sequence);
        Place { member, offset: offset + HEAD }
    }

    pub(super) fn payload_here(&self, i: usize, sequence: u64) -> usize {
        self.buffer_here(i, sequence) + HEAD
    }

    pub(super) fn credit_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.credits_there[i];
        Place { member, offset: offset + buffer_of(sequence, self.depth_here[i]) * WORD_STRIDE }
    }

    pub(super) fn credit_here(&self, i: usize, sequence: u64) -> usize {
        self.credits_here[i] + buffer_of(sequence, self.depth_there[i]) * WORD_STRIDE
    }

    /// Bytes that a message arriving along an edge has room for.
    pub(super) fn room_in(&self, i: usize) -> usize {
        self.room_in[i]
    }

    /// The same for a message that leaves; both ends agree.
    pub(super) fn room_out(&self, i: usize) -> usize {
        self.room_out[i]
    }
}
