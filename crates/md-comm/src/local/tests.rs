//! What is special to `local`: failures of one rank reach the others.

use super::*;
use crate::{Buffering, CommError, Edge, ExchangeSpec, Flow, Sizes};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

/// Every rank awaits a message from the next one.
fn open_ring(world: &dyn World) -> Result<crate::Exchange, CommError> {
    let next = (world.rank() + 1) % world.ranks();
    let previous = (world.rank() + world.ranks() - 1) % world.ranks();
    let edge = |peer, flow| Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: 8 };
    let edges = vec![edge(next, Flow::ReceiveOnly), edge(previous, Flow::SendOnly)];
    let spec = ExchangeSpec { name: "ring", edges, sizes: Sizes::Variable, buffering: Buffering::Single };
    world.open(spec)
}

fn send(exchange: &mut crate::Exchange) {
    exchange.send_buffer(crate::EdgeId(1), 8).unwrap();
    exchange.start(crate::EdgeId(1)).unwrap();
    exchange.initiate().unwrap();
}

#[test]
fn a_panic_on_one_rank_ends_the_waits_of_the_others() {
    let ends = run(4, LONG, |world| {
        assert!(world.rank() != 2, "deliberate");
        world.barrier()
    });
    assert_eq!(ends[2], Err(Panicked { rank: 2, message: "deliberate".to_owned() }), "{ends:?}");
    for rank in [0, 1, 3] {
        assert!(matches!(ends[rank], Ok(Err(CommError::PeerFailed { rank: 2 }))), "{ends:?}");
    }
}

#[test]
fn an_abort_on_one_rank_ends_the_waits_of_the_others() {
    let ends = run(3, LONG, |world| {
        // The failure may meet the others anywhere; each of them waits for rank 1 somewhere.
        let mut ring = open_ring(world)?;
        if world.rank() == 1 {
            world.abort(3);
            return Ok(());
        }
        send(&mut ring);
        while ring.next()?.is_some() {}
        world.barrier()
    });
    for rank in [0, 2] {
        assert_eq!(ends[rank], Ok(Err(CommError::PeerFailed { rank: 1 })), "{ends:?}");
    }
}

#[test]
fn the_watchdog_names_the_awaited_edge() {
    let ends = run(2, SHORT, |world| {
        let mut ring = open_ring(world).unwrap();
        if world.rank() == 1 {
            return String::new();
        }
        send(&mut ring);
        ring.next().unwrap_err().to_string()
    });
    assert!(ends[0].as_ref().unwrap().ends_with("for rank 1 (channel 0)"), "{ends:?}");
}

#[test]
fn a_sender_without_a_free_buffer_waits() {
    let ends = run(2, SHORT, |world| {
        let mut ring = open_ring(world).unwrap();
        send(&mut ring);
        ring.next().unwrap();
        ring.complete().unwrap();
        if world.rank() == 1 {
            return String::new();
        }
        send(&mut ring);
        ring.next().unwrap_err().to_string()
    });
    assert!(ends[0].as_ref().unwrap().contains("rank 1"), "{ends:?}");
}

#[test]
fn buffers_return_to_their_sender() {
    let ends = run(1, LONG, |world| {
        let mut ring = open_ring(world).unwrap();
        let mut starts = Vec::new();
        for _ in 0..3 {
            starts.push(ring.send_buffer(crate::EdgeId(1), 8).unwrap().as_ptr() as usize);
            send(&mut ring);
            ring.next().unwrap().unwrap();
            ring.complete().unwrap();
        }
        starts
    });
    let starts = ends[0].as_ref().unwrap();
    assert!(starts.iter().all(|start| start == &starts[0]), "{starts:?}");
}

#[test]
fn what_breaks_in_one_world_leaves_another_whole() {
    let ends = run(2, LONG, |world| {
        let broken = world.duplicate().unwrap();
        broken.set_watchdog(SHORT);
        // The ranks are out of step: one of them leaves bytes behind, or waits in vain.
        let left = if world.rank() == 0 { broken.barrier() } else { Ok(()) };
        let next = world.duplicate().unwrap();
        let mut numbers = [[world.rank() as f64], [world.rank() as f64]];
        world.sum(&mut numbers[0]).unwrap();
        next.sum(&mut numbers[1]).unwrap();
        (left.is_err(), numbers)
    });
    let ends: Vec<_> = ends.into_iter().map(Result::unwrap).collect();
    assert_eq!(ends, [(true, [[1.0], [1.0]]), (false, [[1.0], [1.0]])]);
}

/// With a message under way, too.
#[test]
fn contexts_that_all_ranks_have_dropped_leave_nothing() {
    const RANKS: usize = 3;
    let shared = Arc::new(Shared::new(RANKS));
    let play = |rank| {
        let world = LocalWorld::new(rank, Arc::clone(&shared), LONG);
        let mut ring = open_ring(&world).unwrap();
        send(&mut ring);
        while ring.next().unwrap().is_some() {}
        ring.complete().unwrap();
        drop(ring);
        send(&mut open_ring(&world).unwrap());
        world.open_unexpected("messages").unwrap().send((rank + 1) % RANKS, b"message").unwrap();
    };
    scope(|threads| (0..RANKS).for_each(|rank| drop(threads.spawn(move || play(rank)))));
    assert_eq!(shared.queues(), 0);
}
