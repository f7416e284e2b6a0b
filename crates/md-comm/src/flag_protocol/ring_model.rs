//! All interleavings of senders that share a circular buffer by tickets, as `rma-ring` does:
//! several senders with `ring = "shared"`, one without. Messages have one word. That flags are used
//! again is in the other model.

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::Word;

/// Context switches that no wait forces.
const PREEMPTIONS: usize = 2;
/// Enough for all executions of one sender, and for a part of those of two; the mistakes below are
/// found in far fewer.
const MOST_EXECUTIONS: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Right,
    /// Senders wait for room before they take the ticket: another sender may take the room.
    WaitFirst,
    /// The receiver publishes a piece as read before reading it.
    ReleaseFirst,
}

/// A ring at its receiver, with one word of payload per place.
struct Ring {
    written: AtomicU64,
    read: AtomicU64,
    payload: Vec<AtomicU64>,
    /// Per sender and message: its ticket, plus 1.
    flags: Vec<Vec<AtomicU64>>,
    conduct: Conduct,
}

/// What a sender's message holds.
fn content(sender: usize, number: usize) -> u64 {
    (1 + 10 * sender + number) as u64
}

impl Ring {
    fn new(senders: usize, messages: usize, size: usize, conduct: Conduct) -> Self {
        let word = || AtomicU64::new(0);
        let flags = (0..senders).map(|_| (0..messages).map(|_| word()).collect()).collect();
        let payload = (0..size).map(|_| word()).collect();
        Self { written: word(), read: word(), payload, flags, conduct }
    }

    fn place(&self, ticket: u64) -> &AtomicU64 {
        &self.payload[ticket as usize % self.payload.len()]
    }

    fn wait_for_room(&self, ticket: impl Fn() -> u64) {
        while self.read.observe() + self.payload.len() as u64 <= ticket() {
            thread::yield_now();
        }
    }

    fn send(&self, sender: usize, number: usize) {
        if self.conduct == Conduct::WaitFirst {
            self.wait_for_room(|| self.written.load(Ordering::SeqCst));
        }
        // Only atomicity is required here.
        let ticket = self.written.fetch_add(1, Ordering::Relaxed);
        if self.conduct != Conduct::WaitFirst {
            self.wait_for_room(|| ticket);
        }
        self.place(ticket).store(content(sender, number), Ordering::Relaxed);
        self.flags[sender][number].publish(ticket + 1);
    }

    /// Takes all messages as they arrive, and publishes how far everything has been read.
    fn receive_all(&self) {
        let messages = self.flags[0].len();
        let (mut next, mut read, mut ahead) = (vec![0; self.flags.len()], 0, Vec::new());
        while next.iter().any(|&number| number < messages) {
            for (sender, number) in next.iter_mut().enumerate().filter(|(_, number)| **number < messages) {
                let Some(ticket) = self.flags[sender][*number].observe().checked_sub(1) else { continue };
                if self.conduct == Conduct::ReleaseFirst {
                    self.read.publish(read + 1);
                }
                let found = self.place(ticket).load(Ordering::Relaxed);
                assert_eq!(found, content(sender, *number), "payload of another message");
                ahead.push(ticket);
                *number += 1;
            }
            let before = read;
            while let Some(i) = ahead.iter().position(|&ticket| ticket == read) {
                ahead.swap_remove(i);
                read += 1;
            }
            if read > before {
                self.read.publish(read);
            } else {
                thread::yield_now();
            }
        }
    }
}

fn explore(senders: usize, messages: usize, size: usize, conduct: Conduct) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.max_branches = 10_000;
    builder.max_permutations = Some(MOST_EXECUTIONS);
    builder.check(move || {
        let ring = Arc::new(Ring::new(senders, messages, size, conduct));
        let send = |sender| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || (0..messages).for_each(|number| ring.send(sender, number)))
        };
        let sending: Vec<_> = (0..senders).map(send).collect();
        ring.receive_all();
        sending.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn one_sender_overwrites_nothing_that_has_not_been_read() {
    explore(1, 3, 1, Conduct::Right);
    explore(1, 3, 2, Conduct::Right);
}

#[test]
fn two_senders_overwrite_nothing_that_has_not_been_read() {
    explore(2, 1, 1, Conduct::Right);
}

// Two messages in one place: a payload is wrong, or its receiver waits for ever, which the model
// ends in words of its own.
#[test]
#[should_panic]
fn senders_that_wait_before_they_reserve_are_caught() {
    explore(2, 1, 1, Conduct::WaitFirst);
}

#[test]
#[should_panic(expected = "payload of another message")]
fn a_place_that_is_released_before_it_is_read_is_caught() {
    explore(1, 3, 1, Conduct::ReleaseFirst);
}
