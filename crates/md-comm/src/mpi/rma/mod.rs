//! One-sided transports: every receiving edge has its buffers in a window of its rank, and senders
//! put into them.
//!
//! Structure: [`OneSided`] is the contract, the same for all; [`WindowContext`] is common to all
//! (layout, window, buffers); a [`Scheme`] is the difference: how a sender is notified that a
//! buffer is free, and how a receiver is notified that a message is complete. One file per scheme.
//! After MONC (Brown et al. 2020): one window per context, its addresses agreed when the context is
//! opened; put, not get; the next exchange's epoch is opened at the end of `complete`.
//!
//! Edges that lead back to the rank itself never use the window: the arrival is the sender's own
//! buffer. A message that has outgrown its buffer goes by [`super::overflow`]; it is recognised by
//! its true length, which exceeds the room of the buffer.
//!
//! Get instead of put: buffers are at the sender, which packs directly into its own part. When the
//! receiver is notified that a message is packed, it reads the message into a buffer of its own.
//!
//! Reuse of buffers: with two buffers and a peer that also sends to this rank in every exchange,
//! the peer's message of exchange k-1 proves that it has completed k-2, whose buffer exchange k
//! uses: no further message is needed. In every other case (one buffer, one-way neighbours) the
//! receiver returns an explicit credit. Schemes that synchronise both ways by themselves (fence,
//! post/start) need neither.

mod access;
mod arena;
mod barrier;
mod context;
mod fence;
#[cfg(feature = "conformance")]
mod flag_first;
mod flags;
mod lock;
mod message_barriers;
mod neighbour_barrier;
mod notify;
mod pscw;
mod rehearsal;
mod ring;
mod shared_ring;
mod shm;
mod signals;
mod transport;

use super::ffi::Memory;
use crate::{Backend, CommError, EdgeId, RmaOptions, WindowKind};
use arena::Form;
pub(super) use barrier::{AllRanks, Barrier};
use context::WindowContext;
pub(super) use fence::Fence;
#[cfg(feature = "conformance")]
pub(super) use flag_first::FlagFirst;
pub(super) use lock::Lock;
pub(super) use message_barriers::MessageBarriers;
pub(super) use neighbour_barrier::NeighbourRanks;
pub(super) use notify::Notify;
pub(super) use pscw::Pscw;
pub(super) use ring::Ring;
pub(super) use shared_ring::SharedRing;
pub(super) use shm::Shm;
pub(super) use transport::OneSided;

/// The synchronisation of a window backend. No method waits for other ranks, except `poll` of a
/// scheme that is defined by a blocking collective; `open`, `reopen`, `close` and `end` are
/// *collective*.
pub(super) trait Scheme: Sized + std::fmt::Debug {
    /// Name in a scenario.
    const BACKEND: Backend;

    /// Location of messages.
    const FORM: Form = Form::Buffers;

    /// Flag words per receiving edge beside those of the buffers.
    const FLAGS: usize = 0;

    /// Returns the origin of the window's memory.
    fn memory(options: RmaOptions) -> Memory {
        match options.window {
            WindowKind::Allocate => Memory::Allocated,
            WindowKind::Create => Memory::Created,
            WindowKind::Dynamic => Memory::Attached,
        }
    }

    /// Opens the first epoch of a new window.
    fn open(context: &mut WindowContext) -> Result<Self, CommError>;

    /// Opens the first epoch again after `close`; the window may be another one now.
    fn reopen(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        *self = Self::open(context)?;
        Ok(())
    }

    /// Returns whether the edge's buffer of this exchange may be written.
    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError>;

    /// Returns the buffer in which the caller packs the edge's message.
    fn buffer<'p>(
        &mut self,
        context: &'p mut WindowContext,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&'p mut [u8], CommError> {
        if context.gets() { context.own_buffer(edge, bytes) } else { context.origin(edge, bytes) }
    }

    /// Starts the edge, which is packed.
    fn start(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<(), CommError> {
        if context.gets() { context.offer(edge) } else { context.put(edge) }
    }

    /// Initiates the exchange; all edges are packed.
    fn initiate(&mut self, _: &mut WindowContext) -> Result<(), CommError> {
        Ok(())
    }

    /// Records the messages that have arrived.
    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError>;

    /// Releases the buffers of this exchange.
    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError>;

    /// Ends all epochs and messages; between two exchanges.
    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.arena.window.unlock_all()
    }

    /// Frees what the scheme has beside the window, after the last `close`.
    fn end(&mut self) -> Result<(), CommError> {
        Ok(())
    }
}
