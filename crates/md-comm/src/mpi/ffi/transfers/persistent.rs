//! Requests that are made once and started for every message.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the module of the raw calls")]

use std::ffi::c_int;

use mpi::ffi;

use super::{Transfers, Way};
use crate::CommError;
use crate::mpi::ffi::{byte, check, null_request};

/// The parameters for which a persistent request was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Envelope {
    pub(super) start: *mut u8,
    pub(super) length: c_int,
    pub(super) peer: c_int,
    pub(super) tag: c_int,
    pub(super) on: ffi::MPI_Comm,
}

impl Transfers {
    /// Makes every piece start from a persistent request, which is made anew only when its length
    /// or buffer changes.
    pub(crate) fn persistent(mut self) -> Self {
        self.kept = Some(vec![None; self.requests.len()]);
        self
    }

    /// Starts a piece from its persistent request. MPI-3.1 section 3.9. Not inlined, so that
    /// messages without one do not save the registers that it uses.
    #[inline(never)]
    pub(super) fn start_kept(&mut self, i: usize, envelope: Envelope) -> Result<(), CommError> {
        let old = self.kept.as_mut().and_then(|kept| kept[i].replace(envelope));
        if old != Some(envelope) {
            self.free_kept(i)?;
            self.make_kept(i, envelope)?;
        }
        // SAFETY: the request is persistent and inactive; its buffer, unchanged since it was made
        // or just described anew, obeys this type's invariant until the request is over.
        // Test: suite.
        check("MPI_Start", unsafe { ffi::MPI_Start(&raw mut self.requests[i]) })
    }

    fn make_kept(&mut self, i: usize, envelope: Envelope) -> Result<(), CommError> {
        let Envelope { start, length, peer, tag, on } = envelope;
        let (start, request) = (start.cast(), &raw mut self.requests[i]);
        // SAFETY: nothing is transferred yet; the buffer has `length` bytes whenever the request is
        // started, because another buffer or length makes another request.
        // Test: growth.
        let (call, code) = unsafe {
            match self.way {
                Way::Out => {
                    ("MPI_Send_init", ffi::MPI_Send_init(start, length, byte(), peer, tag, on, request))
                }
                Way::In => {
                    ("MPI_Recv_init", ffi::MPI_Recv_init(start, length, byte(), peer, tag, on, request))
                }
            }
        };
        check(call, code)
    }

    /// Frees an inactive persistent request.
    pub(super) fn free_kept(&mut self, i: usize) -> Result<(), CommError> {
        if self.states[i].is_active || self.requests[i] == null_request() {
            return Ok(());
        }
        // SAFETY: the request is neither null nor active; only persistent requests can be in that
        // state.
        // Test: growth.
        check("MPI_Request_free", unsafe { ffi::MPI_Request_free(&raw mut self.requests[i]) })
    }
}
