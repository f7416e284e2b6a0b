//! One-sided transports: every receiving edge has its buffers in a window of its rank, senders put
//! into them.
//!
//! Structure: [`OneSided`] is the contract, the same for all; [`Parts`] is what all have (ledger,
//! window, buffers); a [`Scheme`] is what tells them apart: how a sender learns that a buffer is
//! free, how a receiver learns that a message is complete. One file per scheme. After MONC (Brown
//! et al. 2020): one window per context, its addresses agreed when the context is opened; put, not
//! get; the next exchange's epoch is opened at the end of `complete`.
//!
//! Edges that lead back to the rank itself never touch the window: the arrival is the sender's own
//! buffer. A message that has outgrown its buffer goes by [`super::overflow`]; its true length,
//! more than the buffer has room for, tells so.
//!
//! Get instead of put: buffers are at the sender, which packs straight into its own part; whoever
//! knows that a message is packed reads it into a buffer of its own.
//!
//! Who may overwrite a buffer? With two buffers and a peer that also sends to this rank in every
//! exchange, the peer's message of exchange k-1 proves that it has completed k-2, whose buffer
//! exchange k uses: no further message is needed. In every other case (one buffer, one-way
//! neighbours) the receiver returns an explicit credit. Schemes that synchronise both ways by
//! themselves (fence, post/start) need neither.

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

/// How a window backend synchronises. No method but `poll` of a scheme that is defined by a
/// blocking collective waits for other ranks; `open`, `reopen`, `close` and `end` are *collective*.
pub(super) trait Scheme: Sized + std::fmt::Debug {
    /// What a scenario calls it.
    const BACKEND: Backend;

    /// Where messages are.
    const FORM: Form = Form::Buffers;

    /// Flag words per receiving edge beside those of the buffers.
    const FLAGS: usize = 0;

    /// Where the window's memory comes from.
    fn memory(options: RmaOptions) -> Memory {
        match options.window {
            WindowKind::Allocate => Memory::Allocated,
            WindowKind::Create => Memory::Created,
            WindowKind::Dynamic => Memory::Attached,
        }
    }

    /// Opens the first epoch of a new window.
    fn open(parts: &mut Parts) -> Result<Self, CommError>;

    /// The same after `close`; the window may be another one now.
    fn reopen(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        *self = Self::open(parts)?;
        Ok(())
    }

    /// Whether the edge's buffer of this exchange may be written.
    fn may_pack(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<bool, CommError>;

    /// Where the caller packs the edge's message.
    fn buffer<'p>(
        &mut self,
        parts: &'p mut Parts,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&'p mut [u8], CommError> {
        if parts.gets() { parts.own_buffer(edge, bytes) } else { parts.origin(edge, bytes) }
    }

    /// The edge is packed.
    fn start(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<(), CommError> {
        if parts.gets() { parts.offer(edge) } else { parts.put(edge) }
    }

    /// All edges are packed.
    fn initiate(&mut self, _: &mut Parts) -> Result<(), CommError> {
        Ok(())
    }

    /// Gives notice of the messages that have arrived.
    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError>;

    /// The buffers of this exchange are free again.
    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError>;

    /// Ends all epochs and messages; between two exchanges.
    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        parts.arena.window.unlock_all()
    }

    /// Gives back what it has beside the window, after the last `close`.
    fn end(&mut self) -> Result<(), CommError> {
        Ok(())
    }
}
