//! Every shape of neighbourhood, with fixed and varying lengths, one and two buffers.

use super::player::Player;
use super::script::Rule;
use super::topology::{balanced, chain, half_shell, pairs, ring, torus_by_direction, torus_by_rank};
use super::{Check, Flaws};
use crate::{Buffering, CommError, Edge, MAX_CHANNEL, World};

/// Exchanges per combination.
const ROUNDS: usize = 6;
const BYTES: usize = 300;
/// Large enough that an MPI library hands messages over by rendezvous instead of eagerly.
const LARGE_BYTES: usize = 200_000;

pub(super) const CHECKS: &[Check] = &[
    Check::new("ring both ways", |world, flaws| play(world, flaws, || ring(world, world.ranks()))),
    Check::new("two edges between two ranks", |world, flaws| play(world, flaws, || pairs(world, 0..=1))),
    Check::new("many edges between two ranks, up to the highest channel", |world, flaws| {
        play(world, flaws, || pairs(world, MAX_CHANNEL - 63..=MAX_CHANNEL))
    }),
    Check::new("torus, one edge per neighbouring rank", |world, flaws| {
        play(world, flaws, || torus_by_rank(world, balanced(world.ranks())))
    }),
    Check::new("torus, one edge per direction", |world, flaws| {
        play(world, flaws, || torus_by_direction(world, balanced(world.ranks())))
    }),
    Check::new("torus with one rank in two dimensions", flat_tori),
    Check::new("one-way chain", |world, flaws| play(world, flaws, || chain(world))),
    Check::new("half shell", |world, flaws| {
        play(world, flaws, || half_shell(world, balanced(world.ranks())))
    }),
    Check::new("no edges on the last rank", |world, flaws| {
        play(world, flaws, || ring(world, world.ranks() - 1))
    }),
    Check::new("no edges at all", |world, flaws| play(world, flaws, Vec::new)),
    Check::new("messages of zero bytes", |world, flaws| {
        for rule in [Rule::Fixed(0), Rule::Varying(0)] {
            one(world, flaws, torus_by_rank(world, balanced(world.ranks())), rule, Buffering::Single)?;
        }
        Ok(())
    }),
    Check::new("large messages", |world, flaws| {
        one(world, flaws, ring(world, world.ranks()), Rule::Fixed(LARGE_BYTES), Buffering::Single)?;
        one(world, flaws, ring(world, world.ranks()), Rule::Varying(LARGE_BYTES), Buffering::Double)
    }),
];

fn flat_tori(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let ranks = world.ranks();
    for grid in [[ranks, 1, 1], [1, ranks, 1], [1, 1, ranks]] {
        for edges in [torus_by_direction(world, grid), torus_by_rank(world, grid)] {
            one(world, flaws, edges, Rule::Varying(BYTES), Buffering::Double)?;
        }
    }
    Ok(())
}

fn play(world: &dyn World, flaws: &Flaws, edges: impl Fn() -> Vec<Edge>) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        for rule in [Rule::Fixed(BYTES), Rule::Varying(BYTES)] {
            one(world, flaws, edges(), rule, buffering)?;
        }
    }
    Ok(())
}

fn one(
    world: &dyn World,
    flaws: &Flaws,
    edges: Vec<Edge>,
    rule: Rule,
    buffering: Buffering,
) -> Result<(), CommError> {
    let mut player = Player::open(world, flaws, edges, rule, buffering, 0)?;
    player.rounds(ROUNDS)?;
    player.close()
}
