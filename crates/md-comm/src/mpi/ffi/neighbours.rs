//! Neighbourhood collectives on a communicator that contains the neighbours of each rank.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

use super::{Call, Communicator, byte, check, count, is_over, is_running, null_request};
use crate::{AlignedBuffer, CommError, Rank};

/// One direction of a neighbourhood: the ranks, and the piece of the buffer of each.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) ranks: Vec<Rank>,
    lengths: Vec<c_int>,
    offsets: Vec<c_int>,
    buffer: AlignedBuffer,
}

impl Side {
    /// Creates a side from the neighbours, each given once.
    pub(crate) fn new(ranks: Vec<Rank>) -> Self {
        let many = ranks.len();
        Self { ranks, lengths: vec![0; many], offsets: vec![0; many], buffer: AlignedBuffer::default() }
    }

    fn numbers(&self) -> Vec<c_int> {
        self.ranks.iter().map(|&rank| rank as c_int).collect()
    }
}

/// A neighbourhood with its buffers. At most one collective is under way; its buffers are not
/// handed out meanwhile.
#[derive(Debug)]
pub(crate) struct Neighbours {
    on: Communicator,
    pub(crate) to: Side,
    pub(crate) from: Side,
    request: ffi::MPI_Request,
}

impl Neighbours {
    /// Creates the neighbourhood. MPI-3.1 section 7.5.4. *Collective.*
    pub(crate) fn new(of: &Communicator, to: Side, from: Side) -> Result<Self, CommError> {
        let (sources, targets) = (from.numbers(), to.numbers());
        let no_reorder = 0;
        // SAFETY: the arrays have the lengths given. Weights are unused.
        // Test: suite.
        let on = Communicator::made(Call::MPI_Dist_graph_create_adjacent, |raw| unsafe {
            ffi::MPI_Dist_graph_create_adjacent(
                of.raw,
                sources.len() as c_int,
                sources.as_ptr(),
                ffi::RSMPI_UNWEIGHTED(),
                targets.len() as c_int,
                targets.as_ptr(),
                ffi::RSMPI_UNWEIGHTED(),
                ffi::RSMPI_INFO_NULL,
                no_reorder,
                raw,
            )
        })?;
        Ok(Self { on, to, from, request: null_request() })
    }

    /// Lays both buffers out with these lengths per neighbour, without gaps.
    pub(crate) fn lay_out(&mut self, to: &[usize], from: &[usize]) -> Result<(), CommError> {
        self.expect_idle()?;
        for (side, lengths) in [(&mut self.to, to), (&mut self.from, from)] {
            let mut end = 0;
            for (i, &length) in lengths.iter().enumerate().take(side.ranks.len()) {
                side.lengths[i] = count("MPI_Ineighbor_alltoallv", length)?;
                side.offsets[i] = count("MPI_Ineighbor_alltoallv", end)?;
                end += length;
            }
            side.buffer.set_length(end)?;
        }
        Ok(())
    }

    /// Returns the buffer of the outgoing data.
    pub(crate) fn outgoing(&mut self) -> Result<&mut [u8], CommError> {
        self.expect_idle()?;
        Ok(self.to.buffer.bytes_mut())
    }

    /// Returns the data that have arrived.
    pub(crate) fn incoming(&self) -> Result<&[u8], CommError> {
        self.expect_idle()?;
        Ok(self.from.buffer.bytes())
    }

    /// Starts the collective. MPI-3.1 section 7.7.2.
    pub(crate) fn exchange(&mut self) -> Result<(), CommError> {
        self.expect_idle()?;
        let Self { on, to, from, request } = self;
        // SAFETY: both buffers have the bytes that lengths and offsets describe (`lay_out`), and
        // neither they nor the arrays are touched until the request is over (`expect_idle`).
        // Test: suite, dropped.
        let code = unsafe {
            ffi::MPI_Ineighbor_alltoallv(
                to.buffer.bytes().as_ptr().cast(),
                to.lengths.as_ptr(),
                to.offsets.as_ptr(),
                byte(),
                from.buffer.bytes_mut().as_mut_ptr().cast(),
                from.lengths.as_ptr(),
                from.offsets.as_ptr(),
                byte(),
                on.raw,
                &raw mut *request,
            )
        };
        check("MPI_Ineighbor_alltoallv", code)
    }

    /// Returns whether the collective is over. Never blocks.
    pub(crate) fn is_over(&mut self) -> Result<bool, CommError> {
        is_over(&mut self.request)
    }

    /// Frees the communicator. *Collective.*
    pub(crate) fn free(&mut self) -> Result<(), CommError> {
        self.expect_idle()?;
        self.on.free()
    }

    fn expect_idle(&self) -> Result<(), CommError> {
        if self.request == null_request() {
            return Ok(());
        }
        let message = "the last collective is still under way".to_owned();
        Err(CommError::Mpi { call: "a buffer access", message })
    }
}

impl Drop for Neighbours {
    /// Leaks what a collective under way uses, because it cannot be cancelled.
    fn drop(&mut self) {
        if self.request != null_request() && is_running() {
            std::mem::forget(std::mem::take(&mut self.to));
            std::mem::forget(std::mem::take(&mut self.from));
        }
    }
}
