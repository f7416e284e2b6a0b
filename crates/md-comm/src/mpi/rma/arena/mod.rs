//! The layout of a context's window, and the addresses of the peers' buffers.
//!
//! Own part: per edge its credit words, then, if buffers of it are here, its flags and buffers.
//! With puts the buffers of an edge are at the receiver, with gets at the sender. A buffer is a
//! line with the flag, a line that ends with the message's length, then the payload. Flags and
//! credits are 128 bytes apart, because processors fetch pairs of lines. A buffer has head-room
//! beyond the agreed capacity, so that a fixed length that changes a little at every neighbour
//! rebuild does not require a new window every time. With one window per edge, an edge's words and
//! buffers are in the window that has its number at the rank whose part it is. (`making`: sizes and
//! places, the window, and the exchange of places between peers.)

mod ends;
mod making;
mod shared_ring_places;

use crate::flag_protocol::buffer_of;
use crate::mpi::ffi::{Memory, Place, Window};
use crate::{ALIGNMENT, Backend, Edge, Operation, Rank, RmaOptions};
pub(super) use ends::Ends;
use making::BufferSizes;
use shared_ring_places::SharedRingPlaces;

/// Distance of words that different ranks poll or set, in bytes.
pub(super) const WORD_STRIDE: usize = 128;
/// Bytes from a buffer's start to its payload.
const HEAD: usize = 2 * ALIGNMENT;
/// Bytes of a message's length, directly before the payload.
pub(super) const LENGTH_BYTES: usize = size_of::<u64>();
/// Bytes before the payload in origin buffers: one line, which ends with the length.
pub(super) const ORIGIN_HEAD: usize = ALIGNMENT;
/// Page size. Parts are whole pages, because osc/sm packs them without gaps.
const PAGE_BYTES: usize = 4096;

/// Location of messages in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In buffers of their edges.
    Buffers,
    /// In one ring for all edges; an edge's buffers have flags only.
    SharedRing,
}

/// Requirements of a scheme for its window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowRequest {
    /// The backend that uses it.
    pub(super) backend: Backend,
    pub(super) memory: Memory,
    /// Flag words per receiving edge, before its buffers.
    pub(super) flags: usize,
    pub(super) form: Form,
    pub(super) options: RmaOptions,
}

impl WindowRequest {
    /// Returns whether receivers read, instead of senders writing.
    pub(crate) fn gets(&self) -> bool {
        self.options.operation == Operation::Get
    }

    /// Returns whether the buffers of an edge are at this end.
    fn hosts(&self, edge: &Edge) -> bool {
        if self.gets() { edge.flow.sends() } else { edge.flow.receives() }
    }
}

/// A circular buffer. Words that both ends use lie before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingPlace {
    pub(super) start: Place,
    /// Size in bytes.
    pub(super) size: u64,
}

impl RingPlace {
    /// Returns the place of the byte with this ticket.
    pub(super) fn byte(self, ticket: u64) -> Place {
        Place { offset: self.start.offset + (ticket % self.size.max(1)) as usize, ..self.start }
    }

    /// Returns the place of a word, counted from the ring backwards.
    pub(super) fn word(self, number: usize) -> Place {
        Place { offset: self.start.offset - (number + 1) * WORD_STRIDE, ..self.start }
    }
}

/// The window and the addresses.
#[derive(Debug)]
pub(crate) struct Arena {
    pub(super) window: Window,
    /// Number of buffers that the context was opened with; an edge may have more.
    pub(super) buffers: u64,
    pub(super) sizes: BufferSizes,
    /// Buffers of each edge: at the peer, in the own part.
    there: Vec<Place>,
    here: Vec<usize>,
    /// First credit word of each edge: at the peer, in the own part.
    credits_there: Vec<Place>,
    credits_here: Vec<usize>,
    /// This rank's number in the window's communicator.
    member: Rank,
    /// Used only with [`Form::SharedRing`].
    pub(super) shared: SharedRingPlaces,
}

impl Arena {
    /// Returns whether all outgoing buffers have room for these lengths.
    pub(super) fn has_room(&self, lengths: impl Iterator<Item = usize>) -> bool {
        lengths.zip(&self.sizes.room_out).all(|(length, &room)| length <= room)
    }

    /// Returns the place of the flag, which is the buffer's start.
    pub(super) fn flag_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.there[i];
        let number = buffer_of(sequence, self.sizes.depth_there[i]);
        Place { member, offset: offset + number * self.sizes.stride_there[i] }
    }

    pub(super) fn flag_here(&self, i: usize, sequence: u64) -> usize {
        self.here[i] + buffer_of(sequence, self.sizes.depth_here) * self.sizes.stride_here[i]
    }

    pub(super) fn payload_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.flag_there(i, sequence);
        Place { member, offset: offset + HEAD }
    }

    pub(super) fn payload_here(&self, i: usize, sequence: u64) -> usize {
        self.flag_here(i, sequence) + HEAD
    }

    pub(super) fn credit_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.credits_there[i];
        Place { member, offset: offset + buffer_of(sequence, self.sizes.depth_here) * WORD_STRIDE }
    }

    pub(super) fn credit_here(&self, i: usize, sequence: u64) -> usize {
        self.credits_here[i] + buffer_of(sequence, self.sizes.depth_there[i]) * WORD_STRIDE
    }

    /// Returns the buffers of an edge at the peer as one ring.
    pub(super) fn ring_there(&self, i: usize) -> RingPlace {
        RingPlace { start: self.there[i], size: self.buffers * self.sizes.stride_there[i] as u64 }
    }

    /// Returns the buffers of an edge in the own part as one ring.
    pub(super) fn ring_here(&self, i: usize) -> RingPlace {
        let start = Place { member: self.member, offset: self.here[i] };
        RingPlace { start, size: self.buffers * self.sizes.stride_here[i] as u64 }
    }
}
