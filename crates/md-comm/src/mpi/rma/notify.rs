//! `rma-notify`: put, flush, then a flag in the receiver's memory, which it polls.
//!
//! Structure: `start` puts; `initiate` completes all puts at their targets, replaces one flag word
//! per edge and flushes again, because a flag might never leave otherwise. The receiver polls its
//! flags for equality: with atomic loads (fast), or by `MPI_Fetch_and_op` on itself (strict), which
//! relies on nothing but the standard. Credits are words in the opposite direction.
//! Relies on: no order between two puts is promised, so the flag must wait for the flush (MPI-3.1
//! section 11.5.4; `flush_local` does not concern the target); accumulates of one word are atomic
//! (11.7.1). Fast polling also relies on the unified model, and on a word being stored in order or
//! in halves: Intel MPI stores it in pieces, which a load may see, and which can be recognised in
//! flags ([`crate::flag_protocol`]).
//! Cost: three latencies: put, its acknowledgement, flag; one if the network has put-with-notify,
//! which MPI lacks.
//! Advantage: no message matching, and each message is found as it arrives.
//! Disadvantage: two round trips on the sender's side; with software progress the flag waits until
//! the target calls MPI, hence the calls that drive progress while polling.

use std::sync::atomic::Ordering;

use super::super::ffi::Place;
use super::{Scheme, WindowContext};
use crate::{Backend, CommError, EdgeId};

/// Put and flag; `STRICT`: flags are polled with MPI calls.
#[derive(Debug)]
pub(crate) struct Notify<const STRICT: bool> {
    /// Receiving edges whose senders wait for credits.
    crediting: Vec<EdgeId>,
    sending: Vec<EdgeId>,
}

fn read<const STRICT: bool>(context: &WindowContext, offset: usize) -> Result<u64, CommError> {
    if !STRICT {
        return context.polled_word(offset);
    }
    let value = context.arena.window.fetch(Place { member: context.world.rank, offset })?;
    std::sync::atomic::fence(Ordering::SeqCst);
    Ok(value)
}

impl<const STRICT: bool> Scheme for Notify<STRICT> {
    const BACKEND: Backend = Backend::RmaNotify;

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        context.arena.window.hold_all()?;
        context.arena.window.sync()?;
        Ok(Self { crediting: context.crediting(), sending: context.sending().collect() })
    }

    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError> {
        context.has_credit(edge, read::<STRICT>)
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.raise_flags(&self.sending, WindowContext::flag_place)
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.poll_flags(read::<STRICT>)?;
        if context.any_noticed() && !context.arena.window.is_unified() {
            context.arena.window.sync()?;
        }
        Ok(())
    }

    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.return_credits(&self.crediting, WindowContext::credit)
    }
}
