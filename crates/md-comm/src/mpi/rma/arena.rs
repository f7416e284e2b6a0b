//! The layout of a context's window, and the addresses of the peers' slots.
//!
//! Own part: per edge its credit words, then, if slots of it are here, its flags and slots. With puts the slots of an
//! edge are at the receiver, with gets at the sender. A slot is a line with the flag, a line that ends with the message's
//! length, then the payload. Flags and credits are 128 bytes apart, because processors fetch pairs of lines. A slot has
//! head-room beyond the agreed capacity, so that a fixed length that changes a little at every neighbour rebuild does
//! not make a new window every time. With one window per edge, an edge's words and slots are in the window that has its
//! number at the rank whose part it is.

use super::super::edge_words::{self, Along};
use super::super::ffi::{Communicator, Memory, Place, Request, Window};
use super::super::numbers::ContextNumber;
use super::super::world::Inner;
use super::shared_part::SharedPart;
use crate::flag_protocol::slot_of;
use crate::ledger::Ledger;
use crate::negotiation::with_head_room;
use crate::{
    ALIGNMENT, Backend, CommError, Edge, ExchangeSpec, Operation, Rank, RmaOptions, Sizes, Slots, WindowCount,
};

/// Distance of words that different ranks poll or set.
pub(super) const APART: usize = 128;
/// From a slot's start to its payload.
const HEAD: usize = 2 * ALIGNMENT;
/// Bytes of a message's length, right before the payload.
pub(super) const LENGTH_BYTES: usize = size_of::<u64>();
/// Origin buffers have one line before the payload; the length is at its end.
pub(super) const ORIGIN_HEAD: usize = ALIGNMENT;
/// Parts are whole pages: osc/sm packs them back to back.
const PAGE_BYTES: usize = 4096;

/// More than a core's own caches hold today (0.25 to 2 MiB).
const FLUSHING_BYTES: usize = 2 << 20;
/// Beyond it, the flags' lines would outweigh the payload's.
const MOST_SLOTS: usize = 512;

/// Where messages are in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) enum Form {
    /// In slots of their edges.
    Slots,
    /// In one ring for all edges; slots have flags only.
    SharedRing,
}

/// What a scheme wants of its window.
#[derive(Debug, Clone, Copy)]
pub(in crate::mpi) struct Plan {
    /// Whose it is.
    pub(super) backend: Backend,
    pub(super) memory: Memory,
    /// Flag words per receiving edge, before its slots.
    pub(super) flags: usize,
    pub(super) form: Form,
    pub(super) options: RmaOptions,
}

/// Window and addresses.
#[derive(Debug)]
pub(super) struct Arena {
    pub(super) window: Window,
    /// As many as the context was asked to have; of an edge there may be more.
    pub(super) slots: u64,
    /// Slots of an edge: at the peer, in the own part.
    depth_there: Vec<u64>,
    depth_here: Vec<u64>,
    /// Bytes that the slots of an edge have room for: of messages that leave, of messages that arrive.
    room_out: Vec<usize>,
    room_in: Vec<usize>,
    /// Slots of an edge at the peer, in the own part.
    there: Vec<Place>,
    here: Vec<usize>,
    /// Distances of the slots of an edge: at the peer, in the own part.
    stride_there: Vec<usize>,
    stride_here: Vec<usize>,
    /// First credit word of an edge: at the peer, in the own part.
    credits_there: Vec<Place>,
    credits_here: Vec<usize>,
    /// Only of [`Form::SharedRing`].
    pub(super) shared: SharedPart,
}

fn strides(rooms: &[usize]) -> Vec<usize> {
    rooms.iter().map(|room| HEAD + room.next_multiple_of(APART)).collect()
}

/// Slots of every edge whose messages arrive in a shared window, for these strides.
///
/// A slot that was read a moment ago is still in its reader's cache, and its sender has to claim it line by line: that
/// takes several times as long as writing to lines that have left that cache. So between two uses of a slot so many
/// others are used that they fill it. Only where it pays: in exchanges of every step.
fn depth(memory: Memory, spec: &ExchangeSpec, strides: &[usize]) -> u64 {
    let slots = spec.slots.count() as u64;
    match (memory, spec.slots, spec.sizes) {
        (Memory::Shared, Slots::Double, Sizes::Fixed) => {
            let round: usize = strides.iter().sum();
            (FLUSHING_BYTES / round.max(1)).clamp(slots as usize, MOST_SLOTS) as u64
        }
        _ => slots,
    }
}

/// Room a sender asks for.
fn wanted(sizes: Sizes, capacity: usize) -> usize {
    // A variable capacity has its head-room already.
    if sizes == Sizes::Fixed { with_head_room(capacity) } else { capacity }
}

/// Offsets in the own part, before it is known where the windows begin.
struct Layout {
    credits: Vec<usize>,
    slots: Vec<usize>,
    /// Bytes of the longest window.
    end: usize,
}

impl Layout {
    fn new(
        strides: &[usize],
        (credits_of, slots_of): (&[u64], &[u64]),
        plan: Plan,
        has_slots: impl Fn(usize) -> bool,
    ) -> Self {
        let (mut credits, mut starts) = (vec![0; strides.len()], vec![0; strides.len()]);
        let (mut end, mut longest) = (0, 0);
        for (i, stride) in strides.iter().enumerate() {
            if plan.options.windows == WindowCount::PerEdge {
                end = 0;
            }
            credits[i] = end;
            end += credits_of[i] as usize * APART;
            if has_slots(i) {
                starts[i] = end + plan.flags * APART;
                end = starts[i] + slots_of[i] as usize * stride;
            }
            longest = end.max(longest);
        }
        Self { credits, slots: starts, end: longest }
    }
}

impl Arena {
    /// Makes the window and tells the peers where to put. `member` is a rank's number in `on`. *Collective.*
    pub(super) fn new(
        world: &Inner,
        ledger: &Ledger,
        number: ContextNumber,
        (on, plan): (&Communicator, Plan),
        member: impl Fn(Rank) -> Rank,
    ) -> Result<Self, CommError> {
        let spec = ledger.spec();
        let slots = spec.slots.count();
        let tell =
            |along, word: &dyn Fn(usize) -> usize| edge_words::tell(world, ledger, number, along, word);
        let room_out: Vec<_> = spec.edges.iter().map(|edge| wanted(spec.sizes, edge.send_capacity)).collect();
        let room_in = tell(Along::Forward, &|i| room_out[i])?;
        let ring = plan.form == Form::SharedRing;
        let strides_of = |rooms: &[usize]| if ring { vec![HEAD; rooms.len()] } else { strides(rooms) };
        let (strides_out, strides_in) = (strides_of(&room_out), strides_of(&room_in));
        let get = plan.options.operation == Operation::Get;
        let (stride_there, stride_here) =
            if get { (strides_in, strides_out) } else { (strides_out, strides_in) };
        let hosts = |edge: &Edge| if get { edge.flow.sends() } else { edge.flow.receives() };
        let has_slots = |i: usize| hosts(&spec.edges[i]) && spec.edges[i].peer != world.rank;
        let depth_here = vec![depth(plan.memory, spec, &stride_here); stride_here.len()];
        let depth_there = match plan.memory {
            Memory::Shared => {
                let told = tell(Along::Backward, &|i| depth_here[i] as usize)?;
                told.into_iter().map(|depth| depth as u64).collect()
            }
            _ => depth_here.clone(),
        };
        let Layout { credits: mut credits_here, slots: mut here, end } =
            Layout::new(&stride_here, (&depth_there, &depth_here), plan, has_slots);
        let senders = (0..spec.edges.len()).filter(|&i| ring && has_slots(i)).map(|i| room_in[i]);
        let (mut shared, end) = SharedPart::lay_out(end, slots, senders);
        let (window, origins) = make(world, on, plan, (spec.edges.len(), end))?;
        for i in 0..spec.edges.len() {
            credits_here[i] += origins(i);
            here[i] += origins(i);
        }
        world.note_component(&window)?;
        let place = |(i, offset): (usize, usize)| Place { member: member(spec.edges[i].peer), offset };
        let places = |offsets: Vec<usize>| offsets.into_iter().enumerate().map(place).collect::<Vec<_>>();
        if ring {
            shared.settle(origins(0), tell, places)?;
        }
        let to_their_users = if get { Along::Forward } else { Along::Backward };
        let there = places(tell(to_their_users, &|i| here[i])?);
        let credits_there = places(tell(Along::Forward, &|i| credits_here[i])?);
        let slots = slots as u64;
        Ok(Self {
            window,
            slots,
            depth_there,
            depth_here,
            room_out,
            room_in,
            there,
            here,
            stride_there,
            stride_here,
            credits_there,
            credits_here,
            shared,
        })
    }

    /// Whether all slots on the way out have room for these lengths.
    pub(super) fn has_room(&self, lengths: impl Iterator<Item = usize>) -> bool {
        lengths.zip(&self.room_out).all(|(length, &room)| length <= room)
    }

    /// Start of the slot at the peer.
    fn slot_there(&self, i: usize, sequence: u64) -> Place {
        let Place { member, offset } = self.there[i];
        Place { member, offset: offset + slot_of(sequence, self.depth_there[i]) * self.stride_there[i] }
    }

    fn slot_here(&self, i: usize, sequence: u64) -> usize {
        self.here[i] + slot_of(sequence, self.depth_here[i]) * self.stride_here[i]
    }

    /// After so many exchanges a message of the edge is put into the same slot again.
    pub(super) fn depth_there(&self, i: usize) -> u64 {
        self.depth_there[i]
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
        Place { member, offset: offset + slot_of(sequence, self.depth_here[i]) * APART }
    }

    pub(super) fn credit_here(&self, i: usize, sequence: u64) -> usize {
        self.credits_here[i] + slot_of(sequence, self.depth_there[i]) * APART
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

/// The window, and where the words and slots of an edge begin. *Collective.*
///
/// # Errors
/// [`CommError::Unavailable`], on all ranks, if the library refuses the window to one of them.
fn make(
    world: &Inner,
    on: &Communicator,
    Plan { backend, memory, options, .. }: Plan,
    (edges, end): (usize, usize),
) -> Result<(Window, impl Fn(usize) -> usize + use<>), CommError> {
    let highest =
        |number: usize| Ok::<_, CommError>(world.control.highest(number as u64, world.limit())? as usize);
    let extent = highest(end + ALIGNMENT)?.next_multiple_of(PAGE_BYTES);
    let per_edge = options.windows == WindowCount::PerEdge;
    let windows = if per_edge { highest(edges.max(1))? } else { 1 };
    let (asserts, limit) = (options.asserts, world.limit());
    let request = Request { memory, windows, extent, origins: edges, words: 2 * edges + 1, asserts, limit };
    let unavailable = |reason| CommError::Unavailable { backend: backend.name(), reason };
    let window = world.make_window(on, request)?.map_err(unavailable)?;
    let begins: Vec<usize> = (0..windows).map(|i| i * extent + window.misalignment(i)).collect();
    Ok((window, move |edge: usize| begins.get(edge).or(begins.first()).copied().unwrap_or(0)))
}

/// The slots of an edge taken together as a ring.
impl Arena {
    pub(super) fn ring_size_there(&self, i: usize) -> u64 {
        self.slots * self.stride_there[i] as u64
    }

    pub(super) fn ring_size_here(&self, i: usize) -> u64 {
        self.slots * self.stride_here[i] as u64
    }

    pub(super) fn ring_there(&self, i: usize, position: usize) -> Place {
        let Place { member, offset } = self.there[i];
        Place { member, offset: offset + position }
    }

    pub(super) fn ring_here(&self, i: usize, position: usize) -> usize {
        self.here[i] + position
    }

    pub(super) fn ring_flag_there(&self, i: usize, line: usize) -> Place {
        let Place { member, offset } = self.there[i];
        Place { member, offset: offset - (line + 1) * APART }
    }

    pub(super) fn ring_flag_here(&self, i: usize, line: usize) -> usize {
        self.here[i] - (line + 1) * APART
    }

    pub(super) fn ring_credit_there(&self, i: usize) -> Place {
        self.credits_there[i]
    }

    pub(super) fn ring_credit_here(&self, i: usize) -> usize {
        self.credits_here[i]
    }
}
