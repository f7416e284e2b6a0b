//! A set of ranks, for post and start.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

use super::{Communicator, check, is_running};
use crate::{CommError, Rank};

/// Some ranks of a communicator.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) raw: ffi::MPI_Group,
    empty: bool,
}

impl Group {
    /// These ranks, each once. MPI-3.1 section 6.3.2.
    pub(crate) fn new(of: &Communicator, mut ranks: Vec<Rank>) -> Result<Self, CommError> {
        ranks.sort_unstable();
        ranks.dedup();
        let ranks: Vec<c_int> = ranks.into_iter().map(|rank| rank as c_int).collect();
        // SAFETY: a valid communicator; the ranks are distinct and were checked against its size by the spec.
        unsafe {
            let (mut all, mut raw) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
            check("MPI_Comm_group", ffi::MPI_Comm_group(of.raw, &raw mut all))?;
            let code = ffi::MPI_Group_incl(all, ranks.len() as c_int, ranks.as_ptr(), &raw mut raw);
            ffi::MPI_Group_free(&raw mut all);
            check("MPI_Group_incl", code)?;
            Ok(Self { raw, empty: ranks.is_empty() })
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.empty
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // An empty group may be the predefined one.
        if !self.empty && is_running() {
            // SAFETY: made by `new` and not freed yet; the call is local.
            unsafe { ffi::MPI_Group_free(&raw mut self.raw) };
        }
    }
}
