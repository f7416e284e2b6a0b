//! `rma-barrier` with `barriers = "per-message"`: a global barrier before and after each put (the
//! "Hybrid-Barrier" of the miniMD study, Li et al.).
//!
//! Structure: all ranks agree on the largest number of messages that one of them sends, which is
//! the number of rounds of an exchange. A round is a barrier, a put with flush on each rank that
//! has a message left, and a barrier. `initiate` enters the first barrier, and `poll` advances as
//! the others allow. After the last barrier everything has arrived. The first one shows that all
//! buffers have been read.
//! Relies on: the same as `rma-barrier`.
//! Cost: per message put, acknowledgement, and twice the ceil(log2 P) latencies of a barrier, for
//! each message in turn.
//! Advantage: none; it is what blocking sends and receives become when each is replaced by a put.
//! Disadvantage: rounds advance only in calls of their own context, so that contexts must be used
//! in the same order on all ranks.

use super::super::ffi::Barriers;
use super::access::{Access, Epoch};
use super::{Scheme, WindowContext};
use crate::{Backend, CommError, EdgeId};

/// Progress of this exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Edges are being packed, or everything has arrived.
    Open,
    /// In the barrier before the put of a round.
    Before(usize),
    /// In the barrier after it.
    Behind(usize),
}

/// Rounds of one context.
#[derive(Debug)]
pub(crate) struct MessageBarriers {
    barriers: Barriers,
    access: Access,
    /// Sending edges in the order of their rounds.
    sending: Vec<EdgeId>,
    /// Number of rounds, the same on all ranks.
    rounds: usize,
    phase: Phase,
}

impl MessageBarriers {
    /// Advances as far as the other ranks allow.
    fn advance(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        while self.phase != Phase::Open && self.barriers.passed()? {
            match self.phase {
                Phase::Open => (),
                Phase::Before(round) => {
                    if let Some(&edge) = self.sending.get(round) {
                        context.jitter.pause();
                        context.put(edge)?;
                        self.access.finish_puts(context)?;
                    }
                    self.barriers.enter()?;
                    self.phase = Phase::Behind(round);
                }
                Phase::Behind(round) => self.begin(context, round + 1)?,
            }
        }
        Ok(())
    }

    /// Begins a round, or records that everything has arrived after the last one.
    fn begin(&mut self, context: &mut WindowContext, round: usize) -> Result<(), CommError> {
        if round < self.rounds {
            self.phase = Phase::Before(round);
            return self.barriers.enter();
        }
        self.phase = Phase::Open;
        Access::see_puts(context)?;
        context.notice_all();
        Ok(())
    }
}

impl Scheme for MessageBarriers {
    const BACKEND: Backend = Backend::RmaBarrier;

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        let sending: Vec<_> = context.sending().collect();
        let rounds = context.world.highest(sending.len() as u64)? as usize;
        let access = Access::open(context, Epoch::Window)?;
        let barriers = Barriers::new(&context.world.communicator)?;
        Ok(Self { barriers, access, sending, rounds, phase: Phase::Open })
    }

    /// Opens the epoch again; communicator and rounds stay.
    fn reopen(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.access = Access::open(context, Epoch::Window)?;
        Ok(())
    }

    fn may_pack(&mut self, _: &mut WindowContext, _: EdgeId) -> Result<bool, CommError> {
        Ok(true)
    }

    /// Does nothing: the edge is put in its round.
    fn start(&mut self, _: &mut WindowContext, _: EdgeId) -> Result<(), CommError> {
        Ok(())
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.begin(context, 0)?;
        self.advance(context)
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.advance(context)
    }

    /// Waits for the barriers, which a rank that receives nothing has not tested yet.
    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.wait_for("all ranks", |context| {
            self.advance(context)?;
            Ok(self.phase == Phase::Open)
        })
    }

    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.access.end(context)
    }

    fn end(&mut self) -> Result<(), CommError> {
        self.barriers.free()
    }
}
