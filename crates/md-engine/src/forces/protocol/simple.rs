//! `simple`: exchange of whole rows without requests.
//!
//! ```text
//! pairs with the first row  ->  first row to the previous rank  ->  other own pairs
//!   ->  row of the next rank arrives  ->  pairs with it  ->  that row goes back
//!   ->  own row comes back
//! ```
//!
//! Deadlock is impossible: each rank sends its row before it waits for another one, and returns the
//! other row before it waits for its own.

use md_comm::Rank;

use super::carry::Hold;
use super::portions::{Home, Portions};
use super::post::{Kind, Received, unknown};
use super::{Turn, unexpected};
use crate::clock::Phase;
use crate::error::EngineError;
use crate::forces::context::ForceContext;

/// Checks that at most one rank needs cells of this rank, that this rank needs cells of at most one
/// rank, and that no pair needs both kinds of cell.
pub(super) fn check(portions: &Portions) -> Result<(), EngineError> {
    let Portions { needs, owners, takers, .. } = portions;
    let mixes = |needs: &Vec<usize>| {
        let here = |&&shared: &&usize| matches!(portions.shared[shared].home, Home::Here(_));
        let own = needs.iter().filter(here).count();
        own > 0 && own < needs.len()
    };
    if owners.len() <= 1 && takers.len() <= 1 && !needs.iter().any(mixes) {
        return Ok(());
    }
    let what = "the protocol `simple` needs whole rows of cells, at least two for each rank".to_owned();
    Err(EngineError::Config(what))
}

/// Row that a portion depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    FirstRow,
    Inner,
    NextRow,
}

pub(super) fn add_forces(turn: &mut Turn) -> Result<(), EngineError> {
    compute(turn, Group::FirstRow);
    let (taker, owner) = (turn.portions.takers.first().copied(), turn.portions.owners.first().copied());
    if let Some(taker) = taker {
        send(turn, taker, Kind::Row)?;
    }
    compute(turn, Group::Inner);
    if let Some(owner) = owner {
        receive(turn, owner, Kind::Row)?;
        compute(turn, Group::NextRow);
        send(turn, owner, Kind::RowBack)?;
    }
    taker.map_or(Ok(()), |taker| receive(turn, taker, Kind::RowBack))
}

fn compute(turn: &mut Turn, wanted: Group) {
    let portions = turn.portions;
    for (portion, needs) in portions.needs.iter().enumerate() {
        let group = match needs.first().map(|&shared| &portions.shared[shared].home) {
            None => Group::Inner,
            Some(Home::Here(_)) => Group::FirstRow,
            Some(Home::At { .. }) => Group::NextRow,
        };
        if group == wanted {
            turn.compute(portion);
        }
    }
}

fn send(turn: &mut Turn, to: Rank, kind: Kind) -> Result<(), EngineError> {
    let Turn { portions, post, context, .. } = turn;
    let ForceContext { particles, cells, domain, clock, halo, .. } = &mut **context;
    let mut numbers = Vec::new();
    clock.time(Phase::HaloPack, || {
        let hold = Hold { particles, cells, domain };
        for shared in &portions.shared {
            match (&shared.home, kind) {
                (Home::Here(cell), Kind::Row) => hold.pack_out(*cell, &mut numbers),
                (Home::At { slots, .. }, Kind::RowBack) => hold.pack_back(slots, &mut numbers),
                _ => (),
            }
        }
    });
    clock.time(Phase::HaloTransfer, || post.send(unexpected(halo)?, to, (kind, 0), &numbers))
}

fn receive(turn: &mut Turn, from: Rank, kind: Kind) -> Result<(), EngineError> {
    // Where both rows are exchanged with one rank, the other row may arrive first.
    let received = loop {
        if let Some(place) = turn.kept.iter().position(|kept| kept.kind == kind) {
            break turn.kept.remove(place);
        }
        let next = turn.wait(&|| format!("a row of rank {from}"))?;
        turn.kept.push(next);
    };
    let Received { numbers, from: sender, .. } = received;
    let Turn { portions, context, .. } = turn;
    let ForceContext { particles, cells, domain, clock, .. } = &mut **context;
    let is_whole = clock.time(Phase::HaloUnpack, || {
        let mut hold = Hold { particles, cells, domain };
        let mut rest = &numbers[..];
        for (index, shared) in portions.shared.iter().enumerate() {
            let (width, is_meant) = match shared.home {
                Home::Here(_) => (hold.width_back(), kind == Kind::RowBack),
                Home::At { .. } => (hold.width_out(), kind == Kind::Row),
            };
            if !is_meant {
                continue;
            }
            let Some((own, others)) = rest.split_at_checked(width * portions.count(index, cells)) else {
                return false;
            };
            match &shared.home {
                Home::Here(cell) => hold.unpack_back(*cell, own),
                Home::At { slots, .. } => hold.unpack_out(slots, own),
            }
            rest = others;
        }
        rest.is_empty()
    });
    if is_whole && sender == from { Ok(()) } else { Err(unknown(sender)) }
}
