//! What all contexts over windows have, and the operations that schemes use.
//!
//! Sending is in this file, receiving in `arrivals`.

use std::collections::VecDeque;
use std::fmt::Display;
use std::iter::repeat_with;
use std::ops::Range;
use std::rc::Rc;

use crate::error::Refused;
use crate::flag_protocol::{Answer, needs_credit};
use crate::ledger::{ExchangeLayout, Ledger};
use crate::mpi::adversity::Jitter;
use crate::mpi::edge_words::{self, Along, Recipients};
use crate::mpi::ffi::{Memory, Place};
use crate::mpi::numbers::ContextNumber;
use crate::mpi::overflow::Overflow;
use crate::mpi::rma::arena::{Arena, Ends, LENGTH_BYTES, ORIGIN_HEAD, WindowRequest};
use crate::mpi::rma::rehearsal::Stores;
use crate::mpi::world_state::WorldState;
use crate::spin_wait::wait_until;
use crate::{AlignedBuffer, Backend, CommError, Edge, EdgeId, EpochOpening, PutCount, Sizes};
use arrivals::MessagePlace;

mod arrivals;

/// Polls between two calls that let MPI work; a load is a hundred times cheaper than such a call.
const POLLS_PER_PROGRESS_CALL: u32 = 16;

/// A context over a window: its layout, window and addresses, and the messages of this exchange.
#[derive(Debug)]
pub(crate) struct WindowContext {
    pub(crate) layout: Rc<ExchangeLayout>,
    pub(crate) number: ContextNumber,
    /// Number for messages against the direction of the edges.
    pub(crate) backward_number: ContextNumber,
    /// Declared before `world`, so that MPI is finalised afterwards.
    pub(crate) arena: Arena,
    /// Number of this exchange since the window was made, from 1.
    pub(crate) sequence: u64,
    request: WindowRequest,
    /// How buffers in shared memory are written.
    pub(crate) stores: Stores,
    /// Edges whose messages are recorded but not settled yet.
    noticed_edges: VecDeque<usize>,
    /// Edges whose messages have arrived but are not handed out yet.
    ready: VecDeque<usize>,
    noticed: Vec<bool>,
    /// Lengths of the messages packed, of those whose arrival carried a length, and of all that
    /// have arrived.
    lengths: Vec<usize>,
    flagged_lengths: Vec<Option<usize>>,
    arrived_lengths: Vec<usize>,
    places: Vec<MessagePlace>,
    /// The message of each edge, if arrivals are read in copies.
    copies: Vec<AlignedBuffer>,
    /// Messages that were copied out of the window.
    pub(crate) held: Vec<AlignedBuffer>,
    /// The sending edge, for edges that receive from this rank itself.
    source: Vec<Option<usize>>,
    polls: u32,
    /// Path of messages that fit in no buffer.
    pub(crate) overflow: Overflow,
    pub(crate) jitter: Jitter,
    pub(crate) world: Rc<WorldState>,
}

impl WindowContext {
    /// Opens the context. *Collective.*
    pub(crate) fn open(
        world: Rc<WorldState>,
        ledger: &mut Ledger,
        request: WindowRequest,
    ) -> Result<Self, CommError> {
        if request.memory == Memory::Shared {
            world.expect_on_node(ledger.spec())?;
        }
        let [number, backward_number, overflowing] = world.numbers.borrow_mut().take()?;
        edge_words::tell_capacities(&world, ledger, number, Recipients::Receivers)?;
        let layout = ledger.layout();
        let arena = arena(&world, &layout, number, request).inspect_err(|error| {
            if error.refused() == Some(Refused::Everywhere) {
                world.numbers.borrow_mut().release(&[number, backward_number, overflowing]);
            }
        })?;
        let edges = layout.spec().edges.len();
        let overflow = Overflow::new(overflowing, &layout);
        let [noticed_edges, ready] = [0; 2].map(|_| VecDeque::with_capacity(edges));
        Ok(Self {
            number,
            backward_number,
            arena,
            sequence: 1,
            request,
            stores: Stores::Cached,
            noticed_edges,
            ready,
            noticed: vec![false; edges],
            lengths: vec![0; edges],
            flagged_lengths: vec![None; edges],
            arrived_lengths: vec![0; edges],
            places: vec![MessagePlace::Buffer; edges],
            copies: repeat_with(AlignedBuffer::default).take(edges).collect(),
            held: Vec::new(),
            source: (0..edges).map(|i| layout.source(i)).collect(),
            polls: 0,
            overflow,
            jitter: Jitter::new(world.adversity.get(), world.rank, number.tag(0) as u64),
            layout,
            world,
        })
    }

    /// Makes a new window, because some rank's buffers have become too small. Nothing is in flight:
    /// all epochs are closed. *Collective.*
    pub(crate) fn renew_window(&mut self) -> Result<(), CommError> {
        self.arena.window.free()?;
        self.arena = arena(&self.world, &self.layout, self.number, self.request)?;
        self.sequence = 1;
        Ok(())
    }

    /// Frees window and numbers, with all epochs closed. *Collective.*
    pub(crate) fn end(&mut self) -> Result<(), CommError> {
        self.world.barrier()?;
        self.arena.window.free()?;
        let numbers = [self.number, self.backward_number, self.overflow.number];
        self.world.numbers.borrow_mut().release(&numbers);
        Ok(())
    }

    /// Returns whether messages are stored into memory that sender and receiver share.
    pub(crate) fn is_shared(&self) -> bool {
        self.request.memory == Memory::Shared
    }

    /// Returns whether receivers read, instead of senders writing.
    pub(crate) fn gets(&self) -> bool {
        self.request.gets()
    }

    /// Returns whether epochs are opened before their exchanges begin.
    pub(crate) fn opens_ahead(&self) -> bool {
        self.request.options.epoch == EpochOpening::Complete
    }

    pub(crate) fn backend(&self) -> Backend {
        self.request.backend
    }

    pub(crate) fn edge(&self, edge: EdgeId) -> &Edge {
        self.layout.edge(edge)
    }

    pub(crate) fn is_to_self(&self, edge: EdgeId) -> bool {
        self.edge(edge).peer == self.world.rank
    }

    /// Returns the edges to other ranks on which messages leave.
    pub(crate) fn sending(&self) -> impl Iterator<Item = EdgeId> + '_ {
        self.layout.edge_ids().filter(|&edge| self.edge(edge).flow.sends() && !self.is_to_self(edge))
    }

    /// Returns the edges to other ranks on which messages arrive.
    pub(crate) fn receiving(&self) -> impl Iterator<Item = EdgeId> + '_ {
        self.layout.edge_ids().filter(|&edge| self.receives_from_others(edge))
    }

    /// Returns the receiving edges, from other ranks, whose senders wait for credits.
    pub(crate) fn crediting(&self) -> Vec<EdgeId> {
        self.receiving().filter(|&edge| self.needs_credit(edge, Along::Backward)).collect()
    }

    pub(crate) fn receives_from_others(&self, edge: EdgeId) -> bool {
        self.edge(edge).flow.receives() && !self.is_to_self(edge)
    }

    /// Returns whether the sender of a message needs a credit to reuse its buffer; called by the
    /// sender (`Forward`) or by the receiver. Both ends get the same result, because an edge that
    /// sends here is an edge that receives there.
    pub(crate) fn needs_credit(&self, edge: EdgeId, along: Along) -> bool {
        let peer = self.edge(edge).peer;
        let answered = self.layout.spec().edges.iter().any(|edge| edge.peer == peer && along.receives(edge));
        needs_credit(self.arena.buffers, if answered { Answer::Message } else { Answer::Nothing })
    }

    /// Ends the exchange.
    pub(crate) fn next_exchange(&mut self) {
        self.noticed.fill(false);
        self.overflow.next_exchange();
        self.sequence += 1;
    }

    /// Waits until something is over; `awaited` describes it for the watchdog's report.
    pub(crate) fn wait_for(
        &mut self,
        awaited: impl Display,
        is_over: impl FnMut(&mut Self) -> Result<bool, CommError>,
    ) -> Result<(), CommError> {
        let late = |context: &Self, waited_s| context.layout.timeout(waited_s, awaited.to_string());
        wait_until(self.world.watchdog(), self, late, is_over)
    }

    /// Lets MPI work now and then; to be called after each poll that found nothing.
    pub(crate) fn drive_progress(&mut self) -> Result<(), CommError> {
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_PER_PROGRESS_CALL) { self.world.drive_progress() } else { Ok(()) }
    }
}

fn arena(
    world: &WorldState,
    layout: &ExchangeLayout,
    number: ContextNumber,
    request: WindowRequest,
) -> Result<Arena, CommError> {
    if request.memory != Memory::Shared {
        return Arena::new(
            &Ends { world, layout, number, member: |rank| rank },
            &world.communicator,
            request,
        );
    }
    let node = world.find_node()?;
    let member = |rank| node.member(rank).unwrap_or_default();
    Arena::new(&Ends { world, layout, number, member }, &node.communicator, request)
}

impl WindowContext {
    pub(crate) fn book_length(&mut self, edge: EdgeId, length: usize) {
        self.lengths[edge.0] = length;
    }

    /// Returns the true length of the packed message.
    pub(crate) fn length(&self, edge: EdgeId) -> usize {
        self.lengths[edge.0]
    }

    /// Returns whether the packed message is longer than its buffer at either end.
    pub(crate) fn overflows(&self, edge: EdgeId) -> bool {
        self.length(edge) > self.arena.sizes.room_out[edge.0]
    }

    /// Returns the bytes of the packed message that go into its buffer.
    pub(crate) fn length_in_buffer(&self, edge: EdgeId) -> usize {
        if self.overflows(edge) { 0 } else { self.length(edge) }
    }

    /// Returns the origin buffer that a message is put from.
    pub(crate) fn origin(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let origin = self.arena.window.origin_mut(edge.0, ORIGIN_HEAD + bytes)?;
        Ok(&mut origin[ORIGIN_HEAD..])
    }

    /// Copies the packed message past the caches into its buffer at the peer.
    pub(crate) fn stream(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (length, to) = (self.length_in_buffer(edge), self.arena.payload_there(edge.0, self.sequence));
        if length == 0 {
            // The message is empty, or has taken another path because it does not fit.
            return Ok(());
        }
        self.arena.window.stream(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, to)
    }

    /// Returns the buffer that the receiver gets a message from.
    pub(crate) fn own_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let payload = self.arena.payload_here(edge.0, self.sequence);
        self.arena.window.own_buffer(payload, bytes)
    }

    /// Puts the packed message into its buffer at the peer, preceded by its length if the peer
    /// cannot compute the length.
    pub(crate) fn put(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (true_length, length) = (self.length(edge) as u64, self.length_in_buffer(edge));
        let end = ORIGIN_HEAD + length;
        let mut to = self.arena.payload_there(edge.0, self.sequence);
        match self.layout.spec().sizes {
            Sizes::Fixed if length == 0 => Ok(()),
            Sizes::Fixed => self.put_pieces(edge, ORIGIN_HEAD..end, to),
            Sizes::Variable => {
                let start = ORIGIN_HEAD - LENGTH_BYTES;
                let origin = self.arena.window.origin_mut(edge.0, end)?;
                origin[start..ORIGIN_HEAD].copy_from_slice(&true_length.to_ne_bytes());
                to.offset -= LENGTH_BYTES;
                self.put_pieces(edge, start..end, to)
            }
        }
    }

    /// Puts part of an edge's origin buffer, in as many pieces as the options require.
    pub(crate) fn put_pieces(
        &mut self,
        edge: EdgeId,
        bytes: Range<usize>,
        to: Place,
    ) -> Result<(), CommError> {
        if self.request.options.puts == PutCount::One {
            return self.arena.window.put(edge.0, bytes, to);
        }
        let start = bytes.start;
        thirds(bytes).try_for_each(|piece| {
            let place = Place { offset: to.offset + (piece.start - start), ..to };
            self.arena.window.put(edge.0, piece, place)
        })
    }

    /// Completes the buffer that the receiver gets from: the payload is there, the length is not.
    pub(crate) fn offer(&mut self, edge: EdgeId) -> Result<(), CommError> {
        if self.layout.spec().sizes == Sizes::Variable {
            let (true_length, word) =
                (self.length(edge) as u64, self.arena.payload_here(edge.0, self.sequence));
            let word = self.arena.window.own_buffer(word - LENGTH_BYTES, LENGTH_BYTES)?;
            word.copy_from_slice(&true_length.to_ne_bytes());
        }
        Ok(())
    }

    /// Gets the sender's buffer: all of it if the length is not known, because fetching the length
    /// first would cost a round trip.
    pub(crate) fn get(&mut self, edge: EdgeId) -> Result<(), CommError> {
        self.jitter.pause();
        let mut from = self.arena.payload_there(edge.0, self.sequence);
        match self.layout.spec().sizes {
            Sizes::Fixed => match self.layout.receive_capacity(edge) {
                0 => Ok(()),
                length => self.arena.window.get(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, from),
            },
            Sizes::Variable => {
                let end = ORIGIN_HEAD + self.arena.sizes.room_in[edge.0];
                from.offset -= LENGTH_BYTES;
                self.arena.window.get(edge.0, ORIGIN_HEAD - LENGTH_BYTES..end, from)
            }
        }
    }
}

/// Returns three pieces, as equal as whole numbers of eight bytes allow; fewer pieces if there are
/// fewer numbers.
fn thirds(Range { start, end }: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let piece = (end - start).div_ceil(3).next_multiple_of(size_of::<f64>()).max(1);
    (start..end).step_by(piece).map(move |first| first..end.min(first + piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_three_between_its_numbers() {
        let cut = |bytes: Range<usize>| thirds(bytes).collect::<Vec<_>>();
        assert_eq!(cut(64..184), [64..104, 104..144, 144..184]);
        assert_eq!(cut(8..40), [8..24, 24..40]);
        assert_eq!(cut(0..20), [0..8, 8..16, 16..20]);
        assert_eq!(cut(8..8), []);
    }
}
