//! Capacities that were too small: negotiation makes room and loses nothing.

use std::time::Duration;

use super::player::{Pace, Player};
use super::script::Rule;
use super::topology::{balanced, chain, half_shell, ring, torus_by_rank};
use super::{Check, Flaws};
use crate::{Buffering, CommError, Growth, World};

const ROUNDS: usize = 4;
const LAST_STEP: u32 = 4;
/// More exchanges than a transport with a short trial needs to choose between others.
const SEASON: usize = 12;
/// Delay of late receivers.
const LATENESS: Duration = Duration::from_millis(3);

pub(super) const CHECKS: &[Check] = &[
    Check::new("a capacity of one byte grows", one_byte),
    Check::new("growth at every exchange", every_exchange),
    Check::new("several negotiations in a row", several_in_a_row),
    Check::new("growth on one rank only", one_rank_only),
    Check::new("fixed lengths follow, up and down", fixed_lengths),
    Check::new("a sender does not leave a negotiation before its receiver is in it", sender_first),
    Check::new("a reverse context has the grown capacities", reverse_after_growth),
    Check::new("a reverse context grows by itself", reverse_grows),
    Check::new("a need that fits changes nothing", no_growth),
    Check::new("lengths that change again and again over a long life", long_life),
];

fn open<'w>(
    world: &dyn World,
    flaws: &'w Flaws,
    rule: Rule,
    buffering: Buffering,
) -> Result<Player<'w>, CommError> {
    let edges = torus_by_rank(world, balanced(world.ranks()));
    let mut player = Player::open(world, flaws, edges, rule, buffering, 1)?;
    player.pace = Pace::Skewed;
    Ok(player)
}

fn one_byte(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let mut player = open(world, flaws, Rule::Varying(1), buffering)?;
        for step in 1..=LAST_STEP {
            player.rounds(ROUNDS)?;
            player.negotiate(step, Growth::Grown)?;
        }
        player.rounds(ROUNDS)?;
        player.close()?;
    }
    Ok(())
}

/// Negotiates as at a neighbour rebuild in each step; fixed lengths begin with a few bytes,
/// variable ones with one.
fn every_exchange(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for (rule, buffering) in [(Rule::Fixed(1), Buffering::Double), (Rule::Varying(1), Buffering::Single)] {
        let mut player = open(world, flaws, rule, buffering)?;
        for step in 1..=LAST_STEP {
            player.play()?;
            player.negotiate(step, Growth::Grown)?;
        }
        player.play()?;
        player.close()?;
    }
    Ok(())
}

fn several_in_a_row(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Varying(1), Buffering::Double)?;
    for step in 1..=LAST_STEP {
        player.negotiate(step, Growth::Grown)?;
        player.negotiate(step, Growth::Unchanged)?;
    }
    player.rounds(ROUNDS)?;
    player.close()
}

fn one_rank_only(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for grower in 0..world.ranks() {
        let edges = ring(world, world.ranks());
        let mut player = Player::open(world, flaws, edges, Rule::Varying(1), Buffering::Single, 1)?;
        player.only_grower(grower);
        // The neighbours of the growing rank see the growth too.
        let sees = world.rank() == grower || player.script.edges.iter().any(|edge| edge.peer == grower);
        let growth = if sees { Growth::Grown } else { Growth::Unchanged };
        for step in 1..=2 {
            player.rounds(1)?;
            player.negotiate(step, growth)?;
        }
        player.rounds(ROUNDS)?;
        player.close()?;
    }
    Ok(())
}

/// Along a one-way chain the sender receives no messages from the receiver.
fn sender_first(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for (rule, buffering) in [(Rule::Fixed(1), Buffering::Double), (Rule::Varying(1), Buffering::Single)] {
        let mut player = Player::open(world, flaws, chain(world), rule, buffering, 1)?;
        let growth = if player.script.edges.is_empty() { Growth::Unchanged } else { Growth::Grown };
        for step in 1..=LAST_STEP {
            player.play()?;
            if world.rank() > 0 {
                std::thread::sleep(LATENESS);
            }
            player.negotiate(step, growth)?;
        }
        player.play()?;
        player.close()?;
    }
    Ok(())
}

fn fixed_lengths(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let mut player = open(world, flaws, Rule::Fixed(1), buffering)?;
        let growth_steps = [
            (2, Growth::Grown),
            (2, Growth::Unchanged),
            (1, Growth::Unchanged),
            (0, Growth::Unchanged),
            (3, Growth::Grown),
        ];
        for (step, growth) in growth_steps {
            player.rounds(2)?;
            player.negotiate(step, growth)?;
        }
        player.rounds(ROUNDS)?;
        player.close()?;
    }
    Ok(())
}

fn reverse_after_growth(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for rule in [Rule::Fixed(1), Rule::Varying(1)] {
        let edges = half_shell(world, balanced(world.ranks()));
        let mut forward = Player::open(world, flaws, edges, rule, Buffering::Single, 1)?;
        forward.negotiate(2, Growth::Grown)?;
        let mut reverse = forward.reversed(2)?;
        for _ in 0..ROUNDS {
            forward.play()?;
            reverse.play()?;
        }
        reverse.close()?;
        forward.close()?;
    }
    Ok(())
}

fn reverse_grows(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = half_shell(world, balanced(world.ranks()));
    let mut forward = Player::open(world, flaws, edges, Rule::Fixed(1), Buffering::Single, 1)?;
    let mut reverse = forward.reversed(2)?;
    for step in 1..=2 {
        forward.negotiate(step, Growth::Grown)?;
        reverse.negotiate(step, Growth::Grown)?;
        forward.rounds(2)?;
        reverse.rounds(2)?;
    }
    reverse.close()?;
    forward.close()
}

fn no_growth(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut player = open(world, flaws, Rule::Varying(50), Buffering::Single)?;
    for _ in 0..ROUNDS {
        player.play()?;
        player.negotiate(0, Growth::Unchanged)?;
    }
    player.close()
}

/// Long enough for a transport that chooses between others to choose, to find that the lengths have
/// changed, and to choose again.
fn long_life(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = half_shell(world, balanced(world.ranks()));
    let mut forward = Player::open(world, flaws, edges, Rule::Fixed(100), Buffering::Double, 1)?;
    let mut reverse = forward.reversed(2)?;
    for (step, growth) in [
        (0, Growth::Unchanged),
        (1, Growth::Grown),
        (1, Growth::Unchanged),
        (0, Growth::Unchanged),
        (1, Growth::Grown),
    ] {
        for _ in 0..SEASON {
            forward.play()?;
            reverse.play()?;
        }
        forward.negotiate(step, growth)?;
        reverse.negotiate(step, growth)?;
    }
    forward.rounds(2)?;
    reverse.rounds(2)?;
    reverse.close()?;
    forward.close()
}
