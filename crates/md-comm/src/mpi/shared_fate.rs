//! Windows that all ranks have, or none.
//!
//! The library may refuse a window on some ranks only, for instance where memory is short. A rank that then gave up
//! alone would leave the others waiting in what comes next; so all agree right after the attempt.

use super::ffi::{Communicator, Request, Window};
use super::world::Inner;
use crate::CommError;

/// How much a rank's failure says, for the ranks' agreement on who speaks.
const ANOTHER_FAILED: u64 = 1;

impl Inner {
    /// Makes a window over `on`, which may be a part of the ranks; or, on all ranks, the reason why there is none, in the
    /// words of the lowest rank that the library has refused it. *Collective* over all ranks.
    ///
    /// # Errors
    /// Ranks that cannot be reached.
    pub(super) fn make_window(
        &self,
        on: &Communicator,
        request: Request,
    ) -> Result<Result<Window, String>, CommError> {
        let mut made = Window::new(on, request);
        if self.adversity.get().refuses_window(self.rank, self.ranks) {
            made = Err(CommError::Mpi { call: "MPI_Win_allocate", message: "deliberate".to_owned() });
        }
        let weight = match &made {
            Ok(_) => 0,
            Err(CommError::Mpi { .. }) => ANOTHER_FAILED + (self.ranks - self.rank) as u64,
            Err(CommError::Setup(_)) => ANOTHER_FAILED,
            Err(error) => return Err(error.clone()),
        };
        let heaviest = self.control.highest(weight, self.limit())?;
        if heaviest == 0 {
            return Ok(made.map_err(|error| error.to_string()));
        }
        // What some ranks have made without the others cannot be freed, which is collective; it is left.
        let mut reason = made.err().map_or_else(Vec::new, |error| error.to_string().into_bytes());
        let speaker = self.ranks - heaviest.saturating_sub(ANOTHER_FAILED).max(1) as usize;
        self.broadcast(speaker, &mut reason)?;
        let reason = String::from_utf8_lossy(&reason).into_owned();
        Ok(Err(if speaker == 0 { reason } else { format!("on rank {speaker}: {reason}") }))
    }
}
