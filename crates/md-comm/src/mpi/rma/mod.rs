//! One-sided transports: every receiving edge has its buffers in a window of its rank, and senders
//! put into them.
//!
//! Structure: [`OneSided`] is the contract, the same for all; [`Parts`] is common to all (ledger,
//! window, buffers); a [`Scheme`] is the difference: how a sender is notified that a buffer is
//! free, and how a receiver is notified that a message is complete. One file per scheme. After MONC
//! (Brown et al. 2020): one window per context, its addresses agreed when the context is opened;
//! put, not get; the next exchange's epoch is opened at the end of `complete`.
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
mod fence;
#[cfg(feature = "conformance")]
mod flag_first;
mod flags;
mod lock;
mod message_barriers;
mod neighbour_barrier;
mod notify;
mod parts;
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
pub(super) use fence::Fence;
#[cfg(feature = "conformance")]
pub(super) use flag_first::FlagFirst;
pub(super) use lock::Lock;
pub(super) use message_barriers::MessageBarriers;
pub(super) use neighbour_barrier::NeighbourRanks;
pub(super) use notify::Notify;
use parts::Parts;
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
    fn open(parts: &mut Parts) -> Result<Self, CommError>;

    /// Opens the first epoch again after `close`; the window may be another one now.
    fn reopen(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        *self = Self::open(parts)?;
        Ok(())
    }

    /// Returns whether the edge's buffer of this exchange may be written.
    fn may_pack(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<bool, CommError>;

    /// Returns the buffer in which the caller packs the edge's message.
    fn buffer<'p>(
        &mut self,
        parts: &'p mut Parts,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&'p mut [u8], CommError> {
        if parts.gets() { parts.own_buffer(edge, bytes) } else { parts.origin(edge, bytes) }
    }

    /// Starts the edge, which is packed.
    fn start(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<(), CommError> {
        if parts.gets() { parts.offer(edge) } else { parts.put(edge) }
    }

    /// Initiates the exchange; all edges are packed.
    fn initiate(&mut self, _: &mut Parts) -> Result<(), CommError> {
        Ok(())
    }

    /// Records the messages that have arrived.
    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError>;

    /// Releases the buffers of this exchange.
    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError>;

    /// Ends all epochs and messages; between two exchanges.
    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.arena.window.unlock_all()
    }

    /// Frees what the scheme has beside the window, after the last `close`.
    fn end(&mut self) -> Result<(), CommError> {
        Ok(())
    }
}
