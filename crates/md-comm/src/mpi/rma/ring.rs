//! `rma-ring`: one circular buffer per edge at the receiver, with monotonic tickets.
//!
//! Structure: a message's ticket is the number of bytes sent before it, its place the ticket modulo
//! the ring's size; a message that would wrap starts again at the beginning. Both ends compute the
//! same tickets, so that nothing but the flag (length and exchange number, as in `rma-notify`)
//! travels with the data. The receiver returns the ticket up to which it has read. Short messages
//! run far ahead, long ones one or two: the buffer is shared by need, not by count. After the
//! circular buffer of the miniMD study (Li et al.), corrected: tickets are never reset, so that no
//! reset can race; one sender per ring, so that nothing is fetched and added and two senders cannot
//! overrun it together. Relies on: as `rma-notify`; the returned ticket is compared for equality
//! with the ends of messages under way.
//! Cost: as `rma-notify`, and a credit for every message.
//! Advantage: a bursty sender waits less for the same memory. Disadvantage: always credits; more
//! book-keeping.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::arena::ORIGIN_HEAD;
use super::flags::length_in;
use super::{Parts, Scheme};
use crate::{ALIGNMENT, Backend, CommError, EdgeId};

/// Flags per edge: at most so many messages are under way.
const MOST_UNDER_WAY: usize = 8;

/// Tickets of one edge, at one end.
#[derive(Debug, Clone, Default)]
struct Tickets {
    /// Bytes sent (or received) so far.
    end: u64,
    /// Ends of the messages that have not been read; only at the sender.
    under_way: VecDeque<u64>,
    /// Bytes known to have been read; only at the sender.
    read: u64,
}

impl Tickets {
    /// First and last ticket of the next message.
    fn next(&self, length: usize, size: u64) -> (u64, u64) {
        let length = length.max(1).next_multiple_of(ALIGNMENT) as u64;
        let left = size - self.end % size;
        let start = if length > left { self.end + left } else { self.end };
        (start, start + length)
    }

    /// Whether the next message fits behind those that have not been read.
    fn fits(&self, length: usize, size: u64) -> bool {
        let (_, end) = self.next(length, size);
        self.under_way.is_empty() || (self.under_way.len() < MOST_UNDER_WAY && self.read + size >= end)
    }

    /// Forgets what the receiver has read. A ticket that is the end of no message was seen half
    /// stored, or before.
    fn release(&mut self, read: u64) {
        if let Some(last) = self.under_way.iter().position(|&end| end == read) {
            self.under_way.drain(..=last);
            self.read = read;
        }
    }
}

/// Rings of one context; per edge.
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

    /// The tickets begin again, hence also those returned.
    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        parts.arena.window.hold_all()?;
        for edge in parts.terms.edge_ids() {
            parts.arena.window.own_word(parts.arena.credit_here(edge.0, 0))?.store(0, Ordering::SeqCst);
        }
        parts.arena.window.sync()?;
        let tickets =
            |_| Tickets { under_way: VecDeque::with_capacity(MOST_UNDER_WAY), ..Tickets::default() };
        let out = parts.terms.edge_ids().map(tickets).collect();
        let into = parts.terms.edge_ids().map(|_| Tickets::default()).collect();
        Ok(Self { out, into, receiving: parts.receiving().collect(), sending: parts.sending().collect() })
    }

    fn may_pack(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<bool, CommError> {
        let read = parts.polled_word(parts.arena.credit_here(edge.0, 0))?;
        let tickets = &mut self.out[edge.0];
        tickets.release(read);
        Ok(tickets.fits(parts.length_in_buffer(edge), parts.arena.ring_there(edge.0).size))
    }

    fn start(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<(), CommError> {
        let (length, ring) = (parts.length_in_buffer(edge), parts.arena.ring_there(edge.0));
        let tickets = &mut self.out[edge.0];
        let (start, end) = tickets.next(length, ring.size);
        tickets.end = end;
        tickets.under_way.push_back(end);
        if length == 0 {
            return Ok(());
        }
        parts.put_pieces(edge, ORIGIN_HEAD..ORIGIN_HEAD + length, ring.byte(start))
    }

    fn initiate(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.raise_flags(&self.sending, |parts, edge| {
            parts.arena.ring_there(edge.0).word(flag_number(parts.sequence))
        })
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        for &edge in &self.receiving {
            if parts.is_noticed(edge) {
                continue;
            }
            let ring = parts.arena.ring_here(edge.0);
            let flag = parts.polled_word(ring.word(flag_number(parts.sequence)).offset)?;
            if let Some(length) = length_in(flag, parts.sequence) {
                // A message without room comes another way.
                let in_ring = if length > parts.arena.sizes.room_in[edge.0] { 0 } else { length };
                let (start, end) = self.into[edge.0].next(in_ring, ring.size);
                self.into[edge.0].end = end;
                parts.notice_at(edge, length, ring.byte(start).offset);
            }
        }
        Ok(())
    }

    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        let credit =
            |parts: &Parts, edge: EdgeId| (self.into[edge.0].end, parts.arena.credit_there(edge.0, 0));
        parts.return_credits(&self.receiving, credit)
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
