//! `rma-barrier`: puts between global barriers, the negative control. (With `barriers =
//! "per-message"`: `message_barriers`.)
//!
//! Structure: `start` puts; `initiate` completes all puts at their targets and enters a barrier;
//! when it is over, everything has arrived everywhere. With one buffer a second barrier, entered in
//! `complete`, shows that all buffers have been read; with two buffers the first one shows that for
//! the exchange before. The ranks that wait for each other are a [`Meeting`]: all ranks here,
//! neighbours in `neighbour_barrier`.
//! Relies on: flush completes puts at their targets (MPI-3.1 section 11.5.4); a barrier is over on
//! no rank before all have entered it (section 5.3).
//! Cost: put and acknowledgement, then ceil(log2 P) latencies per barrier; all ranks wait for the
//! slowest.
//! Advantage: as simple as a fence, and the barrier is non-blocking: contexts may be used in any
//! order and the watchdog applies.
//! Disadvantage: global.

use super::super::ffi::Barriers;
use super::access::{Access, Epoch};
use super::{Scheme, WindowContext};
use crate::{Backend, CommError, EdgeId};

/// Non-blocking barriers of one context, on a communicator of its own, and the lock under which the
/// puts before them are done.
pub(crate) trait Meeting: Sized + std::fmt::Debug {
    /// Name of the scheme in a scenario.
    const BACKEND: Backend;

    /// Epoch of the lock.
    const EPOCH: Epoch;

    /// The ranks for which a rank waits.
    const OTHERS: &'static str;

    /// Opens the barriers. *Collective.*
    fn open(context: &WindowContext) -> Result<Self, CommError>;

    /// Enters the next barrier; the last one must have been passed.
    fn enter(&mut self) -> Result<(), CommError>;

    /// Returns whether the others have entered, or no barrier is entered. Never blocks.
    fn passed(&mut self) -> Result<bool, CommError>;

    /// Frees the communicator, with no barrier entered. *Collective.*
    fn end(&mut self) -> Result<(), CommError>;
}

/// Barriers of all ranks.
#[derive(Debug)]
pub(crate) struct AllRanks(Barriers);

impl Meeting for AllRanks {
    const BACKEND: Backend = Backend::RmaBarrier;
    const EPOCH: Epoch = Epoch::Window;
    const OTHERS: &'static str = "all ranks";

    fn open(context: &WindowContext) -> Result<Self, CommError> {
        Barriers::new(&context.world.communicator).map(Self)
    }

    fn enter(&mut self) -> Result<(), CommError> {
        self.0.enter()
    }

    fn passed(&mut self) -> Result<bool, CommError> {
        self.0.passed()
    }

    fn end(&mut self) -> Result<(), CommError> {
        self.0.free()
    }
}

/// Progress of this exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Edges are being packed, or everything has arrived.
    Open,
    /// The puts are done; the barrier can be entered once the last one has been passed.
    Put,
    /// The barrier has been entered.
    Entered,
}

/// Puts before a barrier.
#[derive(Debug)]
pub(crate) struct Barrier<M> {
    meeting: M,
    access: Access,
    phase: Phase,
}

impl<M: Meeting> Barrier<M> {
    /// Advances as far as the other ranks allow.
    fn advance(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if self.phase == Phase::Put && self.meeting.passed()? {
            self.meeting.enter()?;
            self.phase = Phase::Entered;
        }
        if self.phase == Phase::Entered && self.meeting.passed()? {
            self.phase = Phase::Open;
            Access::see_puts(context)?;
            context.notice_all();
        }
        Ok(())
    }

    /// Waits for the barrier that was entered last.
    fn finish(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        context.wait_for(M::OTHERS, |context| {
            self.advance(context)?;
            Ok(self.phase == Phase::Open && self.meeting.passed()?)
        })
    }
}

impl<M: Meeting> Scheme for Barrier<M> {
    const BACKEND: Backend = M::BACKEND;

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        let access = Access::open(context, M::EPOCH)?;
        Ok(Self { meeting: M::open(context)?, access, phase: Phase::Open })
    }

    /// Opens the epoch again; the communicator stays.
    fn reopen(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.access = Access::open(context, M::EPOCH)?;
        Ok(())
    }

    fn may_pack(&mut self, context: &mut WindowContext, _: EdgeId) -> Result<bool, CommError> {
        let may = self.meeting.passed()?;
        if may {
            self.access.begin(context)?;
        }
        Ok(may)
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.access.finish_puts(context)?;
        context.jitter.pause();
        // Senders have passed the last barrier in `send_buffer`. A rank that only receives waits
        // here, at most until the others have completed the last exchange. Entering later, from
        // `next` of this context, could deadlock with a rank that waits in another context first.
        self.finish(context)?;
        self.phase = Phase::Put;
        self.advance(context)
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.advance(context)
    }

    /// Waits for the barrier, which a rank that receives nothing has not tested yet.
    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.finish(context)?;
        if context.arena.buffers < 2 {
            self.meeting.enter()?;
        }
        self.access.complete(context)
    }

    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.finish(context)?;
        self.access.end(context)
    }

    fn end(&mut self) -> Result<(), CommError> {
        self.meeting.end()
    }
}
