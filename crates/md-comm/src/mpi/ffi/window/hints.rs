//! What the library may assume of a window.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::CStr;

use mpi::ffi;

use super::{Memory, check};
use crate::CommError;

/// What the library may assume. Flags are single words written by one rank each, so no order among accumulates is
/// needed; parts of a shared window on pages of their own can lie next to the rank that reads them.
pub(super) struct Hints(pub(super) ffi::MPI_Info);

impl Hints {
    pub(super) fn new(memory: Memory) -> Result<Self, CommError> {
        let for_all: [(&CStr, &CStr); 2] = [(c"same_disp_unit", c"true"), (c"accumulate_ordering", c"none")];
        let for_shared: [(&CStr, &CStr); 1] = [(c"alloc_shared_noncontig", c"true")];
        let pairs: &[(&CStr, &CStr)] = if memory == Memory::Shared { &for_shared } else { &for_all };
        // SAFETY: reading a constant of the C library; the calls copy terminated strings.
        unsafe {
            let mut info = ffi::RSMPI_INFO_NULL;
            check("MPI_Info_create", ffi::MPI_Info_create(&raw mut info))?;
            let hints = Self(info);
            for (key, value) in pairs {
                check("MPI_Info_set", ffi::MPI_Info_set(hints.0, key.as_ptr(), value.as_ptr()))?;
            }
            Ok(hints)
        }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: made by `new` and not freed yet; the call is local, and windows keep copies.
        unsafe { ffi::MPI_Info_free(&raw mut self.0) };
    }
}
