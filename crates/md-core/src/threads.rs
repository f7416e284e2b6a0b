//! The threads of one rank. Work over columns is divided into one share per thread.
//!
//! ```text
//! state -> split in two -> split again ... until every thread has a share;
//! results are merged in the order of shares
//! ```
//!
//! The division depends only on the number of threads, so results are the same in every run with
//! that number; it does not matter which thread computes a share. The calling thread takes part
//! (rayon's `use_current_thread`), so MPI is still called from the thread that initialised it. With
//! one thread the work is a plain call, without a pool or a queue. The division assumes that shares
//! take about equally long. A sleeping thread needs some microseconds to wake up, so parallel
//! sections should be few and long.

use crate::aligned::LINE;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

mod shares;

use shares::ShareLog;

pub use shares::Share;

thread_local! {
    /// The pool of this thread, which a thread keeps as long as it exists.
    static POOL: OnceCell<Arc<Pool>> = const { OnceCell::new() };
}

/// Threads and the log of their work.
#[derive(Debug)]
struct Pool {
    threads: ThreadPool,
    log: ShareLog,
}

/// Reason why threads are not available.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// The number exceeds the limit of a rank.
    #[error("a rank cannot have {count} threads, at most {}", Threads::MOST)]
    TooMany {
        /// Requested number of threads.
        count: usize,
    },
    /// The system could not start the threads.
    #[error("{count} threads cannot be started: {reason}")]
    Start {
        /// Requested number of threads.
        count: usize,
        /// Reason reported by the system.
        reason: String,
    },
    /// The calling thread already works with another number of threads.
    #[error("this rank works with {present} threads, {wanted} are not possible any more")]
    Fixed {
        /// Number of threads in use.
        present: usize,
        /// Requested number of threads.
        wanted: usize,
    },
}

/// The threads that the calling thread works with, itself included.
///
/// ```
/// use md_core::Threads;
/// use md_core::threads::ThreadsError;
/// use std::ops::Range;
///
/// let threads = Threads::new(2)?;
/// assert_eq!(threads.count(), 2);
/// let halves = |numbers: Range<u64>, _, _| {
///     let middle = numbers.start.midpoint(numbers.end);
///     (numbers.start..middle, middle..numbers.end)
/// };
/// let sum = threads.divide(1..101, halves, |part, _| part.sum(), |a: u64, b| a + b);
/// assert_eq!(sum, 5050);
/// # Ok::<(), ThreadsError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Threads {
    /// `None` if the calling thread works alone.
    pool: Option<Arc<Pool>>,
}

impl Threads {
    /// Largest number of threads of a rank, more than the cores of any machine.
    pub const MOST: usize = 1024;

    /// Returns the calling thread alone.
    pub fn one() -> Self {
        Self::default()
    }

    /// Starts `count` - 1 threads in addition to the calling one. A second call returns the
    /// existing threads.
    ///
    /// # Errors
    /// [`ThreadsError`].
    pub fn new(count: usize) -> Result<Self, ThreadsError> {
        if count <= 1 {
            return Ok(Self::one());
        }
        if count > Self::MOST {
            return Err(ThreadsError::TooMany { count });
        }
        POOL.with(|known| {
            let pool = match known.get() {
                Some(pool) => Arc::clone(pool),
                None => {
                    let started = start(count)?;
                    Arc::clone(known.get_or_init(|| Arc::new(started)))
                }
            };
            match pool.threads.current_num_threads() {
                present if present == count => Ok(Self { pool: Some(pool) }),
                present => Err(ThreadsError::Fixed { present, wanted: count }),
            }
        })
    }

    /// Returns the threads with which the calling thread already works.
    pub fn present() -> Self {
        Self { pool: POOL.with(|known| known.get().cloned()) }
    }

    /// Returns the number of threads, including the calling one.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads.current_num_threads())
    }

    /// Starts recording which thread works on a share and when. The calling thread alone has no
    /// shares.
    pub fn watch(&self) {
        self.pool.iter().for_each(|pool| pool.log.watch());
    }

    /// Stops recording.
    pub fn stop_watching(&self) {
        self.pool.iter().for_each(|pool| pool.log.stop_watching());
    }

    /// Passes the shares recorded since the last call to `each`, thread by thread. At most the
    /// first thousand or so of each thread are recorded.
    pub fn take_shares(&self, each: impl FnMut(Share)) {
        if let Some(pool) = &self.pool {
            pool.log.take(each);
        }
    }

    /// Divides `state` among the threads. `split(state, shares, middle)` splits the part of
    /// `shares` into the part before `middle` and the rest; `work(part, share)` is called once per
    /// share; results are merged in the order of shares.
    pub fn divide<S: Send, R: Send>(
        &self,
        state: S,
        split: impl Fn(S, Range<usize>, usize) -> (S, S) + Sync,
        work: impl Fn(S, usize) -> R + Sync,
        merge: impl Fn(R, R) -> R + Sync,
    ) -> R {
        match &self.pool {
            None => work(state, 0),
            Some(pool) => {
                let work = |state, share| pool.log.time(|| work(state, share));
                pool.threads.install(|| halve(0..self.count(), state, &split, &work, &merge))
            }
        }
    }

    /// Calls `work` on parts of columns that have about equal length and start on cache lines.
    /// Merges the results in order.
    pub(crate) fn fold<C: Columns, R: Send>(
        &self,
        columns: C,
        work: impl Fn(C) -> R + Sync,
        merge: impl Fn(R, R) -> R + Sync,
    ) -> R {
        let split = |columns: C, shares: Range<usize>, middle: usize| {
            let at = columns.len() * (middle - shares.start) / shares.len();
            columns.split_at(at / LINE * LINE)
        };
        self.divide(columns, split, |part, _| work(part), merge)
    }

    /// Calls `work` with the number of each column and the whole column, for work that cannot be
    /// divided by particles.
    pub(crate) fn each_column<T: Send>(&self, columns: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
        match &self.pool {
            None => columns.iter_mut().enumerate().for_each(|(number, column)| work(number, column)),
            Some(pool) => {
                let work = |number, column: &mut T| pool.log.time(|| work(number, column));
                pool.threads.install(|| join_columns(0, columns, &work));
            }
        }
    }

    /// Calls `work` on parts of columns.
    pub(crate) fn each<C: Columns>(&self, columns: C, work: impl Fn(C) + Sync) {
        self.fold(columns, work, |(), ()| ());
    }
}

fn join_columns<T: Send>(first: usize, columns: &mut [T], work: &(impl Fn(usize, &mut T) + Sync)) {
    if let Some((column, rest)) = columns.split_first_mut() {
        rayon::join(|| work(first, column), || join_columns(first + 1, rest, work));
    }
}

fn start(count: usize) -> Result<Pool, ThreadsError> {
    let name = |index| format!("thread {index} of the rank");
    let builder = ThreadPoolBuilder::new().num_threads(count).thread_name(name).use_current_thread();
    let threads =
        builder.build().map_err(|error| ThreadsError::Start { count, reason: error.to_string() })?;
    // When a thread first looks for work in other threads' queues, it registers with rayon, which
    // allocates memory. The calling thread mostly finds its own work, so it might do that only in
    // some late step that should not allocate. Therefore it does it now.
    threads.install(rayon::yield_now);
    Ok(Pool { threads, log: ShareLog::new(count) })
}

fn halve<S: Send, R: Send>(
    shares: Range<usize>,
    state: S,
    split: &(impl Fn(S, Range<usize>, usize) -> (S, S) + Sync),
    work: &(impl Fn(S, usize) -> R + Sync),
    merge: &(impl Fn(R, R) -> R + Sync),
) -> R {
    if shares.len() == 1 {
        return work(state, shares.start);
    }
    let middle = shares.start + shares.len() / 2;
    let (left, right) = split(state, shares.clone(), middle);
    let (left, right) = rayon::join(
        || halve(shares.start..middle, left, split, work, merge),
        || halve(middle..shares.end, right, split, work, merge),
    );
    merge(left, right)
}

/// Columns of equal length that can be divided.
pub(crate) trait Columns: Send + Sized {
    /// Returns the length of the columns.
    fn len(&self) -> usize;
    /// Returns the part before `middle` and the rest.
    fn split_at(self, middle: usize) -> (Self, Self);
}

impl<T: Sync> Columns for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        <[T]>::split_at(self, middle)
    }
}

impl<T: Send> Columns for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        <[T]>::split_at_mut(self, middle)
    }
}

impl<C: Columns> Columns for [C; 3] {
    fn len(&self) -> usize {
        self[0].len()
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let [x, y, z] = self.map(|column| column.split_at(middle));
        ([x.0, y.0, z.0], [x.1, y.1, z.1])
    }
}

impl<A: Columns, B: Columns> Columns for (A, B) {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let (a, b) = (self.0.split_at(middle), self.1.split_at(middle));
        ((a.0, b.0), (a.1, b.1))
    }
}

/// Columns with the index of their first element.
pub(crate) struct Placed<C> {
    pub first: usize,
    pub columns: C,
}

impl<C: Columns> Columns for Placed<C> {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let (before, after) = self.columns.split_at(middle);
        (Self { first: self.first, columns: before }, Self { first: self.first + middle, columns: after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `work` on a new thread, because a thread keeps its pool.
    fn with_threads<R: Send>(count: usize, work: impl FnOnce(&Threads) -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(|| work(&Threads::new(count).unwrap())).join().unwrap())
    }

    #[test]
    fn every_element_is_in_one_share_and_shares_start_on_cache_lines() {
        for (count, len) in [(1, 100), (2, 100), (3, 1000), (4, 7), (3, 0)] {
            let mut numbers: Vec<usize> = (0..len).collect();
            let parts = with_threads(count, |threads| {
                threads.fold(
                    &mut numbers[..],
                    |part: &mut [usize]| vec![part.to_vec()],
                    |a, b| [a, b].concat(),
                )
            });
            assert_eq!(parts.len(), count);
            assert!(parts.iter().filter_map(|part| part.first()).all(|first| first % LINE == 0));
            assert_eq!(parts.concat(), numbers);
        }
    }

    #[test]
    fn what_threads_do_is_remembered_while_somebody_watches() {
        with_threads(3, |threads| {
            let mut numbers = [0_usize; 3];
            let mut work = || threads.each_column(&mut numbers, |number, place| *place += number);
            let shares = || {
                let mut shares = Vec::new();
                Threads::present().take_shares(|share| shares.push(share));
                shares
            };
            work();
            assert_eq!(shares(), []);
            threads.watch();
            work();
            threads.each(&mut [0.0; 100][..], |part| part.fill(1.0));
            threads.stop_watching();
            work();
            let done = shares();
            assert_eq!((done.len(), shares().len()), (6, 0));
            assert!(done.iter().all(|share| share.thread < 3 && share.begun <= share.ended));
            assert_eq!(numbers, [0, 3, 6]);
        });
    }

    #[test]
    fn the_calling_thread_takes_part_and_keeps_its_number_of_threads() {
        with_threads(2, |threads| {
            assert_eq!(threads.count(), 2);
            assert_eq!(Threads::new(2).unwrap().count(), 2);
            assert_eq!(Threads::one().count(), 1);
            let error = Threads::new(3).unwrap_err().to_string();
            assert_eq!(error, "this rank works with 2 threads, 3 are not possible any more");
            let error = Threads::new(65_536).unwrap_err().to_string();
            assert_eq!(error, "a rank cannot have 65536 threads, at most 1024");
            let caller = std::thread::current().id();
            let first =
                threads.divide((), |(), _, _| ((), ()), |(), _| std::thread::current().id(), |a, _| a);
            assert_eq!(first, caller);
        });
    }
}
