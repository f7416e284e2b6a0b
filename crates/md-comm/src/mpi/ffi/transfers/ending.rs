//! Cancelled and abandoned messages.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the module of the raw calls")]

use std::time::Duration;

use mpi::ffi;

use super::{Transfers, Way};
use crate::CommError;
use crate::mpi::ffi::{blank_status, check, is_running};
use crate::spin_wait::SpinWait;

/// Time that `Drop` waits for a cancelled receive before it leaks the buffer.
const RECEIVE_DROP_LIMIT: Duration = Duration::from_secs(1);
/// Time that `Drop` waits for a send, which ends by itself or, if no rank receives it, never.
const SEND_DROP_LIMIT: Duration = Duration::from_millis(50);

/// Result of cancelling a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// Nothing had arrived.
    Clean,
    /// A message had been matched already and is in the buffer.
    Delivered,
}

impl Transfers {
    /// Cancels a posted receive, which must be active. Waits until the library has released the
    /// buffer.
    pub(crate) fn cancel(&mut self, i: usize, watchdog: Duration) -> Result<Cancelled, CommError> {
        let message = || "a message that should not be under way is still arriving".to_owned();
        self.end(i, watchdog)?.ok_or_else(|| CommError::Mpi { call: "MPI_Cancel", message: message() })
    }

    /// Ends all pieces of a message. Returns `None` if the library still uses its buffer.
    fn end(&mut self, i: usize, limit: Duration) -> Result<Option<Cancelled>, CommError> {
        let mut ended = if self.messages[i].received == 0 { Cancelled::Clean } else { Cancelled::Delivered };
        for request in self.requests_of(i) {
            if !self.states[request].is_active {
                continue;
            }
            match self.end_piece(request, limit)? {
                Some(Cancelled::Delivered) => ended = Cancelled::Delivered,
                Some(Cancelled::Clean) => (),
                None => return Ok(None),
            }
        }
        Ok(Some(ended))
    }

    /// Ends a piece. Returns `None` if the library still uses its buffer after `limit`. MPI-3.1
    /// section 3.8.4: either the piece is cancelled, or it completes as if it had not been
    /// cancelled. Sends are never cancelled: MPI-4.0 advises against it, Open MPI ignores it, and
    /// MPICH 5.0 over UCX crashes if the send is persistent.
    fn end_piece(&mut self, number: usize, limit: Duration) -> Result<Option<Cancelled>, CommError> {
        let mut wait = SpinWait::new(limit);
        let request = &raw mut self.requests[number];
        if self.way == Way::In {
            // SAFETY: the request is active (callers check `is_active`) and its buffer obeys this
            // type's invariant.
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
                    (self.states[number].is_active, self.active) = (false, self.active - 1);
                    self.messages[self.states[number].message].under_way -= 1;
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
    /// Leaves no active request behind that could write to freed memory, also while unwinding. The
    /// buffer of a message that cannot be ended is leaked.
    fn drop(&mut self) {
        if !is_running() {
            return;
        }
        let limit = if self.way == Way::In { RECEIVE_DROP_LIMIT } else { SEND_DROP_LIMIT };
        for i in 0..self.messages.len() {
            if self.is_active(i) && !matches!(self.end(i, limit), Ok(Some(_))) {
                std::mem::forget(std::mem::take(&mut self.messages[i].buffer));
            }
        }
        for request in 0..self.requests.len() {
            // A failure leaves a request without a pending operation behind.
            let _ = self.free_kept(request);
        }
    }
}
