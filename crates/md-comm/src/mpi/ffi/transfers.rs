//! Point-to-point requests together with the buffers they use.
//!
//! Invariant: while `requests[i]` is active (`pending[i]`), `buffers[i]` is neither moved in memory, resized, nor handed out. (Moving
//! the `Transfers` value moves only the vectors' headers, not the blocks MPI points to.)
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::time::Duration;

use mpi::ffi;

use crate::mpi::ffi::{Communicator, blank_status, byte, check, count, error_text, is_running, null_request};
use crate::spin_wait::SpinWait;
use crate::{AlignedBuffer, CommError, Rank};

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
    /// So many empty buffers to send from, nothing pending.
    pub(crate) fn outgoing(many: usize) -> Self {
        Self::new(Way::Out, many)
    }

    /// So many empty buffers to receive into, nothing pending.
    pub(crate) fn incoming(many: usize) -> Self {
        Self::new(Way::In, many)
    }

    fn new(way: Way, many: usize) -> Self {
        Self {
            way,
            buffers: vec![AlignedBuffer::default(); many],
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
        self.buffers[i].set_length(length)?;
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
        let length = count("MPI_Isend", self.buffers[i].bytes().len())?;
        self.begin(i, length, on, to, tag)
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
        self.bytes_mut(i, most)?;
        self.begin(i, length, on, from, tag)
    }

    /// Sends or receives into the buffer, which has `length` bytes and no message under way.
    fn begin(
        &mut self,
        i: usize,
        length: c_int,
        on: &Communicator,
        peer: Rank,
        tag: c_int,
    ) -> Result<(), CommError> {
        let start = self.buffers[i].bytes_mut().as_mut_ptr();
        let envelope = Envelope { start, length, peer: peer as c_int, tag, on: on.raw };
        if self.kept.is_some() { self.start_kept(i, envelope) } else { self.start_new(i, envelope) }?;
        self.pending[i] = true;
        self.active += 1;
        Ok(())
    }

    /// Starts the message with a request of its own.
    fn start_new(&mut self, i: usize, envelope: Envelope) -> Result<(), CommError> {
        let Envelope { start, length, peer, tag, on } = envelope;
        let (start, request) = (start.cast(), &raw mut self.requests[i]);
        // SAFETY: the buffer has `length` bytes and obeys this type's invariant until the request is over.
        // Test: suite, memcheck.
        let (call, code) = unsafe {
            match self.way {
                Way::Out => ("MPI_Isend", ffi::MPI_Isend(start, length, byte(), peer, tag, on, request)),
                Way::In => ("MPI_Irecv", ffi::MPI_Irecv(start, length, byte(), peer, tag, on, request)),
            }
        };
        check(call, code)
    }

    fn expect_inactive(&self, i: usize) -> Result<(), CommError> {
        if self.is_active(i) {
            let message = format!("buffer {i} is used by a pending message");
            return Err(CommError::Mpi { call: "a buffer access", message });
        }
        Ok(())
    }
}

impl Transfers {
    /// Lets MPI work and hands the numbers of finished messages to `done`; a received buffer then has the message's
    /// length. Never blocks. MPI-3.1 section 3.7.5.
    pub(crate) fn poll(&mut self, mut done: impl FnMut(usize)) -> Result<(), CommError> {
        if self.active == 0 {
            return Ok(());
        }
        let mut many = 0;
        // SAFETY: all arrays have as many entries as there are requests.
        // Test: suite, memcheck.
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
        // Test: suite.
        let code = unsafe { ffi::MPI_Get_count(status, byte(), &raw mut length) };
        check("MPI_Get_count", code)?;
        let length = usize::try_from(length).unwrap_or(0);
        let buffer = &mut self.buffers[i];
        buffer.set_length(length.min(buffer.capacity()))
    }
}

/// How long `Drop` waits for a cancelled receive before it gives the buffer up.
const RECEIVE_DROP_LIMIT: Duration = Duration::from_secs(1);
/// The same for a send, which ends by itself or, if nobody receives it, never.
const SEND_DROP_LIMIT: Duration = Duration::from_millis(50);

/// What became of a cancelled receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// Nothing had arrived.
    Clean,
    /// A message had been matched already and is in the buffer.
    Delivered,
}

impl Transfers {
    /// Takes a posted receive back; it must be active. Waits until the library has let go of the buffer.
    pub(crate) fn cancel(&mut self, i: usize, watchdog: Duration) -> Result<Cancelled, CommError> {
        let message = || "a message that should not be under way is still arriving".to_owned();
        self.end(i, watchdog)?.ok_or_else(|| CommError::Mpi { call: "MPI_Cancel", message: message() })
    }

    /// Ends a message; `None` if the library still uses its buffer after so long. MPI-3.1 section 3.8.4: either the
    /// message is cancelled, or it completes as if nothing had been said. Sends are never cancelled: MPI-4.0 advises
    /// against it, Open MPI ignores it, and MPICH 5.0 over UCX crashes if the send is persistent.
    fn end(&mut self, i: usize, limit: Duration) -> Result<Option<Cancelled>, CommError> {
        let mut wait = SpinWait::new(limit);
        let request = &raw mut self.requests[i];
        if self.way == Way::In {
            // SAFETY: the request is active (callers ask `is_active`) and its buffer obeys this type's invariant.
            // Test: growth, dropped.
            check("MPI_Cancel", unsafe { ffi::MPI_Cancel(request) })?;
        }
        loop {
            let (mut done, mut cancelled, mut status) = (0, 0, blank_status());
            // SAFETY: as above; the status is read only after the library has written it.
            // Test: growth, dropped.
            unsafe {
                check("MPI_Test", ffi::MPI_Test(request, &raw mut done, &raw mut status))?;
                if done != 0 {
                    let code = ffi::MPI_Test_cancelled(&raw const status, &raw mut cancelled);
                    (self.pending[i], self.active) = (false, self.active - 1);
                    check("MPI_Test_cancelled", code)?;
                    return Ok(Some(if cancelled == 0 { Cancelled::Delivered } else { Cancelled::Clean }));
                }
            }
            if wait.pause().is_err() {
                return Ok(None);
            }
        }
    }
}

impl Drop for Transfers {
    /// Leaves no active request behind that could write to freed memory, also while unwinding. A message that cannot
    /// be ended keeps its buffer for ever.
    fn drop(&mut self) {
        if !is_running() {
            return;
        }
        let limit = if self.way == Way::In { RECEIVE_DROP_LIMIT } else { SEND_DROP_LIMIT };
        for i in 0..self.requests.len() {
            if self.is_active(i) && !matches!(self.end(i, limit), Ok(Some(_))) {
                std::mem::forget(std::mem::take(&mut self.buffers[i]));
            }
            // A failure leaves a request behind that nothing is pending on.
            let _ = self.free_kept(i);
        }
    }
}

/// What a persistent request was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Envelope {
    pub(super) start: *mut u8,
    pub(super) length: c_int,
    pub(super) peer: c_int,
    pub(super) tag: c_int,
    pub(super) on: ffi::MPI_Comm,
}

impl Transfers {
    /// From now on every message is started from a persistent request, made anew only when its length or buffer changes.
    pub(crate) fn persistent(mut self) -> Self {
        self.kept = Some(vec![None; self.requests.len()]);
        self
    }

    /// Starts the message from its persistent request. MPI-3.1 section 3.9.
    pub(super) fn start_kept(&mut self, i: usize, envelope: Envelope) -> Result<(), CommError> {
        let old = self.kept.as_mut().and_then(|kept| kept[i].replace(envelope));
        if old != Some(envelope) {
            self.free_kept(i)?;
            self.make_kept(i, envelope)?;
        }
        // SAFETY: the request is persistent and inactive; its buffer, unchanged since it was made or just described
        // anew, obeys this type's invariant until the request is over.
        // Test: suite.
        check("MPI_Start", unsafe { ffi::MPI_Start(&raw mut self.requests[i]) })
    }

    fn make_kept(&mut self, i: usize, envelope: Envelope) -> Result<(), CommError> {
        let Envelope { start, length, peer, tag, on } = envelope;
        let (start, request) = (start.cast(), &raw mut self.requests[i]);
        // SAFETY: nothing is transferred yet; the buffer has `length` bytes whenever the request is started, because
        // another buffer or length makes another request.
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
        if self.pending[i] || self.requests[i] == null_request() {
            return Ok(());
        }
        // SAFETY: the request is not null and not active; only persistent ones are like that.
        // Test: growth.
        check("MPI_Request_free", unsafe { ffi::MPI_Request_free(&raw mut self.requests[i]) })
    }
}
