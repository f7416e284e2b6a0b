//! Micro-benchmarks of the transports, with the same contexts as in a simulation. Each benchmark is
//! a file here and an entry in [`ALL`].

mod allreduce;
mod bandwidth;
mod barrier;
mod contexts;
mod copy;
#[cfg(feature = "mpi")]
mod elementwise;
mod ground;
mod line;
mod machine;
#[cfg(feature = "mpi")]
mod onesided;
mod overlap;
#[cfg(feature = "mpi")]
mod packing;
#[cfg(feature = "mpi")]
mod passive;
mod picture;
#[cfg(feature = "mpi")]
mod plain;
#[cfg(feature = "mpi")]
mod push;
mod ringshift;
mod roundtrip;
mod rows;
mod runner;
mod series;
#[cfg(feature = "mpi")]
mod strided;
mod sync;
mod torus;
mod wakeup;
mod walk;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use md_comm::{CommError, World};

use crate::sampling::Effort;
use crate::{Problem, Transports};
use contexts::Contexts;
pub use copy::copy_bytes_per_s;
pub use ground::{Case, Distance, Ground, Mechanism};
pub use machine::{Machine, core_complexes};
pub(crate) use overlap::BLOCKS as PROGRESS_CALLS;
pub use picture::picture;
pub use rows::{Row, bench_csv, samples_csv, table};
pub use runner::{Progress, Settings, run};
use series::Series;
use torus::Torus;
use walk::Walk;
pub use walk::largest_cache;

/// All benchmarks, in the order in which they run.
pub static ALL: &[&dyn Benchmark] = &[
    &roundtrip::Roundtrip,
    &bandwidth::Bandwidth,
    &sync::Sync(Torus::Three),
    &sync::Sync(Torus::Two),
    &overlap::Overlap,
    &barrier::Barrier,
    &allreduce::Allreduce,
    &Contexts::Creation,
    &Contexts::Negotiation,
    &ringshift::Ringshift,
    &wakeup::Wakeup,
    &copy::Copy,
    #[cfg(feature = "mpi")]
    &passive::Passive,
    #[cfg(feature = "mpi")]
    &packing::Packing,
    #[cfg(feature = "mpi")]
    &push::Push::Push,
    #[cfg(feature = "mpi")]
    &push::Push::Pull,
    #[cfg(feature = "mpi")]
    &strided::Strided,
    #[cfg(feature = "mpi")]
    &elementwise::Elementwise,
];

/// A micro-benchmark.
pub trait Benchmark: Sync {
    /// Returns its name on the command line and in tables.
    fn name(&self) -> &'static str;

    /// Returns the cases that it measures, transport by transport.
    fn cases(&self, ground: &Ground) -> Vec<Case>;

    /// Measures one case. *Collective.*
    ///
    /// # Errors
    /// Failed communication, or messages with wrong contents.
    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem>;

    /// Returns the time in seconds below which the case is not worth starting.
    fn least_s(&self, _: &Case) -> f64 {
        0.0
    }

    /// Returns the length of the shortest message if messages consist of whole numbers; all lengths
    /// are then multiples of a number's size.
    fn least_bytes(&self) -> Option<usize> {
        None
    }

    /// Returns the number of messages of a rank that are in memory at the same time.
    fn messages(&self, _: &Case) -> usize {
        2
    }
}

/// World, effort and memory for the measurement of a case.
#[derive(Clone, Copy)]
pub struct Stage<'s> {
    /// World opened for this mechanism alone.
    pub world: &'s dyn World,
    /// Transports that the world belongs to.
    pub transports: &'s dyn Transports,
    /// Effort for the whole case.
    pub effort: Effort,
    /// Private memory for walked messages.
    walk: &'s RefCell<Walk>,
    /// Bytes of private memory or of a window that each rank moving messages walks through.
    walk_bytes: usize,
}

/// Allocates `bytes` bytes, filled with `value`.
///
/// # Errors
/// [`CommError::OutOfMemory`].
fn block(bytes: usize, value: u8) -> Result<Vec<u8>, CommError> {
    let mut block = Vec::new();
    block.try_reserve_exact(bytes).map_err(|_| CommError::OutOfMemory { bytes })?;
    block.resize(bytes, value);
    Ok(block)
}

/// Computes for `duration` without any call.
pub(crate) fn compute_for(duration: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Returns 0, 8, 16 ... 8 MiB.
fn powers_of_two() -> Vec<usize> {
    [0].into_iter().chain((3..=23).map(|power| 1 << power)).collect()
}
