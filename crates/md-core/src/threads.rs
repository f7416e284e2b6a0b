//! The threads of one rank: work over columns is cut into one share per thread.
//!
//! ```text
//! state -> split in two -> split again ... until every thread has a share; results are merged in the order of shares
//! ```
//!
//! Who computes what follows from the number of threads alone, so results are the same in every run with that number;
//! which thread takes a share does not matter. The calling thread takes part (rayon's `use_current_thread`), so that
//! MPI is still called from the thread that initialised it. One thread is a plain call: no pool, no closure in a queue.
//! Relies on: shares that take about equally long; a sleeping thread needs some microseconds to wake up, so parallel
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
    /// A thread belongs to one pool for as long as it lives.
    static POOL: OnceCell<Arc<Pool>> = const { OnceCell::new() };
}

/// Threads, and what they have done.
#[derive(Debug)]
struct Pool {
    threads: ThreadPool,
    log: ShareLog,
}

/// Why there are no threads.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// More than a rank can have.
    #[error("a rank cannot have {count} threads, at most {}", Threads::MOST)]
    TooMany {
        /// Threads wanted.
        count: usize,
    },
    /// The system does not give them.
    #[error("{count} threads cannot be started: {reason}")]
    Start {
        /// Threads wanted.
        count: usize,
        /// What the system says.
        reason: String,
    },
    /// The calling thread already works with another number of them.
    #[error("this rank works with {present} threads, {wanted} are not possible any more")]
    Fixed {
        /// Threads that it has.
        present: usize,
        /// Threads wanted.
        wanted: usize,
    },
}

/// The threads that the calling thread works with, itself included.
#[derive(Debug, Clone, Default)]
pub struct Threads {
    /// None where the calling thread is alone.
    pool: Option<Arc<Pool>>,
}

impl Threads {
    /// The most that a rank can have: more than any machine has cores.
    pub const MOST: usize = 1024;

    /// The calling thread alone.
    pub fn one() -> Self {
        Self::default()
    }

    /// Starts `count` - 1 threads beside the calling one; the second time they are there already.
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

    /// Those that the calling thread works with already.
    pub fn present() -> Self {
        Self { pool: POOL.with(|known| known.get().cloned()) }
    }

    /// How many, the calling one included.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads.current_num_threads())
    }

    /// Remembers from now on which thread works on a share when. The calling thread alone has no shares.
    pub fn watch(&self) {
        self.pool.iter().for_each(|pool| pool.log.watch());
    }

    /// Remembers nothing more.
    pub fn stop_watching(&self) {
        self.pool.iter().for_each(|pool| pool.log.stop_watching());
    }

    /// Hands over the shares that have been done since the last time, thread by thread; of each at most about a thousand, the
    /// first ones.
    pub fn take_shares(&self, each: impl FnMut(Share)) {
        if let Some(pool) = &self.pool {
            pool.log.take(each);
        }
    }

    /// Gives every thread its share of `state`: `split(state, shares, middle)` cuts what belongs to `shares` into what
    /// belongs to those before `middle` and the rest; `work(part, share)` is called once per share; results are merged
    /// in the order of shares.
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

    /// `work` on parts of columns, of about equal length, that start on cache lines; results are merged in order.
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

    /// `work` on each of several columns as a whole, for work that cannot be cut by particles; with the column's number.
    pub(crate) fn each_column<T: Send>(&self, columns: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
        match &self.pool {
            None => columns.iter_mut().enumerate().for_each(|(number, column)| work(number, column)),
            Some(pool) => {
                let work = |number, column: &mut T| pool.log.time(|| work(number, column));
                pool.threads.install(|| join_columns(0, columns, &work));
            }
        }
    }

    /// `work` on parts of columns.
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
    // A thread that looks for others' work for the first time registers with rayon's queues, which allocates. The calling
    // thread may not look before some late, steady step, since it mostly finds its own work: so it looks now.
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

/// Columns of equal length that can be cut.
pub(crate) trait Columns: Send + Sized {
    /// Length of the columns.
    fn len(&self) -> usize;
    /// What lies before `middle` and the rest.
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

/// Columns that know where they start.
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

    /// On a thread of its own, since a thread keeps its pool.
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
