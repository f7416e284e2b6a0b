//! What the library calls a window.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_char;

use mpi::ffi;

use super::super::text_of;
use super::{Window, check};
use crate::CommError;

impl Window {
    /// The name the library has given the window, often none. Open MPI's components name theirs after themselves.
    /// MPI-3.1 section 6.8.
    pub(crate) fn name(&self) -> Result<String, CommError> {
        let mut text: [c_char; ffi::MPI_MAX_OBJECT_NAME as usize + 1] =
            [0; ffi::MPI_MAX_OBJECT_NAME as usize + 1];
        let mut length = 0;
        let Some(made) = self.made.first() else { return Ok(String::new()) };
        // SAFETY: a valid window; the buffer has the size the standard asks for, plus a terminator that stays zero.
        let code = unsafe { ffi::MPI_Win_get_name(made.raw, text.as_mut_ptr(), &raw mut length) };
        check("MPI_Win_get_name", code)?;
        Ok(text_of(&text))
    }
}
