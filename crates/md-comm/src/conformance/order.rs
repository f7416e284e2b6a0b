//! Time and order: reverse contexts, several contexts at once, ranks out of step, polling.

use super::player::{Pace, Player, Receive, play_interleaved};
use super::script::Rule;
use super::topology::{balanced, chain, half_shell, ring, torus_by_rank};
use super::{Check, Flaws};
use crate::{Buffering, CommError, EdgeId, World};

const BYTES: usize = 100;
const FEW: usize = 8;
const MANY: usize = 400;

pub(super) const CHECKS: &[Check] = &[
    Check::new("reverse context alone", reverse_alone),
    Check::new("forward and reverse alternate as in a time step", forward_and_reverse),
    Check::new("contexts open at once and interleaved", interleaved),
    Check::new("a context opened after another was ended", reopened),
    Check::new("ranks out of step", skewed),
    Check::new("a sender runs ahead", sender_ahead),
    Check::new("receivers lag behind their senders", lagging),
    Check::new("polling with progress and try_next", polling),
    Check::new("hundreds of exchanges", hundreds),
    Check::new("an edge packed twice sends its last content", packed_twice),
];

fn reverse_alone(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for rule in [Rule::Fixed(BYTES), Rule::Varying(BYTES)] {
        let edges = half_shell(world, balanced(world.ranks()));
        let forward = Player::open(world, flaws, edges, rule, Buffering::Single, 1)?;
        let mut reverse = forward.reversed(2)?;
        reverse.rounds(FEW)?;
        reverse.close()?;
        forward.close()?;
    }
    Ok(())
}

fn forward_and_reverse(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let edges = half_shell(world, balanced(world.ranks()));
        let mut positions = Player::open(world, flaws, edges, Rule::Fixed(BYTES), buffering, 1)?;
        let mut forces = positions.reversed(2)?;
        (positions.pace, forces.pace) = (Pace::Skewed, Pace::Skewed);
        for _ in 0..FEW {
            positions.send()?;
            positions.receive(Receive::Waiting)?;
            forces.send()?;
            positions.complete()?;
            forces.receive(Receive::Waiting)?;
            forces.complete()?;
        }
        forces.close()?;
        positions.close()?;
    }
    Ok(())
}

fn interleaved(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let open = |salt, rule, buffering| {
        let edges = torus_by_rank(world, balanced(world.ranks()));
        Player::open(world, flaws, edges, rule, buffering, salt)
    };
    let mut players = [
        open(1, Rule::Fixed(BYTES), Buffering::Single)?,
        open(2, Rule::Varying(BYTES), Buffering::Double)?,
        open(3, Rule::Varying(BYTES), Buffering::Single)?,
    ];
    for round in 0..FEW {
        play_interleaved(world, &mut players, round)?;
    }
    players.into_iter().try_for_each(Player::close)
}

fn reopened(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for salt in 0..FEW as u64 {
        let mut player =
            Player::open(world, flaws, chain(world), Rule::Varying(BYTES), Buffering::Single, salt)?;
        player.pace = Pace::Skewed;
        player.rounds(2)?;
        player.close()?;
    }
    Ok(())
}

fn skewed(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let edges = torus_by_rank(world, balanced(world.ranks()));
        let mut player = Player::open(world, flaws, edges, Rule::Varying(BYTES), buffering, 1)?;
        player.pace = Pace::Skewed;
        player.rounds(10 * FEW)?;
        player.close()?;
    }
    Ok(())
}

/// One rank lags, another in each exchange; the others run as far ahead as the buffers allow, while
/// it still reads.
fn lagging(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        for edges in [chain(world), torus_by_rank(world, balanced(world.ranks()))] {
            let mut player = Player::open(world, flaws, edges, Rule::Fixed(BYTES), buffering, 1)?;
            for round in 0..5 * FEW {
                let lags = round % world.ranks() == world.rank();
                player.pace = if lags { Pace::Lagging } else { Pace::Steady };
                player.play()?;
            }
            player.close()?;
        }
    }
    Ok(())
}

/// On one-way edges only the buffers hold the first rank back: it gets as far ahead as they allow.
fn sender_ahead(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let mut player = Player::open(world, flaws, chain(world), Rule::Varying(BYTES), buffering, 1)?;
        if world.rank() > 0 {
            player.pace = Pace::Skewed;
        }
        player.rounds(10 * FEW)?;
        player.close()?;
    }
    Ok(())
}

fn polling(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let edges = half_shell(world, balanced(world.ranks()));
        let mut player = Player::open(world, flaws, edges, Rule::Varying(BYTES), buffering, 1)?;
        player.pace = Pace::Skewed;
        for _ in 0..FEW {
            player.exchange.progress()?;
            player.send()?;
            player.exchange.progress()?;
            player.receive(Receive::Polling)?;
            player.complete()?;
            player.exchange.progress()?;
        }
        player.close()?;
    }
    Ok(())
}

fn hundreds(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = ring(world, world.ranks());
    let mut player = Player::open(world, flaws, edges, Rule::Varying(BYTES), Buffering::Double, 1)?;
    player.rounds(MANY)?;
    player.close()
}

fn packed_twice(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = ring(world, world.ranks());
    let mut player = Player::open(world, flaws, edges, Rule::Varying(BYTES), Buffering::Single, 1)?;
    for _ in 0..FEW {
        player.exchange.send_buffer(EdgeId(0), BYTES)?.fill(0xEE);
        player.play()?;
    }
    player.close()
}
