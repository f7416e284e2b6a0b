//! The layout of a context's window, and the addresses of the peers' slots.
//!
//! Own part: credit words of the sending edges, then the slots of the receiving edges. A slot is a line with the flag,
//! a line that ends with the message's length, then the payload. Flags and credits are 128 bytes apart, because
//! processors fetch pairs of lines. A slot has head-room beyond the agreed capacity, so that a fixed length that
//! changes a little at every neighbour rebuild does not make a new window every time.

use super::super::edge_words::{self, Along};
use super::super::ffi::{Communicator, Memory, Place, Request, Window};
use super::super::numbers::ContextNumber;
use super::super::world::Inner;
use crate::ledger::Ledger;
use crate::negotiation::with_head_room;
use crate::{ALIGNMENT, CommError, Rank, Sizes, Slots};

/// Distance of words that different ranks poll or set.
const APART: usize = 128;
/// From a slot's start to its payload.
const HEAD: usize = 2 * ALIGNMENT;
/// Bytes of a message's length, right before the payload.
pub(super) const LENGTH_BYTES: usize = size_of::<u64>();
/// Origin buffers have one line before the payload; the length is at its end.
pub(super) const ORIGIN_HEAD: usize = ALIGNMENT;

/// What a scheme wants of its window.
#[derive(Debug, Clone, Copy)]
pub(in crate::mpi) struct Plan {
    pub(super) memory: Memory,
    /// Flag words per receiving edge, before its slots.
    pub(super) flags: usize,
}

/// Window and addresses.
#[derive(Debug)]
pub(super) struct Arena {
    pub(super) window: Window,
    pub(super) slots: u64,
    /// Bytes that the slots of an edge have room for: sending, receiving.
    room_there: Vec<usize>,
    room_here: Vec<usize>,
    /// First slot of an edge: at the peer, in the own part.
    slots_there: Vec<Place>,
    slots_here: Vec<usize>,
    /// First credit word of an edge: at the peer, in the own part.
    credits_there: Vec<Place>,
    credits_here: Vec<usize>,
}

fn stride(room: usize) -> usize {
    HEAD + room.next_multiple_of(APART)
}

/// Room a sender asks for.
fn wanted(sizes: Sizes, capacity: usize) -> usize {
    // A variable capacity has its head-room already.
    if sizes == Sizes::Fixed { with_head_room(capacity) } else { capacity }
}

impl Arena {
    /// Makes the window and tells the peers where to put. `member` is a rank's number in `on`. *Collective.*
    pub(super) fn new(
        world: &Inner,
        ledger: &Ledger,
        number: ContextNumber,
        (on, Plan { memory, flags }): (&Communicator, Plan),
        member: impl Fn(Rank) -> Rank,
    ) -> Result<Self, CommError> {
        let spec = ledger.spec();
        let edges = spec.edges.len();
        let slots = if spec.slots == Slots::Single { 1 } else { 2 };
        let tell =
            |along, word: &dyn Fn(usize) -> usize| edge_words::tell(world, ledger, number, along, word);
        let room_there: Vec<_> =
            spec.edges.iter().map(|edge| wanted(spec.sizes, edge.send_capacity)).collect();
        let room_here = tell(Along::Forward, &|i| room_there[i])?;
        let own = |i: usize| spec.edges[i].flow.receives() && spec.edges[i].peer != world.rank;
        let mut credits_here: Vec<_> = (0..edges).map(|i| i * slots * APART).collect();
        let mut end = edges * slots * APART;
        let mut slots_here = vec![0; edges];
        for i in (0..edges).filter(|&i| own(i)) {
            slots_here[i] = end + flags * APART;
            end = slots_here[i] + slots * stride(room_here[i]);
        }
        let extent = world.control.highest((end + ALIGNMENT) as u64, world.limit())? as usize;
        let request =
            Request { memory, extent: extent.next_multiple_of(PAGE_BYTES), origins: edges, words: 2 * edges };
        let window = Window::new(on, request)?;
        world.note_component(&window)?;
        let shift = window.misalignment();
        credits_here.iter_mut().chain(&mut slots_here).for_each(|offset| *offset += shift);
        let place = |(i, offset): (usize, usize)| Place { member: member(spec.edges[i].peer), offset };
        let places = |offsets: Vec<usize>| offsets.into_iter().enumerate().map(place).collect();
        let slots_there = places(tell(Along::Backward, &|i| slots_here[i])?);
        let credits_there = places(tell(Along::Forward, &|i| credits_here[i])?);
        let slots = slots as u64;
        Ok(Self {
            window,
            slots,
            room_there,
            room_here,
            slots_there,
            slots_here,
            credits_there,
            credits_here,
        })
    }

    /// Whether all slots on the way out have room for these lengths.
    pub(super) fn has_room(&self, lengths: impl Iterator<Item = usize>) -> bool {
        lengths.zip(&self.room_there).all(|(length, &room)| length <= room)
    }

    /// Start of the slot at the peer.
    fn slot_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.slots_there[i];
        Place { member, offset: offset + self.index(sequence) * stride(self.room_there[i]) }
    }

    fn slot_here(&self, i: usize, sequence: u64) -> usize {
        self.slots_here[i] + self.index(sequence) * stride(self.room_here[i])
    }

    fn index(&self, sequence: u64) -> usize {
        (sequence % self.slots) as usize
    }

    pub(super) fn flag_there(&self, i: usize, sequence: u64) -> Place {
        self.slot_there(i, sequence)
    }

    pub(super) fn flag_here(&self, i: usize, sequence: u64) -> usize {
        self.slot_here(i, sequence)
    }

    pub(super) fn payload_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.slot_there(i, sequence);
        Place { member, offset: offset + HEAD }
    }

    pub(super) fn payload_here(&self, i: usize, sequence: u64) -> usize {
        self.slot_here(i, sequence) + HEAD
    }

    pub(super) fn credit_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.credits_there[i];
        Place { member, offset: offset + self.index(sequence) * APART }
    }

    pub(super) fn credit_here(&self, i: usize, sequence: u64) -> usize {
        self.credits_here[i] + self.index(sequence) * APART
    }

    /// Bytes that a message arriving along an edge has room for.
    pub(super) fn room_here(&self, i: usize) -> usize {
        self.room_here[i]
    }

    pub(super) fn room_there(&self, i: usize) -> usize {
        self.room_there[i]
    }
}

/// The slots of an edge taken together as a ring.
impl Arena {
    pub(super) fn ring_size_there(&self, i: usize) -> u64 {
        self.slots * stride(self.room_there[i]) as u64
    }

    pub(super) fn ring_size_here(&self, i: usize) -> u64 {
        self.slots * stride(self.room_here[i]) as u64
    }

    pub(super) fn ring_there(&self, i: usize, position: usize) -> Place {
        let Place { member, offset } = self.slots_there[i];
        Place { member, offset: offset + position }
    }

    pub(super) fn ring_here(&self, i: usize, position: usize) -> usize {
        self.slots_here[i] + position
    }

    pub(super) fn ring_flag_there(&self, i: usize, line: usize) -> Place {
        let Place { member, offset } = self.slots_there[i];
        Place { member, offset: offset - (line + 1) * APART }
    }

    pub(super) fn ring_flag_here(&self, i: usize, line: usize) -> usize {
        self.slots_here[i] - (line + 1) * APART
    }

    pub(super) fn ring_credit_there(&self, i: usize) -> Place {
        self.credits_there[i]
    }

    pub(super) fn ring_credit_here(&self, i: usize) -> usize {
        self.credits_here[i]
    }
}

/// Parts are whole pages: osc/sm packs them back to back.
const PAGE_BYTES: usize = 4096;
