//! Non-blocking barriers on a communicator of their own.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use mpi::ffi;

use super::{Communicator, blank_status, check, null_request};
use crate::CommError;

/// At most one barrier is entered at a time. Collectives match by their order on a communicator; one per context lets
/// ranks use several contexts in different orders.
#[derive(Debug)]
pub(crate) struct Barriers {
    on: Communicator,
    request: ffi::MPI_Request,
}

impl Barriers {
    /// *Collective.*
    pub(crate) fn new(of: &Communicator) -> Result<Self, CommError> {
        Ok(Self { on: of.duplicate()?, request: null_request() })
    }

    /// Enters the next barrier; the last one must have been passed. MPI-3.1 section 5.12.1.
    pub(crate) fn enter(&mut self) -> Result<(), CommError> {
        if self.request != null_request() {
            let message = "the last barrier has not been passed".to_owned();
            return Err(CommError::Mpi { call: "MPI_Ibarrier", message });
        }
        // SAFETY: a valid communicator; the call uses no buffer.
        check("MPI_Ibarrier", unsafe { ffi::MPI_Ibarrier(self.on.raw, &raw mut self.request) })
    }

    /// Whether all ranks have entered; also if no barrier is entered. Never blocks.
    pub(crate) fn passed(&mut self) -> Result<bool, CommError> {
        if self.request == null_request() {
            return Ok(true);
        }
        let (mut done, mut status) = (0, blank_status());
        // SAFETY: the request is ours alone.
        let code = unsafe { ffi::MPI_Test(&raw mut self.request, &raw mut done, &raw mut status) };
        check("MPI_Test", code)?;
        Ok(done != 0)
    }

    /// Ends the communicator, with no barrier entered. *Collective.*
    pub(crate) fn free(&mut self) -> Result<(), CommError> {
        self.on.free()
    }
}
