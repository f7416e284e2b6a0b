//! Point-to-point requests together with the buffers they use.
//!
//! Invariant: while `requests[i]` is active (`pending[i]`), `buffers[i]` is neither moved in memory, resized, nor handed out. (Moving
//! the `Transfers` value moves only the vectors' headers, not the blocks MPI points to.)
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

mod ending;
mod kept;
mod polling;

use std::ffi::c_int;
use std::marker::PhantomData;

use mpi::ffi;

use super::{Communicator, blank_status, byte, check, count, null_request};
use crate::{AlignedBuffer, CommError, Rank};
pub(crate) use ending::Cancelled;
use kept::Envelope;

/// Which way the messages of a set go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

/// A numbered set of buffers, each with at most one pending message.
#[derive(Debug)]
pub(crate) struct Transfers {
    way: Way,
    buffers: Vec<AlignedBuffer>,
    requests: Vec<ffi::MPI_Request>,
    /// Which requests are active: an idle persistent one is not null either.
    pending: Vec<bool>,
    /// What the persistent requests are for; `None`: every message has a request of its own.
    kept: Option<Vec<Option<Envelope>>>,
    active: usize,
    finished: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
    one_thread: PhantomData<*mut ()>,
}

impl Transfers {
    /// Buffers of these lengths to send from, nothing pending.
    pub(crate) fn outgoing(lengths: impl Iterator<Item = usize>) -> Self {
        Self::new(Way::Out, lengths)
    }

    /// Buffers of these lengths to receive into, nothing pending.
    pub(crate) fn incoming(lengths: impl Iterator<Item = usize>) -> Self {
        Self::new(Way::In, lengths)
    }

    fn new(way: Way, lengths: impl Iterator<Item = usize>) -> Self {
        let buffers: Vec<_> = lengths.map(AlignedBuffer::new).collect();
        let many = buffers.len();
        Self {
            way,
            buffers,
            requests: vec![null_request(); many],
            pending: vec![false; many],
            kept: None,
            active: 0,
            finished: vec![0; many],
            statuses: vec![blank_status(); many],
            one_thread: PhantomData,
        }
    }

    pub(crate) fn is_active(&self, i: usize) -> bool {
        self.pending[i]
    }

    pub(crate) fn any_active(&self) -> bool {
        self.active > 0
    }

    /// The buffer of a message that is not under way.
    pub(crate) fn bytes(&self, i: usize) -> Result<&[u8], CommError> {
        self.expect_inactive(i)?;
        Ok(self.buffers[i].bytes())
    }

    /// The buffer of a message that is not under way, with so many bytes.
    pub(crate) fn bytes_mut(&mut self, i: usize, length: usize) -> Result<&mut [u8], CommError> {
        self.expect_inactive(i)?;
        self.buffers[i].set_length(length);
        Ok(self.buffers[i].bytes_mut())
    }

    /// Sends the buffer as it is. MPI-3.1 section 3.7.2.
    pub(crate) fn send(
        &mut self,
        i: usize,
        on: &Communicator,
        to: Rank,
        tag: c_int,
    ) -> Result<(), CommError> {
        self.expect_inactive(i)?;
        let bytes = self.buffers[i].bytes_mut();
        let length = count("MPI_Isend", bytes.len())?;
        if self.kept.is_some() {
            let (start, peer) = (bytes.as_mut_ptr(), to as c_int);
            self.start_kept(i, Envelope { start, length, peer, tag, on: on.raw })?;
            return self.started(i);
        }
        let request = &raw mut self.requests[i];
        // SAFETY: the buffer has `length` bytes and obeys this type's invariant until the request is over.
        let code = unsafe {
            ffi::MPI_Isend(bytes.as_ptr().cast(), length, byte(), to as c_int, tag, on.raw, request)
        };
        check("MPI_Isend", code)?;
        self.started(i)
    }

    /// Posts a receive of up to `most` bytes. MPI-3.1 section 3.7.2.
    pub(crate) fn receive(
        &mut self,
        i: usize,
        on: &Communicator,
        from: Rank,
        tag: c_int,
        most: usize,
    ) -> Result<(), CommError> {
        let length = count("MPI_Irecv", most)?;
        let start = self.bytes_mut(i, most)?.as_mut_ptr();
        if self.kept.is_some() {
            self.start_kept(i, Envelope { start, length, peer: from as c_int, tag, on: on.raw })?;
            return self.started(i);
        }
        let start = start.cast();
        let request = &raw mut self.requests[i];
        // SAFETY: the buffer has `length` bytes and obeys this type's invariant until the request is over.
        let code = unsafe { ffi::MPI_Irecv(start, length, byte(), from as c_int, tag, on.raw, request) };
        check("MPI_Irecv", code)?;
        self.started(i)
    }

    fn started(&mut self, i: usize) -> Result<(), CommError> {
        self.pending[i] = true;
        self.active += 1;
        Ok(())
    }

    fn expect_inactive(&self, i: usize) -> Result<(), CommError> {
        if self.is_active(i) {
            let message = format!("buffer {i} is used by a pending message");
            return Err(CommError::Mpi { call: "a buffer access", message });
        }
        Ok(())
    }
}
