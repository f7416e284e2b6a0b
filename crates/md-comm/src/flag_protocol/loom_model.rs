//! All interleavings, and all values that the memory model lets a load return, of two ranks that
//! exchange messages by the protocol; and protocols that are wrong on purpose, which must be
//! caught.
//!
//! The payload is made of relaxed atomics: a load that is not ordered after the store of its
//! message, or not before that of the next one, returns another value in some execution, and the
//! assertion finds it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::*;
use crate::explore_model::explore;

/// Words of a payload: two, so that half of one message beside half of another shows.
const PAYLOAD_WORDS: usize = 2;

impl Word for AtomicU64 {
    fn observe(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn publish(&self, value: u64) {
        self.store(value, Ordering::Release);
    }
}

/// How the protocol is violated, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Right,
    /// Flags and credits are stored without release order.
    Unordered,
    /// The flag is raised before the payload is written.
    FlagFirst,
    /// The sender does not wait for credits.
    CreditIgnored,
    /// The credit is returned before the payload has been read.
    CreditFirst,
}

/// A word that may be published wrongly.
#[derive(Debug)]
struct Published(AtomicU64, Conduct);

impl Word for Published {
    fn observe(&self) -> u64 {
        self.0.observe()
    }

    fn publish(&self, value: u64) {
        match self.1 {
            Conduct::Unordered => self.0.store(value, Ordering::Relaxed),
            Conduct::Right | Conduct::FlagFirst | Conduct::CreditIgnored | Conduct::CreditFirst => {
                self.0.publish(value);
            }
        }
    }
}

/// Buffer of one edge: its flag, its payload, and the credit at the sender.
#[derive(Debug)]
struct Buffer {
    flag: Published,
    payload: [AtomicU64; PAYLOAD_WORDS],
    credit: Published,
}

/// One direction between two ranks.
#[derive(Debug)]
struct Line {
    buffers: Vec<Buffer>,
    answer: Answer,
    conduct: Conduct,
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

impl Line {
    fn new(buffers: usize, answer: Answer, conduct: Conduct) -> Self {
        let word = || Published(AtomicU64::new(0), conduct);
        let payload = || std::array::from_fn(|_| AtomicU64::new(0));
        let buffer = |_| Buffer { flag: word(), payload: payload(), credit: word() };
        Self { buffers: (0..buffers).map(buffer).collect(), answer, conduct }
    }

    fn buffer(&self, sequence: u64) -> &Buffer {
        &self.buffers[buffer_of(sequence, self.buffers.len() as u64)]
    }

    fn needs_credit(&self) -> bool {
        needs_credit(self.buffers.len() as u64, self.answer)
    }

    fn send(&self, sequence: u64) {
        let buffer = self.buffer(sequence);
        let awaited = awaited_credit(sequence, self.buffers.len() as u64);
        let waits = self.needs_credit() && self.conduct != Conduct::CreditIgnored;
        if let Some(credit) = awaited.filter(|_| waits) {
            wait_until(|| buffer.credit.observe() == credit);
        }
        let write = || buffer.payload.iter().for_each(|word| word.store(sequence, Ordering::Relaxed));
        let raise = || buffer.flag.publish(flag(sequence, PAYLOAD_WORDS));
        if self.conduct == Conduct::FlagFirst {
            raise();
            write();
        } else {
            write();
            raise();
        }
    }

    fn receive(&self, sequence: u64) {
        let buffer = self.buffer(sequence);
        wait_until(|| length_in(buffer.flag.observe(), sequence) == Some(PAYLOAD_WORDS));
        let release = || {
            if self.needs_credit() {
                buffer.credit.publish(sequence);
            }
        };
        let read = || {
            for word in &buffer.payload {
                assert_eq!(word.load(Ordering::Relaxed), sequence, "payload of another exchange");
            }
        };
        if self.conduct == Conduct::CreditFirst {
            release();
            read();
        } else {
            read();
            release();
        }
    }
}

/// Runs one rank that sends and one that receives.
fn one_way(preemptions: Option<usize>, buffers: usize, exchanges: u64, conduct: Conduct) {
    explore(preemptions, move || {
        let line = Arc::new(Line::new(buffers, Answer::Nothing, conduct));
        let sender = Arc::clone(&line);
        let sending = thread::spawn(move || (1..=exchanges).for_each(|sequence| sender.send(sequence)));
        (1..=exchanges).for_each(|sequence| line.receive(sequence));
        sending.join().unwrap();
    });
}

/// Runs two ranks that both send and receive in every exchange.
fn both_ways(preemptions: Option<usize>, buffers: usize, exchanges: u64, conduct: Conduct) {
    explore(preemptions, move || {
        let lines = Arc::new([0, 1].map(|_| Line::new(buffers, Answer::Message, conduct)));
        let theirs = Arc::clone(&lines);
        let play = move |rank: usize, lines: &[Line; 2]| {
            for sequence in 1..=exchanges {
                lines[rank].send(sequence);
                lines[1 - rank].receive(sequence);
            }
        };
        let peer = thread::spawn(move || play(1, &theirs));
        play(0, &lines);
        peer.join().unwrap();
    });
}

/// Deep enough that each of two buffers is used three times.
const DEEP: u64 = 6;
const FEW: Option<usize> = Some(3);

#[test]
fn one_way_with_credits_no_message_is_torn_or_lost() {
    one_way(None, 1, 3, Conduct::Right);
    one_way(None, 2, 3, Conduct::Right);
    one_way(FEW, 1, DEEP, Conduct::Right);
    one_way(FEW, 2, DEEP, Conduct::Right);
}

#[test]
fn both_ways_with_one_buffer_and_credits_no_message_is_torn_or_lost() {
    both_ways(None, 1, 2, Conduct::Right);
    both_ways(FEW, 1, DEEP, Conduct::Right);
}

#[test]
fn both_ways_with_two_buffers_the_answer_replaces_the_credit() {
    both_ways(None, 2, 4, Conduct::Right);
    both_ways(FEW, 2, DEEP, Conduct::Right);
}

#[test]
#[should_panic(expected = "payload of another exchange")]
fn a_flag_without_release_order_is_caught() {
    both_ways(None, 2, 3, Conduct::Unordered);
}

#[test]
#[should_panic(expected = "payload of another exchange")]
fn a_flag_before_the_payload_is_caught() {
    both_ways(None, 2, 3, Conduct::FlagFirst);
}

#[test]
#[should_panic(expected = "payload of another exchange")]
fn a_credit_before_the_payload_was_read_is_caught() {
    one_way(None, 1, 3, Conduct::CreditFirst);
}

// A sender that does not wait overwrites a payload, or a flag before it is seen. In the latter case
// the receiver waits for ever, and the model ends with an error text of its own.
#[test]
#[should_panic]
fn an_ignored_credit_one_way_is_caught() {
    one_way(None, 2, 3, Conduct::CreditIgnored);
}

#[test]
#[should_panic]
fn an_ignored_credit_with_one_buffer_is_caught() {
    both_ways(None, 1, 3, Conduct::CreditIgnored);
}
