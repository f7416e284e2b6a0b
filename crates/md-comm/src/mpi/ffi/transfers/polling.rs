//! Messages that end by themselves.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

use super::super::{byte, check, error_text};
use super::{Transfers, Way};
use crate::CommError;

impl Transfers {
    /// Lets MPI work and hands the numbers of finished messages to `done`; a received buffer then has the message's
    /// length. Never blocks. MPI-3.1 section 3.7.5.
    pub(crate) fn poll(&mut self, mut done: impl FnMut(usize)) -> Result<(), CommError> {
        if self.active == 0 {
            return Ok(());
        }
        let mut many = 0;
        // SAFETY: all arrays have as many entries as there are requests.
        let code = unsafe {
            ffi::MPI_Testsome(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                &raw mut many,
                self.finished.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        // A negative number (`MPI_UNDEFINED`) means that nothing was active.
        let many = usize::try_from(many).unwrap_or(0).min(self.requests.len());
        self.check_some(code, many)?;
        self.active -= many;
        for entry in 0..many {
            let i = self.finished[entry] as usize;
            self.pending[i] = false;
            if self.way == Way::In {
                self.set_received_length(i, entry)?;
            }
            done(i);
        }
        Ok(())
    }

    /// `MPI_Testsome` reports errors per message; the call's own code only says that there are some.
    fn check_some(&self, code: c_int, many: usize) -> Result<(), CommError> {
        let call = "MPI_Testsome";
        check(call, code).map_err(|general| {
            let single = self.statuses[..many].iter().map(|status| status.MPI_ERROR);
            let single = single.filter(|&error| error != ffi::MPI_SUCCESS as c_int).map(error_text).next();
            single.map_or(general, |message| CommError::Mpi { call, message })
        })
    }

    /// Cuts the buffer to what arrived.
    fn set_received_length(&mut self, i: usize, entry: usize) -> Result<(), CommError> {
        let mut length = 0;
        let status = &raw const self.statuses[entry];
        // SAFETY: the status was just written by the library.
        let code = unsafe { ffi::MPI_Get_count(status, byte(), &raw mut length) };
        check("MPI_Get_count", code)?;
        let length = usize::try_from(length).unwrap_or(0);
        let buffer = &mut self.buffers[i];
        buffer.set_length(length.min(buffer.capacity()));
        Ok(())
    }
}
