//! `dist`: cells on request. [`machine`] decides what to do; this module does it.

mod machine;
#[cfg(test)]
mod model;

use md_comm::Rank;

use super::carry::Hold;
use super::portions::{Home, Portions};
use super::post::{Kind, Received, unknown};
use super::{Turn, unexpected};
use crate::clock::Phase;
use crate::error::EngineError;
use crate::forces::context::ForceContext;
use machine::{Machine, Next, Said};

/// `dist` on this rank.
#[derive(Debug, Default)]
pub(super) struct Dist {
    machine: Machine,
    numbers: Vec<f64>,
}

impl Dist {
    pub(super) fn rebuild(&mut self, portions: &Portions, rank: Rank) {
        let owner = |home: &Home| match home {
            Home::Here(_) => rank,
            Home::At { owner, .. } => *owner,
        };
        let owners = portions.shared.iter().map(|shared| owner(&shared.home));
        self.machine = Machine::new(
            rank,
            owners,
            portions.needs.clone(),
            portions.owners.clone(),
            portions.takers.len(),
        );
    }

    /// Computes all portions. Messages are read between portions, and waited for if there is no
    /// other work.
    pub(super) fn add_forces(&mut self, turn: &mut Turn) -> Result<(), EngineError> {
        self.machine.begin();
        loop {
            while let Some(received) = take(turn)? {
                self.receive(turn, &received)?;
            }
            match self.machine.advance() {
                Next::Compute(portion) => {
                    turn.compute(portion);
                    self.machine.computed(portion);
                    self.speak(turn)?;
                }
                Next::Wait => {
                    self.speak(turn)?;
                    let received = turn.wait(&|| "cells of other ranks".to_owned())?;
                    self.receive(turn, &received)?;
                }
                Next::Over => return self.speak(turn),
            }
        }
    }

    fn receive(&mut self, turn: &mut Turn, received: &Received) -> Result<(), EngineError> {
        let &Received { from, kind, number, ref numbers } = received;
        let shared = &turn.portions.shared;
        let index = match kind {
            Kind::Over | Kind::Closed => 0,
            _ => shared.binary_search_by_key(&number, |cell| cell.number).map_err(|_| unknown(from))?,
        };
        if matches!(kind, Kind::Grant | Kind::Return) {
            unpack(turn, index, numbers, from)?;
        }
        self.machine.receive(from, kind, index);
        self.speak(turn)
    }

    /// Sends the messages of the machine at once, so that a cell leaves in its present state.
    fn speak(&mut self, turn: &mut Turn) -> Result<(), EngineError> {
        let Turn { portions, post, context, .. } = turn;
        let ForceContext { particles, cells, domain, clock, halo, .. } = &mut **context;
        for Said { to, kind, cell } in self.machine.outbox.drain(..) {
            self.numbers.clear();
            let shared = portions.shared.get(cell);
            clock.time(Phase::HaloPack, || {
                let hold = Hold { particles, cells, domain };
                match (shared.map(|shared| &shared.home), kind) {
                    (Some(Home::Here(cell)), Kind::Grant) => hold.pack_out(*cell, &mut self.numbers),
                    (Some(Home::At { slots, .. }), Kind::Return) => hold.pack_back(slots, &mut self.numbers),
                    _ => (),
                }
            });
            let number = shared.map_or(0, |shared| shared.number);
            let said = (kind, number);
            clock.time(Phase::HaloTransfer, || post.send(unexpected(halo)?, to, said, &self.numbers))?;
        }
        Ok(())
    }
}

fn take(turn: &mut Turn) -> Result<Option<Received>, EngineError> {
    let Turn { post, context, .. } = turn;
    let ForceContext { halo, clock, .. } = &mut **context;
    clock.time(Phase::HaloTransfer, || post.take(unexpected(halo)?))
}

fn unpack(turn: &mut Turn, index: usize, numbers: &[f64], from: Rank) -> Result<(), EngineError> {
    let Turn { portions, context, .. } = turn;
    let ForceContext { particles, cells, domain, clock, .. } = &mut **context;
    clock.time(Phase::HaloUnpack, || {
        let mut hold = Hold { particles, cells, domain };
        if !hold.fits(portions, index, numbers) {
            return Err(unknown(from));
        }
        match &portions.shared[index].home {
            Home::Here(cell) => hold.unpack_back(*cell, numbers),
            Home::At { slots, .. } => hold.unpack_out(slots, numbers),
        }
        Ok(())
    })
}
