//! Epochs: when accesses may happen and when they are over. Every call covers all windows of the
//! set.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

use super::super::{Communicator, guarded_to, is_running};
use super::{Call, Made, Window, check, constants, guarded, rank_number};
use crate::{Asserts, CommError, Rank};

/// Number of single flushes that take as long as one flush of this number of messages. In some
/// libraries `MPI_Win_flush_all` sends a message to every rank, all at once, while the flush of one
/// rank takes a round trip, and several flushes follow each other.
pub(crate) const RANKS_PER_FLUSH: usize = 16;

/// What a caller asserts about an epoch that begins or ends. Passed to the library only if the
/// options say so (MPI-3.1 section 11.5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "the names are the standard's")]
pub(crate) enum Assertion {
    /// This rank has not stored into its part since the last synchronisation.
    NoStore,
    /// No rank puts into this rank's part before the next fence.
    NoPut,
    /// No rank has accesses to complete. Such a fence is not a barrier.
    NoPrecede,
}

impl Assertion {
    fn mode(self) -> c_int {
        match self {
            Self::NoStore => constants::mode_nostore(),
            Self::NoPut => constants::mode_noput(),
            Self::NoPrecede => constants::mode_noprecede(),
        }
    }
}

/// Some ranks of a communicator, for post and start.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) raw: ffi::MPI_Group,
    empty: bool,
}

impl Group {
    /// Makes a group of these ranks, each given once. MPI-3.1 section 6.3.2.
    pub(crate) fn new(of: &Communicator, mut ranks: Vec<Rank>) -> Result<Self, CommError> {
        ranks.sort_unstable();
        ranks.dedup();
        let ranks: Vec<c_int> = ranks.into_iter().map(|rank| rank as c_int).collect();
        // SAFETY: a valid communicator; the ranks are distinct and were checked against its size by
        // the spec.
        // Test: suite.
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
            // Test: none.
            unsafe { ffi::MPI_Group_free(&raw mut self.raw) };
        }
    }
}

impl Window {
    fn assertion(&self, assertions: &[Assertion]) -> c_int {
        match self.asserts {
            Asserts::Off => 0,
            Asserts::On => assertions.iter().fold(0, |mode, assertion| mode | assertion.mode()),
        }
    }

    pub(super) fn each(&self, call: impl Fn(&Made) -> Result<(), CommError>) -> Result<(), CommError> {
        self.made.iter().try_for_each(call)
    }

    /// Ends the epoch of all ranks and begins the next one. *Collective; blocks.* MPI-3.1 section
    /// 11.5.1.
    pub(crate) fn fence(&mut self, assertions: &[Assertion]) -> Result<(), CommError> {
        self.fence_as(self.assertion(assertions))
    }

    /// Ends the epoch of all ranks and begins none: always with `MPI_MODE_NOSUCCEED`, because the
    /// window may be freed next. *Collective; blocks.* MPI-3.1 section 11.5.1.
    pub(crate) fn last_fence(&mut self) -> Result<(), CommError> {
        self.fence_as(constants::mode_nosucceed())
    }

    fn fence_as(&mut self, mode: c_int) -> Result<(), CommError> {
        // SAFETY: a valid window; all accesses' memory obeys invariant 2.
        // Test: rough.
        self.each(|made| guarded(Call::MPI_Win_fence, || unsafe { ffi::MPI_Win_fence(mode, made.raw) }))?;
        self.completed();
        Ok(())
    }

    /// Lets the group's ranks put. Does not block. Never `MPI_MODE_NOCHECK`: osc/sm then lets the
    /// epoch end too early. MPI-3.1 section 11.5.2.
    pub(crate) fn post(&mut self, to: &Group, assertions: &[Assertion]) -> Result<(), CommError> {
        let mode = self.assertion(assertions);
        for made in &mut self.made {
            // SAFETY: a valid window and group.
            // Test: suite.
            guarded(Call::MPI_Win_post, || unsafe { ffi::MPI_Win_post(to.raw, mode, made.raw) })?;
            made.exposed = true;
        }
        Ok(())
    }

    /// Begins access to the group's ranks; may block until they have posted. MPI-3.1 section
    /// 11.5.2.
    pub(crate) fn start(&mut self, to: &Group) -> Result<(), CommError> {
        // SAFETY: a valid window and group.
        // Test: suite.
        self.each(|made| guarded(Call::MPI_Win_start, || unsafe { ffi::MPI_Win_start(to.raw, 0, made.raw) }))
    }

    /// Ends the access that `start` began: the origins may be reused. MPI-3.1 section 11.5.2.
    pub(crate) fn complete(&mut self) -> Result<(), CommError> {
        // SAFETY: a valid window; all puts' memory obeys invariant 2.
        // Test: rough.
        self.each(|made| guarded(Call::MPI_Win_complete, || unsafe { ffi::MPI_Win_complete(made.raw) }))?;
        self.completed();
        Ok(())
    }

    /// Returns whether all ranks that `post` admitted have completed; ends the exposure if so.
    /// MPI-3.1 section 11.5.2.
    pub(crate) fn test(&mut self) -> Result<bool, CommError> {
        for made in self.made.iter_mut().filter(|made| made.exposed) {
            let mut done: c_int = 0;
            // SAFETY: a valid window with an exposure epoch; one integer is written.
            // Test: suite.
            guarded(Call::MPI_Win_test, || unsafe { ffi::MPI_Win_test(made.raw, &raw mut done) })?;
            made.exposed = done == 0;
        }
        Ok(self.made.iter().all(|made| !made.exposed))
    }

    /// Begins access to all ranks for as long as the window keeps its size. Always with
    /// `MPI_MODE_NOCHECK`, which asserts that no rank holds or requests a conflicting lock: all
    /// locks here are shared ones. MPI-3.1 sections 11.5.3, 11.5.5.
    pub(crate) fn hold_all(&mut self) -> Result<(), CommError> {
        self.lock_all_as(constants::mode_nocheck())
    }

    /// Begins access to all ranks for one exchange. NOCHECK would be true here too, but is passed
    /// only if the options say so, because its gain is to be measured. MPI-3.1 section 11.5.3.
    pub(crate) fn lock_all(&mut self) -> Result<(), CommError> {
        let mode = if self.asserts == Asserts::On { constants::mode_nocheck() } else { 0 };
        self.lock_all_as(mode)
    }

    fn lock_all_as(&mut self, mode: c_int) -> Result<(), CommError> {
        // SAFETY: a valid window.
        // Test: suite.
        self.each(|made| guarded(Call::MPI_Win_lock_all, || unsafe { ffi::MPI_Win_lock_all(mode, made.raw) }))
    }

    /// Ends access to all ranks; everything has arrived. MPI-3.1 section 11.5.3.
    pub(crate) fn unlock_all(&mut self) -> Result<(), CommError> {
        // SAFETY: a valid window; all accesses' memory obeys invariant 2.
        // Test: rough.
        self.each(|made| guarded(Call::MPI_Win_unlock_all, || unsafe { ffi::MPI_Win_unlock_all(made.raw) }))?;
        self.completed();
        Ok(())
    }

    /// Completes all accesses at their targets (which `flush_local` would not). Flushes only the
    /// ranks that were accessed if they are few among many. MPI-3.1 section 11.5.4.
    pub(crate) fn flush(&mut self) -> Result<(), CommError> {
        let few = self.touched.len() * self.ranks_per_flush < self.members * self.made.len();
        if few { self.flush_touched() } else { self.flush_all() }?;
        self.completed();
        Ok(())
    }

    fn flush_all(&self) -> Result<(), CommError> {
        // SAFETY: a valid window; all accesses' memory obeys invariant 2.
        // Test: paths.
        self.each(|made| guarded(Call::MPI_Win_flush_all, || unsafe { ffi::MPI_Win_flush_all(made.raw) }))
    }

    fn flush_touched(&self) -> Result<(), CommError> {
        for &(number, member) in &self.touched {
            let Some(Made { raw, .. }) = self.made.get(number) else { continue };
            // SAFETY: a valid window and one of its ranks (both were used); all accesses' memory
            // obeys invariant 2.
            // Test: rough.
            guarded_to(Call::MPI_Win_flush, member, || unsafe {
                ffi::MPI_Win_flush(rank_number(member), *raw)
            })?;
        }
        Ok(())
    }

    /// Sets the number of ranks that a flush of all may go to for each rank that needs one; without
    /// this call it is [`RANKS_PER_FLUSH`].
    pub(crate) fn weigh_flushes(&mut self, ranks_per_flush: usize) {
        self.ranks_per_flush = ranks_per_flush;
    }

    /// Makes stores of other ranks visible here and the other way round; only inside passive
    /// epochs. `MPI_Win_sync` is not a processor fence in every library (osc/rdma only makes
    /// progress), hence the additional fence. MPI-3.1 section 11.5.4.
    pub(crate) fn sync(&self) -> Result<(), CommError> {
        // SAFETY: a valid window.
        // Test: none.
        self.each(|made| guarded(Call::MPI_Win_sync, || unsafe { ffi::MPI_Win_sync(made.raw) }))?;
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn completed(&mut self) {
        self.origin_busy.fill(false);
        self.word_busy.fill(false);
        self.touched.clear();
    }
}
