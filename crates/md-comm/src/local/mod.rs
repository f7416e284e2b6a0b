//! The transport without MPI: ranks are threads of one process. It is the readable specification of
//! the contract.
//!
//! Structure: every rank has queues of messages; a message is a buffer that moves from the sender
//! into one of the receiver's queues and, when the receiver completes its exchange, back to the
//! sender. Advantage: no copy, no unsafe code, every rule of the contract in a few lines, and whole
//! runs can be tested and debugged in one process. Disadvantage: one mutex per rank; for tests and
//! small runs, not for speed.

#[cfg(loom)]
#[cfg(test)]
mod loom_model;
mod member;
mod queues;
mod sync;
mod transport;
mod unexpected;
mod world;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Duration;

use crate::{Rank, World};
use queues::Shared;
pub(crate) use world::LocalWorld;

/// Not used: threads have no exit code.
const PANIC_EXIT_CODE: i32 = 1;

/// A rank that ended by a panic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} panicked: {message}")]
pub struct Panicked {
    /// The rank.
    pub rank: Rank,
    /// The panic's message.
    pub message: String,
}

/// Runs `work` on `ranks` threads that form one world and returns what each of them returned, in
/// rank order.
///
/// A panic on one rank, or a call of [`World::abort`], makes every wait of the other ranks fail
/// with [`crate::CommError::PeerFailed`]; a wait longer than `watchdog` ends with
/// [`crate::CommError::Timeout`].
pub fn run<T, W>(ranks: usize, watchdog: Duration, work: W) -> Vec<Result<T, Panicked>>
where
    T: Send,
    W: Fn(&dyn World) -> T + Sync,
{
    run_on(ranks, watchdog, |world: &LocalWorld| work(world))
}

/// Does what `run` does, for work that must own the world.
pub(crate) fn run_on<T, W>(ranks: usize, watchdog: Duration, work: W) -> Vec<Result<T, Panicked>>
where
    T: Send,
    W: Fn(&LocalWorld) -> T + Sync,
{
    let shared = Arc::new(Shared::new(ranks));
    scope(|threads| {
        let start = |rank| {
            let (shared, work) = (Arc::clone(&shared), &work);
            let body = move || run_rank(&LocalWorld::new(rank, shared, watchdog), work);
            let thread = Builder::new().name(format!("rank {rank}")).spawn_scoped(threads, body);
            thread.map_err(|error| Panicked { rank, message: format!("no thread: {error}") })
        };
        let started: Vec<_> = (0..ranks).map(start).collect();
        started.iter().filter_map(|thread| thread.as_ref().err()).for_each(|failed| shared.fail(failed.rank));
        started.into_iter().enumerate().map(|(rank, thread)| join(rank, thread?)).collect()
    })
}

fn run_rank<T, W>(world: &LocalWorld, work: &W) -> Result<T, Panicked>
where
    W: Fn(&LocalWorld) -> T,
{
    // The closure's state is not used after a panic: the whole world ends.
    catch_unwind(AssertUnwindSafe(|| work(world))).map_err(|payload| {
        world.abort(PANIC_EXIT_CODE);
        Panicked { rank: world.rank(), message: panic_message(&*payload) }
    })
}

fn join<T>(rank: Rank, thread: ScopedJoinHandle<'_, Result<T, Panicked>>) -> Result<T, Panicked> {
    thread.join().unwrap_or_else(|payload| Err(Panicked { rank, message: panic_message(&*payload) }))
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests;
