//! `rma-ring` with `ring = "shared"`: one circular buffer per receiving rank, tickets by an atomic
//! fetch-and-add.
//!
//! Structure: a sender reserves its piece of the ring first (the ticket is the number of bytes
//! reserved before it, its place the ticket modulo the ring's size) and then waits until the
//! receiver has read far enough. It puts the message, in two pieces where it wraps, and its ticket;
//! flushes; and raises its own flag of this exchange (length and exchange number, as in
//! `rma-notify`). The receiver copies messages out as their flags arrive, also those of the next
//! exchange, and publishes up to which ticket everything has been read. After the circular buffer
//! of the miniMD study (Li et al.), corrected: senders reserve, then wait, so that two of them
//! cannot overrun the ring together; tickets are never reset; the receiver is notified by a flag
//! per message, not by the ticket counter, which moves before the data arrive.
//! Relies on: `MPI_Fetch_and_op` is atomic, and a word changed by SUM is not changed otherwise
//! (MPI-3.1 section 11.7.1). No deadlock: nothing waits for room in `initiate`; a rank that waits
//! for room goes on emptying its own ring, and the piece with the smallest ticket always fits. That
//! would hold for a ring of one message; the ring has room for `buffers` messages of every sender
//! because a rank that waits in another context does not empty this ring.
//! Cost: five to seven latencies: ticket, perhaps a fetch of the receiver's progress, put,
//! acknowledgement, flag; two more for each further neighbour, because tickets are fetched in turn.
//! A copy.
//! Advantage: one buffer, whatever the number of senders.
//! Disadvantage: every sender updates the same word, and messages wait for those with smaller
//! tickets.

use std::sync::atomic::Ordering;

use crate::mpi::ffi::Place;
use crate::mpi::rma::arena::{Form, ORIGIN_HEAD, RingPlace};
use crate::mpi::rma::flags::length_in;
use crate::mpi::rma::{Scheme, WindowContext};
use crate::{ALIGNMENT, Backend, CommError, EdgeId};

/// The word before a ring that has the ticket up to which its owner has read.
const READ: usize = 0;
/// The word before it that has the number of tickets given out.
const WRITTEN: usize = 1;

/// State of one context.
#[derive(Debug)]
pub(crate) struct SharedRing {
    sending: Vec<EdgeId>,
    receiving: Vec<EdgeId>,
    /// Receiving edges whose senders wait for credits.
    crediting: Vec<EdgeId>,
    /// Messages with their tickets that wait for room.
    waiting: Vec<(EdgeId, u64)>,
    leaving: Vec<EdgeId>,
    /// Ticket up to which the receiver is known to have read, per edge.
    read_there: Vec<u64>,
    /// Ticket up to which this rank has read, and later pieces that it has read already.
    read: u64,
    read_ahead: Vec<(u64, u64)>,
    /// Per edge: number of the exchange whose message is next; lengths of the messages taken, per
    /// buffer.
    next: Vec<u64>,
    lengths: Vec<usize>,
}

/// Returns the bytes of a ring that a message takes.
fn footprint(length: usize) -> u64 {
    length.next_multiple_of(ALIGNMENT) as u64
}

/// Returns the pieces of `length` bytes at a ticket: length of the first, start of the first. The
/// second starts at 0.
fn pieces(ticket: u64, length: usize, size: u64) -> (usize, usize) {
    let start = (ticket % size.max(1)) as usize;
    (length.min(size as usize - start), start)
}

impl SharedRing {
    /// Puts the messages whose pieces are free and raises their flags.
    fn send_what_fits(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.leaving.clear();
        let mut i = 0;
        while i < self.waiting.len() {
            let (edge, ticket) = self.waiting[i];
            if self.has_room(context, edge, ticket)? {
                put(context, edge, ticket)?;
                self.leaving.push(edge);
                self.waiting.swap_remove(i);
            } else {
                i += 1;
            }
        }
        context.raise_flags(&self.leaving, WindowContext::flag_place)
    }

    fn has_room(&mut self, context: &WindowContext, edge: EdgeId, ticket: u64) -> Result<bool, CommError> {
        let bytes = footprint(context.length_in_buffer(edge));
        let ring = context.arena.shared.there[edge.0];
        let fits = |read: u64| bytes == 0 || read + ring.size >= ticket + bytes;
        if !fits(self.read_there[edge.0]) {
            self.read_there[edge.0] = context.arena.window.fetch(ring.word(READ))?;
        }
        Ok(fits(self.read_there[edge.0]))
    }

    /// Copies out what has arrived, and publishes the progress to the senders.
    fn drain(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        for i in 0..self.receiving.len() {
            let edge = self.receiving[i];
            // No sender is further ahead than its buffers allow: otherwise a credit or a message of
            // this rank would be missing.
            while self.next[edge.0] < context.sequence + context.arena.buffers {
                let sequence = self.next[edge.0];
                let flag = context.polled_word(context.arena.flag_here(edge.0, sequence))?;
                let Some(length) = length_in(flag, sequence) else { break };
                self.take(context, edge, sequence, length)?;
                self.next[edge.0] += 1;
            }
        }
        let before = self.read;
        while let Some(i) = self.read_ahead.iter().position(|&(start, _)| start == self.read) {
            self.read = self.read_ahead.swap_remove(i).1;
        }
        if self.read == before {
            return Ok(());
        }
        context.jitter.pause();
        let (word, place) = (2 * self.next.len(), context.arena.shared.here.word(READ));
        context.arena.window.replace(word, self.read, place)?;
        context.arena.window.flush()
    }

    fn take(
        &mut self,
        context: &mut WindowContext,
        edge: EdgeId,
        sequence: u64,
        length: usize,
    ) -> Result<(), CommError> {
        let buffer = held(context, edge, sequence);
        self.lengths[buffer] = length;
        if length == 0 || length > context.arena.sizes.room_in[edge.0] {
            return Ok(());
        }
        let ticket = context.polled_word(context.arena.flag_here(edge.0, sequence) + ALIGNMENT)?;
        let RingPlace { start: Place { offset: ring, .. }, size } = context.arena.shared.here;
        let (first, start) = pieces(ticket, length, size);
        let message = &mut context.held[buffer];
        message.set_length(length)?;
        let (left, right) = message.bytes_mut().split_at_mut(first);
        left.copy_from_slice(context.arena.window.arrived(ring + start, first)?);
        right.copy_from_slice(context.arena.window.arrived(ring, length - first)?);
        context.jitter.note_read(ring + start, first);
        context.jitter.note_read(ring, length - first);
        context.poison_read()?;
        self.read_ahead.push((ticket, ticket + footprint(length)));
        Ok(())
    }

    /// Records the messages of this exchange.
    fn notice(&self, context: &mut WindowContext) {
        for &edge in &self.receiving {
            if self.next[edge.0] > context.sequence && !context.is_noticed(edge) {
                let buffer = held(context, edge, context.sequence);
                context.notice_held(edge, self.lengths[buffer], buffer);
            }
        }
    }
}

/// Returns the number of the buffer for an edge's message of an exchange.
fn held(context: &WindowContext, EdgeId(i): EdgeId, sequence: u64) -> usize {
    let buffers = context.arena.buffers;
    i * buffers as usize + (sequence % buffers) as usize
}

/// Puts the message and its ticket.
fn put(context: &mut WindowContext, edge: EdgeId, ticket: u64) -> Result<(), CommError> {
    let length = context.length_in_buffer(edge);
    if length == 0 {
        return Ok(());
    }
    let ring = context.arena.shared.there[edge.0];
    let (first, _) = pieces(ticket, length, ring.size);
    let (middle, end) = (ORIGIN_HEAD + first, ORIGIN_HEAD + length);
    context.arena.window.put(edge.0, ORIGIN_HEAD..middle, ring.byte(ticket))?;
    if middle < end {
        context.arena.window.put(edge.0, middle..end, ring.start)?;
    }
    let mut place = context.flag_place(edge);
    place.offset += ALIGNMENT;
    context.arena.window.replace(2 * edge.0, ticket, place)
}

impl Scheme for SharedRing {
    const BACKEND: Backend = Backend::RmaRing;
    const FORM: Form = Form::SharedRing;

    /// Resets all tickets, for a new window.
    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        context.arena.window.hold_all()?;
        for number in [READ, WRITTEN] {
            let offset = context.arena.shared.here.word(number).offset;
            context.arena.window.own_word(offset)?.store(0, Ordering::SeqCst);
        }
        context.arena.window.sync()?;
        let edges = context.layout.spec().edges.len();
        let buffers = context.arena.buffers as usize;
        context.held.resize_with(edges * buffers, Default::default);
        Ok(Self {
            sending: context.sending().collect(),
            receiving: context.receiving().collect(),
            crediting: context.crediting(),
            waiting: Vec::with_capacity(edges),
            leaving: Vec::with_capacity(edges),
            read_there: vec![0; edges],
            read: 0,
            read_ahead: Vec::with_capacity(edges * buffers),
            next: vec![context.sequence; edges],
            lengths: vec![0; edges * buffers],
        })
    }

    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError> {
        if context.has_credit(edge, WindowContext::polled_word)? {
            return Ok(true);
        }
        self.drain(context)?;
        Ok(false)
    }

    /// Does nothing: messages leave only when their final lengths are known.
    fn start(&mut self, _: &mut WindowContext, _: EdgeId) -> Result<(), CommError> {
        Ok(())
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        for &edge in &self.sending {
            let bytes = footprint(context.length_in_buffer(edge));
            let counter = context.arena.shared.there[edge.0].word(WRITTEN);
            let ticket = if bytes == 0 { 0 } else { context.arena.window.fetch_and_add(bytes, counter)? };
            self.waiting.push((edge, ticket));
            // Between ticket and message other senders reserve, and put first.
            context.jitter.pause();
        }
        self.send_what_fits(context)
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.send_what_fits(context)?;
        self.drain(context)?;
        self.notice(context);
        Ok(())
    }

    /// Sends what has not left yet.
    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.wait_for("room in the rings of other ranks", |context| {
            if !self.waiting.is_empty() {
                self.send_what_fits(context)?;
                self.drain(context)?;
                context.drive_progress()?;
            }
            Ok(self.waiting.is_empty())
        })?;
        context.return_credits(&self.crediting, WindowContext::credit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_wraps_has_two_pieces() {
        assert_eq!(pieces(128, 64, 256), (64, 128));
        assert_eq!(pieces(128 + 3 * 256, 128, 256), (128, 128));
        assert_eq!(pieces(192, 100, 256), (64, 192));
    }

    #[test]
    fn messages_take_whole_lines() {
        assert_eq!([0, 1, 64, 65].map(footprint), [0, 64, 64, 128]);
    }
}
