//! `shm`: senders write directly into the receiver's buffers in shared memory and raise a flag
//! there.
//!
//! Structure: a shared window over the ranks of one node. `send_buffer` is the receiver's buffer
//! itself, so that packing is the only copy; between cores that share no cache it is an origin
//! buffer, from which the message is streamed there (see `rehearsal`). `start` stores the flag with
//! release order, a receiver polls it with acquire order. Credits are words that the receiver
//! stores in the sender's part. Exchanges of every time step use more buffers in turn than a core's
//! caches hold (see `arena::depth`): a buffer used again at once would have to be claimed from its
//! reader's cache.
//! Relies on: `MPI_Win_allocate_shared` gives memory that loads and stores reach (MPI-3.1 section
//! 11.2.3), unified there; release and acquire order data and flag between processes as between
//! threads, and a fence orders streamed data.
//! Cost: one copy (streamed: two) and one or two transfers of a cache line, 0.1 to 0.3
//! microseconds; no MPI call except a rare one that drives progress.
//! Advantage: the fastest transport inside a node.
//! Disadvantage: only there; memory in /dev/shm (2 MiB per context of every time step), which
//! containers keep small; polling occupies a core.

use super::super::ffi::Memory;
use super::flags::flag;
use super::rehearsal::Stores;
use super::{Scheme, WindowContext};
use crate::flag_protocol::Word;
use crate::mpi::edge_words::Along;
use crate::{Backend, CommError, EdgeId, RmaOptions};

/// Flags in shared memory; all state is in the window.
#[derive(Debug)]
pub(crate) struct Shm;

fn read(context: &WindowContext, offset: usize) -> Result<u64, CommError> {
    Ok(context.arena.window.own_word(offset)?.observe())
}

impl Scheme for Shm {
    const BACKEND: Backend = Backend::Shm;

    fn memory(_: RmaOptions) -> Memory {
        Memory::Shared
    }

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        context.arena.window.hold_all()?;
        context.arena.window.sync()?;
        Ok(Self)
    }

    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError> {
        context.has_credit(edge, read)
    }

    fn buffer<'p>(
        &mut self,
        context: &'p mut WindowContext,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&'p mut [u8], CommError> {
        match context.stores() {
            Stores::Cached => {
                let payload = context.arena.payload_there(edge.0, context.sequence);
                context.arena.window.shared_buffer(payload, bytes)
            }
            Stores::Streaming => context.origin(edge, bytes),
        }
    }

    fn start(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<(), CommError> {
        if context.stores() == Stores::Streaming {
            context.stream(edge)?;
        }
        let place = context.arena.flag_there(edge.0, context.sequence);
        let flag = flag(context.sequence, context.length(edge));
        context.arena.window.shared_word(place)?.publish(flag);
        Ok(())
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.poll_flags(read)
    }

    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        for edge in context.receiving().filter(|&edge| context.needs_credit(edge, Along::Backward)) {
            let place = context.arena.credit_there(edge.0, context.sequence);
            context.arena.window.shared_word(place)?.publish(context.sequence);
        }
        Ok(())
    }
}
