//! All interleavings (up to a number of preemptions) of two ranks that exchange messages through
//! their queues.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::member::copy_of;
use super::queues::{Address, Kind, Shared};
use super::world::LocalWorld;
use crate::explore_model::explore;
use crate::{Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, Rank, Sizes, World};

/// Never reached: a wait that never ends is a deadlock, which the model reports.
const WATCHDOG: Duration = Duration::from_secs(100_000);
/// Deep enough that with two buffering the first is used again.
const EXCHANGES: u8 = 3;
/// Context switches that no wait forces; most bugs of locks show with two (Musuvathi and Qadeer
/// 2007).
const PREEMPTIONS: Option<usize> = Some(3);

/// Exchanges of one byte with the other rank, then the end of the context.
fn play(rank: Rank, shared: Arc<Shared>, flow: Flow, buffering: Buffering) -> Result<(), CommError> {
    let world = LocalWorld::new(rank, shared, WATCHDOG);
    let edge = Edge { peer: 1 - rank, send_channel: 0, receive_channel: 0, flow, send_capacity: 1 };
    let mut exchange =
        world.open(ExchangeSpec { name: "model", edges: vec![edge], sizes: Sizes::Fixed, buffering })?;
    for number in 1..=EXCHANGES {
        if flow.sends() {
            exchange.send_buffer(EdgeId(0), 1)?[0] = number;
            exchange.start(EdgeId(0))?;
        }
        exchange.initiate()?;
        while let Some(arrival) = exchange.next()? {
            assert_eq!(arrival.bytes, [number]);
        }
        exchange.complete()?;
    }
    exchange.finalise()
}

fn two_ranks(flows: [Flow; 2], buffering: Buffering) {
    explore(PREEMPTIONS, move || {
        let shared = Arc::new(Shared::new(2));
        let other = Arc::clone(&shared);
        let peer = thread::spawn(move || play(1, other, flows[1], buffering));
        assert_eq!(play(0, shared, flows[0], buffering), Ok(()));
        assert_eq!(peer.join().unwrap(), Ok(()));
    });
}

#[test]
fn both_ways_no_message_is_lost_and_nobody_waits_for_ever() {
    two_ranks([Flow::Both; 2], Buffering::Single);
    two_ranks([Flow::Both; 2], Buffering::Double);
}

#[test]
fn one_way_the_sender_waits_for_a_buffer_and_no_longer() {
    two_ranks([Flow::SendOnly, Flow::ReceiveOnly], Buffering::Single);
    two_ranks([Flow::SendOnly, Flow::ReceiveOnly], Buffering::Double);
}

#[test]
fn a_failure_reaches_a_rank_that_is_about_to_wait() {
    explore(PREEMPTIONS, || {
        let shared = Arc::new(Shared::new(2));
        let failing = Arc::clone(&shared);
        let peer = thread::spawn(move || failing.fail(1));
        let outcome = LocalWorld::new(0, shared, WATCHDOG).barrier();
        assert_eq!(outcome, Err(CommError::PeerFailed { rank: 1 }));
        peer.join().unwrap();
    });
}

fn one_message(post: fn(&Shared, Address)) {
    explore(PREEMPTIONS, move || {
        let shared = Arc::new(Shared::new(1));
        let address = Address { kind: Kind::Payload, context: 1, from: 0, channel: 0 };
        let sender = Arc::clone(&shared);
        let sending = thread::spawn(move || post(&sender, address));
        assert!(shared.take(0, WATCHDOG, || [(0, address)].into_iter()).is_ok());
        sending.join().unwrap();
    });
}

#[test]
fn a_message_wakes_its_receiver() {
    one_message(|shared, address| shared.post(0, address, copy_of(&[1]).unwrap()));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_message_without_a_call_is_caught() {
    one_message(|shared, address| shared.post_unheard(0, address, copy_of(&[1]).unwrap()));
}
