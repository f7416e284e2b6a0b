//! `rma-ring`: one circular buffer per edge at the receiver, with monotonic tickets.
//!
//! Structure: a message's ticket is the number of bytes sent before it, its place the ticket modulo the ring's size; a
//! message that would wrap starts again at the beginning. Both ends compute the same tickets, so that nothing but the
//! flag (length and exchange number, as in `rma-notify`) travels with the data. The receiver returns the ticket up to
//! which it has read. Short messages run far ahead, long ones one or two: the buffer is shared by need, not by count.
//! After the circular buffer of the miniMD study (Li et al.), corrected: tickets are never reset, so that no reset can
//! race; one sender per ring, so that nothing is fetched and added and two senders cannot overrun it together.
//! Relies on: as `rma-notify`; the returned ticket is compared for equality with the ends of messages under way.
//! Cost: as `rma-notify`, and a credit for every message.
//! Advantage: a bursty sender waits less for the same memory. Disadvantage: always credits; more book-keeping.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::arena::ORIGIN_HEAD;
use super::flags::{flag, length_in};
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

    /// Forgets what the receiver has read. A ticket that is the end of no message was seen half stored, or before.
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

fn flag_line(sequence: u64) -> usize {
    (sequence % MOST_UNDER_WAY as u64) as usize
}

impl Scheme for Ring {
    const BACKEND: Backend = Backend::RmaRing;
    const FLAGS: usize = MOST_UNDER_WAY;

    /// The tickets begin again, hence also those returned.
    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        parts.arena.window.hold_all()?;
        for edge in parts.terms.edge_ids() {
            parts.arena.window.own_word(parts.arena.ring_credit_here(edge.0))?.store(0, Ordering::SeqCst);
        }
        parts.arena.window.sync()?;
        let tickets =
            |_| Tickets { under_way: VecDeque::with_capacity(MOST_UNDER_WAY), ..Tickets::default() };
        let out = parts.terms.edge_ids().map(tickets).collect();
        let into = parts.terms.edge_ids().map(|_| Tickets::default()).collect();
        Ok(Self { out, into, receiving: parts.receiving().collect(), sending: parts.sending().collect() })
    }

    fn may_pack(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<bool, CommError> {
        if !parts.arena.window.is_unified() {
            parts.arena.window.sync()?;
        }
        let credit = parts.arena.ring_credit_here(edge.0);
        let read = parts.arena.window.own_word(credit)?.load(Ordering::Acquire);
        let tickets = &mut self.out[edge.0];
        tickets.release(read);
        Ok(tickets.fits(parts.length_in_buffer(edge), parts.arena.ring_size_there(edge.0)))
    }

    fn start(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<(), CommError> {
        let (length, size) = (parts.length_in_buffer(edge), parts.arena.ring_size_there(edge.0));
        let tickets = &mut self.out[edge.0];
        let (start, end) = tickets.next(length, size);
        tickets.end = end;
        tickets.under_way.push_back(end);
        if length == 0 {
            return Ok(());
        }
        let place = parts.arena.ring_there(edge.0, (start % size) as usize);
        parts.arena.window.put(edge.0, ORIGIN_HEAD..ORIGIN_HEAD + length, place)
    }

    fn initiate(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if self.sending.is_empty() {
            return Ok(());
        }
        parts.arena.window.flush_all()?;
        for &edge in &self.sending {
            parts.jitter.pause();
            let place = parts.arena.ring_flag_there(edge.0, flag_line(parts.sequence));
            let flag = flag(parts.sequence, parts.length(edge));
            parts.arena.window.replace(2 * edge.0, flag, place)?;
        }
        parts.arena.window.flush_all()
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if !parts.arena.window.is_unified() {
            parts.arena.window.sync()?;
        }
        for &edge in &self.receiving {
            if parts.is_noticed(edge) {
                continue;
            }
            let line = parts.arena.ring_flag_here(edge.0, flag_line(parts.sequence));
            let flag = parts.arena.window.own_word(line)?.load(Ordering::Acquire);
            if let Some(length) = length_in(flag, parts.sequence) {
                let size = parts.arena.ring_size_here(edge.0);
                // A message without room comes another way.
                let in_ring = if length > parts.arena.room_in(edge.0) { 0 } else { length };
                let (start, end) = self.into[edge.0].next(in_ring, size);
                self.into[edge.0].end = end;
                let place = parts.arena.ring_here(edge.0, (start % size) as usize);
                parts.notice_at(edge, length, place);
            }
        }
        Ok(())
    }

    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if self.receiving.is_empty() {
            return Ok(());
        }
        for &edge in &self.receiving {
            let place = parts.arena.ring_credit_there(edge.0);
            parts.arena.window.replace(2 * edge.0 + 1, self.into[edge.0].end, place)?;
        }
        parts.arena.window.flush_all()
    }

    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.arena.window.unlock_all()
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
