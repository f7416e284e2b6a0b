//! `rma-ring`: one circular buffer per edge at the receiver, with monotonic tickets.
//!
//! Structure: a message's ticket is the number of bytes sent before it, its place the ticket modulo
//! the ring's size; a message that would wrap starts again at the beginning. Both ends compute the
//! same tickets, so that only the flag (length and exchange number, as in `rma-notify`) travels
//! with the data. The receiver returns the ticket up to which it has read. Many short messages can
//! be under way, but only one or two long ones: the buffer is shared by need, not by count. After
//! the circular buffer of the miniMD study (Li et al.), corrected: tickets are never reset, so that
//! no reset can race; one sender per ring, so that no fetch-and-add is needed and two senders
//! cannot overrun it together.
//! Relies on: the same as `rma-notify`; the returned ticket is compared for equality with the ends
//! of messages under way.
//! Cost: that of `rma-notify`, and a credit for every message.
//! Advantage: a bursty sender waits less for the same memory.
//! Disadvantage: always credits; more book-keeping.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::arena::ORIGIN_HEAD;
use super::flags::length_in;
use super::{Scheme, WindowContext};
use crate::{ALIGNMENT, Backend, CommError, EdgeId};

/// Number of flags per edge, which is the largest number of messages under way.
const MOST_UNDER_WAY: usize = 8;

/// Tickets of one edge at one end.
#[derive(Debug, Clone, Default)]
struct Tickets {
    /// Bytes sent (or received) so far.
    end: u64,
    /// Ends of the messages that have not been read; only at the sender.
    under_way: VecDeque<u64>,
    /// Bytes that have been read, as far as this rank can tell; only at the sender.
    read: u64,
}

impl Tickets {
    /// Returns the first and last ticket of the next message.
    fn next(&self, length: usize, size: u64) -> (u64, u64) {
        let length = length.max(1).next_multiple_of(ALIGNMENT) as u64;
        let left = size - self.end % size;
        let start = if length > left { self.end + left } else { self.end };
        (start, start + length)
    }

    /// Returns whether the next message fits behind those that have not been read.
    fn fits(&self, length: usize, size: u64) -> bool {
        let (_, end) = self.next(length, size);
        self.under_way.is_empty() || (self.under_way.len() < MOST_UNDER_WAY && self.read + size >= end)
    }

    /// Removes the messages that the receiver has read. A ticket that is not the end of a message
    /// was read half stored, or was processed before.
    fn release(&mut self, read: u64) {
        if let Some(last) = self.under_way.iter().position(|&end| end == read) {
            self.under_way.drain(..=last);
            self.read = read;
        }
    }
}

/// Rings of one context, per edge.
#[derive(Debug)]
pub(crate) struct Ring {
    out: Vec<Tickets>,
    into: Vec<Tickets>,
    receiving: Vec<EdgeId>,
    sending: Vec<EdgeId>,
}

fn flag_number(sequence: u64) -> usize {
    (sequence % MOST_UNDER_WAY as u64) as usize
}

impl Scheme for Ring {
    const BACKEND: Backend = Backend::RmaRing;
    const FLAGS: usize = MOST_UNDER_WAY;

    /// Resets all tickets, including those returned, for a new window.
    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        context.arena.window.hold_all()?;
        for edge in context.layout.edge_ids() {
            context.arena.window.own_word(context.arena.credit_here(edge.0, 0))?.store(0, Ordering::SeqCst);
        }
        context.arena.window.sync()?;
        let tickets =
            |_| Tickets { under_way: VecDeque::with_capacity(MOST_UNDER_WAY), ..Tickets::default() };
        let out = context.layout.edge_ids().map(tickets).collect();
        let into = context.layout.edge_ids().map(|_| Tickets::default()).collect();
        Ok(Self { out, into, receiving: context.receiving().collect(), sending: context.sending().collect() })
    }

    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError> {
        let read = context.polled_word(context.arena.credit_here(edge.0, 0))?;
        let tickets = &mut self.out[edge.0];
        tickets.release(read);
        Ok(tickets.fits(context.length_in_buffer(edge), context.arena.ring_there(edge.0).size))
    }

    fn start(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<(), CommError> {
        let (length, ring) = (context.length_in_buffer(edge), context.arena.ring_there(edge.0));
        let tickets = &mut self.out[edge.0];
        let (start, end) = tickets.next(length, ring.size);
        tickets.end = end;
        tickets.under_way.push_back(end);
        if length == 0 {
            return Ok(());
        }
        context.put_pieces(edge, ORIGIN_HEAD..ORIGIN_HEAD + length, ring.byte(start))
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.raise_flags(&self.sending, |context, edge| {
            context.arena.ring_there(edge.0).word(flag_number(context.sequence))
        })
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        for &edge in &self.receiving {
            if context.is_noticed(edge) {
                continue;
            }
            let ring = context.arena.ring_here(edge.0);
            let flag = context.polled_word(ring.word(flag_number(context.sequence)).offset)?;
            if let Some(length) = length_in(flag, context.sequence) {
                // A message without room takes another path.
                let in_ring = if length > context.arena.sizes.room_in[edge.0] { 0 } else { length };
                let (start, end) = self.into[edge.0].next(in_ring, ring.size);
                self.into[edge.0].end = end;
                context.notice_at(edge, length, ring.byte(start).offset);
            }
        }
        Ok(())
    }

    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        let credit = |context: &WindowContext, edge: EdgeId| {
            (self.into[edge.0].end, context.arena.credit_there(edge.0, 0))
        };
        context.return_credits(&self.receiving, credit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_would_wrap_starts_at_the_beginning() {
        let tickets = Tickets { end: 192, ..Tickets::default() };
        assert_eq!(tickets.next(64, 256), (192, 256));
        assert_eq!(tickets.next(65, 256), (256, 384));
    }

    #[test]
    fn what_has_not_been_read_is_not_overwritten() {
        let mut tickets = Tickets { end: 128, under_way: VecDeque::from([64, 128]), read: 0 };
        assert!(tickets.fits(128, 256));
        assert!(!tickets.fits(129, 256));
        tickets.release(64);
        assert_eq!(tickets.under_way, [128]);
        assert!(!tickets.fits(192, 256));
        tickets.release(128);
        assert!(tickets.fits(192, 256));
    }
}
