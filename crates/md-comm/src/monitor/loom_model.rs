//! All interleavings of a watched thread with looks of its monitor; and words that are wrong on
//! purpose, which must be caught.

use std::time::Duration;

use loom::model;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::words::{CallLimit, CallWord, Heartbeat, call_in, peer_in};
use crate::Rank;
use crate::explore_model::explore;

const FENCE: u8 = 13;
const PUT: u8 = 23;
/// Context switches that no wait forces, where there are three threads.
const PREEMPTIONS: Option<usize> = Some(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Right,
    /// All calls have the same number.
    NoNumber,
    /// The peer is in a word of its own.
    TwoWords,
    /// The call is stored without release order.
    Unordered,
}

/// Makes the checker try every order of the threads that take a turn, and orders nothing else. The
/// checker keeps only the last access of each word, so that a writer that loads its own word and
/// stores it hides an earlier load by the monitor.
#[derive(Clone, Default)]
struct Turns(Arc<AtomicU64>);

impl Turns {
    fn take(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The word of calls, whose writer may be wrong.
struct Calls {
    turns: Turns,
    word: CallWord,
    peer: AtomicU64,
    conduct: Conduct,
}

impl Calls {
    fn new(conduct: Conduct) -> Self {
        Self { turns: Turns::default(), word: CallWord::default(), peer: AtomicU64::new(0), conduct }
    }

    fn enter(&self, call: u8, peer: Option<Rank>) {
        self.turns.take();
        match self.conduct {
            Conduct::Right | Conduct::NoNumber => self.word.enter(call, peer),
            Conduct::TwoWords => {
                self.peer.store(peer.map_or(0, |peer| peer as u64 + 1), Ordering::Relaxed);
                self.word.enter(call, None);
            }
            Conduct::Unordered => self.word.0.store(call.into(), Ordering::Relaxed),
        }
    }

    fn leave(&self) {
        self.turns.take();
        match self.conduct {
            Conduct::Right | Conduct::TwoWords | Conduct::Unordered => self.word.leave(),
            Conduct::NoNumber => self.word.0.store(0, Ordering::Relaxed),
        }
    }

    fn pulse(&self) -> Option<u64> {
        self.turns.take();
        self.word.pulse()
    }

    fn report(&self) -> Option<(u8, Option<Rank>)> {
        let word = self.pulse()?;
        let peer = match self.conduct {
            Conduct::TwoWords => self.peer.load(Ordering::Relaxed).checked_sub(1).map(|peer| peer as Rank),
            Conduct::Right | Conduct::NoNumber | Conduct::Unordered => peer_in(word),
        };
        Some((call_in(word), peer))
    }
}

/// An event that one thread signals to another.
#[derive(Clone, Default)]
struct Event(Arc<AtomicU64>);

impl Event {
    fn happen(&self) {
        self.0.store(1, Ordering::Release);
    }

    fn wait(&self) {
        while self.0.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
    }
}

/// Two equal calls, the second of which has begun when the monitor looks again.
fn two_calls(conduct: Conduct) {
    model(move || {
        let (calls, looked, again) = (Arc::new(Calls::new(conduct)), Event::default(), Event::default());
        let (own, seen, begun) = (Arc::clone(&calls), looked.clone(), again.clone());
        let working = thread::spawn(move || {
            own.enter(FENCE, None);
            seen.wait();
            own.leave();
            own.enter(FENCE, None);
            begun.happen();
            own.leave();
        });
        let first = loop {
            match calls.pulse() {
                Some(pulse) => break pulse,
                None => thread::yield_now(),
            }
        };
        looked.happen();
        again.wait();
        assert_ne!(calls.pulse(), Some(first), "a standstill that is none");
        working.join().unwrap();
    });
}

fn a_report(conduct: Conduct) {
    model(move || {
        let calls = Arc::new(Calls::new(conduct));
        let own = Arc::clone(&calls);
        let working = thread::spawn(move || {
            for (call, peer) in [(PUT, Some(1)), (FENCE, None)] {
                own.enter(call, peer);
                own.leave();
            }
        });
        let report = calls.report();
        assert!([None, Some((PUT, Some(1))), Some((FENCE, None))].contains(&report), "a report of two calls");
        working.join().unwrap();
    });
}

fn a_longer_limit(conduct: Conduct) {
    model(move || {
        let (calls, [short, long]) = (Arc::new(Calls::new(conduct)), [1, 2].map(Duration::from_secs));
        let limit = CallLimit::new(short);
        let (own, setting) = (Arc::clone(&calls), limit.clone());
        let working = thread::spawn(move || {
            setting.set(long);
            own.enter(FENCE, None);
            own.leave();
        });
        if calls.pulse().is_some() {
            assert_eq!(limit.get(), long, "the limit of another call");
        }
        working.join().unwrap();
    });
}

/// A beat between two looks, and perhaps a second thread that beats.
fn beats(others: usize) {
    explore(PREEMPTIONS, move || {
        let (heartbeat, turns) = (Heartbeat::default(), Turns::default());
        let (looked, again) = (Event::default(), Event::default());
        let beat = |heartbeat: &Heartbeat, turns: &Turns| {
            turns.take();
            heartbeat.beat();
        };
        let (own, order, seen, beaten) = (heartbeat.clone(), turns.clone(), looked.clone(), again.clone());
        let mut working = vec![thread::spawn(move || {
            beat(&own, &order);
            seen.wait();
            beat(&own, &order);
            beaten.happen();
        })];
        working.extend((0..others).map(|_| {
            let (own, order) = (heartbeat.clone(), turns.clone());
            thread::spawn(move || beat(&own, &order))
        }));
        turns.take();
        let first = heartbeat.count();
        looked.happen();
        again.wait();
        assert_ne!(heartbeat.count(), first, "a standstill that is none");
        working.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_second_call_is_not_taken_for_the_first() {
    two_calls(Conduct::Right);
}

#[test]
fn a_report_is_of_one_call() {
    a_report(Conduct::Right);
}

#[test]
fn a_call_is_not_held_to_an_older_limit() {
    a_longer_limit(Conduct::Right);
}

#[test]
fn a_beat_is_noticed() {
    beats(0);
}

#[test]
#[should_panic(expected = "a standstill that is none")]
fn calls_without_a_number_are_caught() {
    two_calls(Conduct::NoNumber);
}

#[test]
#[should_panic(expected = "a report of two calls")]
fn a_peer_in_a_word_of_its_own_is_caught() {
    a_report(Conduct::TwoWords);
}

#[test]
#[should_panic(expected = "the limit of another call")]
fn a_call_without_release_order_is_caught() {
    a_longer_limit(Conduct::Unordered);
}

#[test]
#[should_panic(expected = "a standstill that is none")]
fn two_threads_that_beat_are_caught() {
    beats(1);
}
