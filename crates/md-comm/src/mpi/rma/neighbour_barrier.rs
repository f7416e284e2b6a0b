//! `rma-lock` and `rma-lock-epoch` with `notice = "neighbor-barrier"`: a barrier among neighbours
//! in place of empty messages; with a lock per exchange it is the naive form of passive target that
//! MONC began with (Brown et al. 2020).
//!
//! Structure: that of [`super::Barrier`]. The barrier is a neighbourhood collective along the
//! edges, in both directions whatever the direction of the messages, so that it also shows that
//! buffers have been read. It carries a byte per neighbour.
//! Relies on: flush and unlock complete puts at their targets (MPI-3.1 sections 11.5.3, 11.5.4);
//! the collective is over on no rank before its neighbours have called it, because it brings a byte
//! from each (section 7.6).
//! Cost: put and acknowledgement, then the slowest neighbour's byte.
//! Advantage: one call in place of a message per edge, no credits.
//! Disadvantage: no message is found before the last one has arrived.

use super::super::ffi::{Neighbours, Side};
use super::WindowContext;
use super::access::Epoch;
use super::barrier::Meeting;
use crate::{Backend, CommError};

/// Barriers among neighbours; `HELD`: the lock lasts as long as the window.
#[derive(Debug)]
pub(crate) struct NeighbourRanks<const HELD: bool>(Neighbours);

impl<const HELD: bool> Meeting for NeighbourRanks<HELD> {
    const BACKEND: Backend = if HELD { Backend::RmaLock } else { Backend::RmaLockEpoch };
    const EPOCH: Epoch = if HELD { Epoch::Window } else { Epoch::Exchange };
    const OTHERS: &'static str = "the neighbours";

    fn open(context: &WindowContext) -> Result<Self, CommError> {
        let edges = context.layout.edge_ids().filter(|&edge| !context.is_to_self(edge));
        let mut ranks: Vec<_> = edges.map(|edge| context.edge(edge).peer).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let bytes = vec![1; ranks.len()];
        let sides = [ranks.clone(), ranks].map(Side::new);
        let [to, from] = sides;
        let mut neighbours = Neighbours::new(&context.world.communicator, to, from)?;
        neighbours.lay_out(&bytes, &bytes)?;
        Ok(Self(neighbours))
    }

    fn enter(&mut self) -> Result<(), CommError> {
        self.0.exchange()
    }

    fn passed(&mut self) -> Result<bool, CommError> {
        self.0.is_over()
    }

    fn end(&mut self) -> Result<(), CommError> {
        self.0.free()
    }
}
