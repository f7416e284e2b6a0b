//! Messages longer than the capacity of their edge: they arrive all the same, and the next
//! negotiation makes room.

use super::player::{Pace, Player, Receive, play_interleaved};
use super::script::Rule;
use super::topology::{balanced, chain, half_shell, ring, torus_by_rank};
use super::{Check, Flaws};
use crate::{Buffering, CommError, Edge, Growth, World};

const BYTES: usize = 40;
const ROUNDS: usize = 4;
/// Steps of growth; the last one has messages that no library sends before they are asked for.
const LAST_STEP: u32 = 4;

pub(super) const CHECKS: &[Check] = &[
    Check::new("messages outgrow their capacity", outgrow),
    Check::new("a sender of long messages runs ahead", sender_ahead),
    Check::new("long messages in reverse contexts", reverse),
    Check::new("long messages by polling", polling),
    Check::new("long messages in interleaved contexts", interleaved),
    Check::new("an edge packed twice, longer or shorter", packed_twice),
];

fn open<'w>(
    world: &dyn World,
    flaws: &'w Flaws,
    edges: Vec<Edge>,
    buffering: Buffering,
    salt: u64,
) -> Result<Player<'w>, CommError> {
    let mut player = Player::open_too_small(world, flaws, edges, Rule::Varying(BYTES), buffering, salt)?;
    player.pace = Pace::Skewed;
    Ok(player)
}

/// Negotiates. Capacities that were too small, on this rank or towards it, must have grown.
fn catch_up(world: &dyn World, player: &mut Player<'_>) -> Result<(), CommError> {
    let towards = |peer| u8::from(player.has_outgrown_towards(|to| to == peer));
    let mine: Vec<u8> = (0..world.ranks()).map(towards).collect();
    let all = world.gather_all(&mine)?;
    let towards_this = all.iter().skip(world.rank()).step_by(world.ranks()).any(|&outgrown| outgrown > 0);
    let grown = player.has_outgrown() || towards_this;
    player.catch_up(if grown { Growth::Grown } else { Growth::Unchanged })
}

fn outgrow(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let edges = torus_by_rank(world, balanced(world.ranks()));
        let mut player = open(world, flaws, edges, buffering, 1)?;
        for step in 0..=LAST_STEP {
            player.script.step = step;
            player.rounds(ROUNDS)?;
            let long = player.has_outgrown() || player.script.edges.is_empty();
            flaws.expect(long, || format!("growth step {step}: no message was too long"));
            catch_up(world, &mut player)?;
            player.catch_up(Growth::Unchanged)?;
        }
        player.rounds(ROUNDS)?;
        player.close()?;
    }
    Ok(())
}

/// Along a one-way chain only the buffers hold the first rank back.
fn sender_ahead(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let mut player = open(world, flaws, chain(world), buffering, 1)?;
        if world.rank() == 0 {
            player.pace = Pace::Steady;
        }
        player.script.step = LAST_STEP;
        player.rounds(10 * ROUNDS)?;
        catch_up(world, &mut player)?;
        player.rounds(ROUNDS)?;
        player.close()?;
    }
    Ok(())
}

fn reverse(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = half_shell(world, balanced(world.ranks()));
    let mut forward = open(world, flaws, edges, Buffering::Double, 1)?;
    let mut back = forward.reversed(2)?;
    for step in 0..LAST_STEP {
        (forward.script.step, back.script.step) = (step, step);
        forward.rounds(2)?;
        back.rounds(2)?;
        catch_up(world, &mut forward)?;
        catch_up(world, &mut back)?;
    }
    back.close()?;
    forward.close()
}

fn polling(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for buffering in [Buffering::Single, Buffering::Double] {
        let edges = half_shell(world, balanced(world.ranks()));
        let mut player = open(world, flaws, edges, buffering, 1)?;
        player.script.step = LAST_STEP;
        for _ in 0..ROUNDS {
            player.send()?;
            player.exchange.progress()?;
            player.receive(Receive::Polling)?;
            player.complete()?;
        }
        player.close()?;
    }
    Ok(())
}

/// Long messages of one context are under way while another waits for its own, in another order on
/// every rank.
fn interleaved(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let open = |salt, buffering| {
        let edges = torus_by_rank(world, balanced(world.ranks()));
        open(world, flaws, edges, buffering, salt)
    };
    let mut players = [open(1, Buffering::Single)?, open(2, Buffering::Double)?, open(3, Buffering::Single)?];
    players.iter_mut().for_each(|player| player.script.step = LAST_STEP);
    for round in 0..ROUNDS {
        play_interleaved(world, &mut players, round)?;
    }
    players.into_iter().try_for_each(Player::close)
}

/// Whether a message fits is decided when it is started.
fn packed_twice(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let edges = ring(world, world.ranks());
    let mut player = Player::open(world, flaws, edges, Rule::Varying(BYTES), Buffering::Double, 1)?;
    for step in [0, 2] {
        player.script.step = step;
        for first in [0, BYTES, 100 * BYTES] {
            player.exchange.send_buffer(crate::EdgeId(0), first)?.fill(0xEE);
            player.play()?;
        }
    }
    player.close()
}
