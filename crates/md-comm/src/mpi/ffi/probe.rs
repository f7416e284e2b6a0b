//! Messages from any rank: a matched probe, and the receive of the message that it has found.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

use super::{Call, Communicator, blank_status, byte, check, guarded_to};
use crate::{AlignedBuffer, CommError, Rank};

impl Communicator {
    /// Receives a message with this tag from any rank, if there is one. The receive of a long
    /// message lasts until its sender has called the library. MPI-3.1 section 3.8.2.
    pub(crate) fn take_any(&self, tag: c_int) -> Result<Option<(Rank, AlignedBuffer)>, CommError> {
        let (mut found, mut length, mut status) = (0, 0, blank_status());
        // SAFETY: reading a constant of the C library; the call overwrites it.
        // Test: suite.
        let mut message = unsafe { ffi::RSMPI_MESSAGE_NULL };
        // SAFETY: a valid communicator; a flag, a handle and a status are written, the latter two
        // only if the flag is set.
        // Test: suite.
        let code = unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            ffi::MPI_Improbe(any, tag, self.raw, &raw mut found, &raw mut message, &raw mut status)
        };
        check("MPI_Improbe", code)?;
        if found == 0 {
            return Ok(None);
        }
        // SAFETY: the status was just written by the library.
        // Test: suite.
        check("MPI_Get_count", unsafe { ffi::MPI_Get_count(&raw const status, byte(), &raw mut length) })?;
        let mut bytes = AlignedBuffer::new(usize::try_from(length).unwrap_or(0))?;
        let (from, start) = (status.MPI_SOURCE as Rank, bytes.bytes_mut().as_mut_ptr().cast());
        // SAFETY: the buffer has `length` bytes, which is what the matched message has; the handle
        // is that of the probe and is used up.
        // Test: suite.
        guarded_to(Call::MPI_Mrecv, from, || unsafe {
            ffi::MPI_Mrecv(start, length, byte(), &raw mut message, &raw mut status)
        })?;
        Ok(Some((from, bytes)))
    }
}
