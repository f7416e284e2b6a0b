//! Windows to which memory is attached after they have been made.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use mpi::ffi;

use super::making::Made;
use super::{Memory, check};
use crate::CommError;
use crate::mpi::ffi::{Communicator, Limit};

impl Made {
    /// Attaches the memory and says where it is. MPI-3.1 section 11.2.4.
    pub(super) fn attach(&mut self, extent: usize) -> Result<ffi::MPI_Aint, CommError> {
        let mut address: ffi::MPI_Aint = 0;
        // SAFETY: the memory has `extent` bytes and is kept by the owner until the window is freed.
        unsafe {
            let code = ffi::MPI_Win_attach(self.raw, self.base.cast(), extent as ffi::MPI_Aint);
            check("MPI_Win_attach", code)?;
            check("MPI_Get_address", ffi::MPI_Get_address(self.base.cast(), &raw mut address))?;
        }
        Ok(address)
    }

    /// Learns where the others have attached memory. *Collective.*
    pub(super) fn find_addresses(
        &mut self,
        on: &Communicator,
        mine: ffi::MPI_Aint,
        limit: Limit,
    ) -> Result<(), CommError> {
        if self.memory == Memory::Attached {
            let (_, members) = on.rank_and_ranks()?;
            let all = on.gather_all((mine as i64).to_ne_bytes().to_vec(), members, limit)?;
            let all = bytemuck::pod_collect_to_vec::<u8, i64>(&all);
            self.addresses = all.into_iter().map(|address| address as ffi::MPI_Aint).collect();
        }
        Ok(())
    }
}
