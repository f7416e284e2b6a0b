//! Calls that break the contract are refused on the rank that makes them, and the exchange can go
//! on.

use super::player::{Player, Receive};
use super::script::Rule;
use super::topology::{chain, ring};
use super::{Check, Flaws};
use crate::{Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, MAX_CHANNEL, Sizes, World};

const BYTES: usize = 40;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a fixed message above the capacity is refused", too_large),
    Check::new("a fixed message of another length is refused", wrong_length),
    Check::new("an edge started twice is refused", started_twice),
    Check::new("initiate before all edges are started is refused", not_started),
    Check::new("calls out of order are refused", out_of_order),
    Check::new("sending on a receiving edge is refused", wrong_flow),
    Check::new("an impossible spec is refused", impossible_spec),
];

fn refused<T>(flaws: &Flaws, what: &str, outcome: Result<T, CommError>) {
    let refused = matches!(outcome, Err(CommError::Misuse { .. }));
    flaws.expect(refused, || format!("{what} gave {:?} instead of Misuse", outcome.err()));
}

fn open<'w>(world: &dyn World, flaws: &'w Flaws, rule: Rule) -> Result<Player<'w>, CommError> {
    Player::open(world, flaws, ring(world, world.ranks()), rule, Buffering::Single, 1)
}

fn too_large(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Fixed(BYTES))?;
    let agreed = player.exchange.spec().edges[0].send_capacity;
    let outcome = player.exchange.send_buffer(EdgeId(0), agreed + 1).map(drop);
    let right = matches!(
        outcome,
        Err(CommError::CapacityExceeded { capacity, bytes, .. }) if capacity == agreed && bytes == agreed + 1
    );
    flaws.expect(right, || format!("{outcome:?} instead of CapacityExceeded"));
    player.rounds(2)?;
    player.close()
}

fn wrong_length(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Fixed(BYTES))?;
    refused(flaws, "a short message", player.exchange.send_buffer(EdgeId(0), BYTES - 1).map(drop));
    player.rounds(2)?;
    player.close()
}

fn started_twice(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Varying(BYTES))?;
    refused(flaws, "start without packing", player.exchange.start(EdgeId(0)));
    player.send()?;
    refused(flaws, "a second start", player.exchange.start(EdgeId(0)));
    refused(flaws, "packing after start", player.exchange.send_buffer(EdgeId(0), 0).map(drop));
    refused(flaws, "a second initiate", player.exchange.initiate());
    player.receive(Receive::Waiting)?;
    player.complete()?;
    player.rounds(2)?;
    player.close()
}

fn not_started(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Varying(BYTES))?;
    refused(flaws, "initiate with nothing started", player.exchange.initiate());
    player.exchange.send_buffer(EdgeId(0), 0)?;
    refused(flaws, "initiate with nothing started", player.exchange.initiate());
    player.rounds(2)?;
    player.close()
}

fn out_of_order(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Varying(BYTES))?;
    refused(flaws, "next before initiate", player.exchange.next().map(drop));
    refused(flaws, "try_next before initiate", player.exchange.try_next().map(drop));
    refused(flaws, "complete before initiate", player.exchange.complete());
    refused(flaws, "a missing edge", player.exchange.start(EdgeId(2)));
    refused(flaws, "too few needs", player.exchange.negotiate(&[1]));
    player.send()?;
    refused(flaws, "complete before the arrivals", player.exchange.complete());
    refused(flaws, "negotiate inside an exchange", player.exchange.negotiate(&[BYTES; 2]));
    player.receive(Receive::Waiting)?;
    player.complete()?;
    player.rounds(2)?;
    player.close()
}

fn wrong_flow(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = chain(world);
    let mut player = Player::open(world, flaws, edges.clone(), Rule::Varying(BYTES), Buffering::Single, 1)?;
    for i in (0..edges.len()).filter(|&i| edges[i].flow == Flow::ReceiveOnly) {
        refused(flaws, "sending there", player.exchange.send_buffer(EdgeId(i), 0).map(drop));
    }
    player.rounds(2)?;
    player.close()
}

fn impossible_spec(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edge = |peer, channel| Edge {
        peer,
        send_channel: channel,
        receive_channel: channel,
        flow: Flow::Both,
        send_capacity: 8,
    };
    let wrong = [
        ("a peer outside the world", vec![edge(world.ranks(), 0)]),
        ("a large channel", vec![edge(0, MAX_CHANNEL + 1)]),
        ("two edges with one channel", vec![edge(0, 0), edge(0, 0)]),
    ];
    for (what, edges) in wrong {
        let (sizes, buffering) = (Sizes::Fixed, Buffering::Single);
        refused(
            flaws,
            what,
            world.open(ExchangeSpec { name: "impossible", edges, sizes, buffering }).map(drop),
        );
    }
    Ok(())
}
