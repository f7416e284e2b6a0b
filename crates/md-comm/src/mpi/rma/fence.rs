//! `rma-fence`: all ranks put between two fences.
//!
//! Structure: `start` puts; the first call that wants a message fences, which completes the puts of all ranks. With one
//! slot a second fence, in `complete`, tells everybody that the slots have been read; with two slots the next exchange
//! writes to the other slot, and the one fence also opens its epoch.
//! Relies on: a fence without assertions completes all puts at both ends and, because it closes an epoch with and opens
//! one for all ranks, orders them like a barrier (MPI-3.1 section 11.5.1). A fence with NOPRECEDE would not.
//! Cost: 2 log2(P) latencies per fence, and every rank waits for the slowest of all, not of its neighbours.
//! Advantage: nothing to track; no message per neighbour beside the data. Disadvantage: global, and blocking: contexts
//! must be used in the same order on all ranks, `try_next` blocks, and the watchdog does not see it.

use super::super::ffi::After;
use super::{Parts, Scheme};
use crate::{CommError, EdgeId};

/// Whether this exchange's fence has been passed.
#[derive(Debug)]
pub(in crate::mpi) struct Fence {
    passed: bool,
}

impl Fence {
    fn pass(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        if !self.passed {
            parts.arena.window.fence(After::Epoch)?;
            self.passed = true;
            parts.notice_all();
        }
        Ok(())
    }
}

impl Scheme for Fence {
    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        parts.arena.window.fence(After::Epoch)?;
        Ok(Self { passed: false })
    }

    fn may_pack(&mut self, _: &mut Parts, _: EdgeId) -> Result<bool, CommError> {
        Ok(true)
    }

    fn initiate(&mut self, _: &mut Parts) -> Result<(), CommError> {
        Ok(())
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.pass(parts)
    }

    /// A rank that receives nothing takes part in the fence all the same.
    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.pass(parts)?;
        self.passed = false;
        if parts.arena.slots < 2 { parts.arena.window.fence(After::Epoch) } else { Ok(()) }
    }

    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.arena.window.fence(After::Nothing)
    }
}
