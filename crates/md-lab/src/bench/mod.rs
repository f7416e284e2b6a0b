//! Micro-benchmarks of the transports, with the same contexts as in a simulation. Each benchmark is
//! a file here and an entry in [`ALL`].

mod allreduce;
mod bandwidth;
mod barrier;
mod copy;
mod creation;
#[cfg(feature = "mpi")]
mod elementwise;
mod ground;
mod line;
mod machine;
mod negotiation;
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
mod series;
#[cfg(feature = "mpi")]
mod strided;
mod sync;
mod torus;
mod wakeup;
mod walk;

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use md_comm::monitor::Heartbeat;
use md_comm::{CommError, World};

use crate::sampling::Effort;
use crate::{Problem, Status, agree};
use crate::{Transports, in_words, name_of};
pub use copy::copy_bytes_per_s;
pub use ground::{Case, Distance, Ground, Mechanism};
pub use machine::{Machine, core_complexes};
pub(crate) use overlap::BLOCKS as PROGRESS_CALLS;
pub use picture::picture;
pub use rows::{Row, bench_csv, samples_csv, table};
use series::Series;
use torus::Torus;
pub use walk::largest_cache;
use walk::{Walk, walk_bytes};

/// All benchmarks, in the order in which they run.
pub static ALL: &[&dyn Benchmark] = &[
    &roundtrip::Roundtrip,
    &bandwidth::Bandwidth,
    &sync::Sync(Torus::Three),
    &sync::Sync(Torus::Two),
    &overlap::Overlap,
    &barrier::Barrier,
    &allreduce::Allreduce,
    &creation::Creation,
    &negotiation::Negotiation,
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

/// Settings of a run of benchmarks.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Time for all benchmarks together.
    pub budget: Duration,
    /// Samples per case; `None` to let the budget decide.
    pub samples: Option<usize>,
    /// Longest wait for other ranks.
    pub timeout: Duration,
    /// Ranks, transports and sizes.
    pub ground: Ground,
    /// Description of the machine for the rows.
    pub machine: Machine,
    /// Bytes of memory available to each rank; `None` if unknown.
    pub memory: Option<f64>,
    /// Size of the largest last-level cache, in bytes; see [`largest_cache`].
    pub last_cache_bytes: usize,
    /// Bytes that each rank moving messages walks through; `None` to choose what exceeds that
    /// cache.
    pub walk_bytes: Option<usize>,
}

impl Settings {
    /// Checks that the memory suffices; messages are buffered twice at both ends, and copied.
    fn expect_room(&self, benchmark: &dyn Benchmark, case: &Case) -> Result<(), Problem> {
        const COPIES: usize = 4;
        let needed = (COPIES * (benchmark.messages(case) + 1)) as f64 * case.bytes as f64;
        match self.memory {
            Some(there) if needed > there => {
                let [needed, there] = [needed, there].map(in_words);
                let note = format!("takes about {needed} of memory per rank, but there are {there}");
                Err(Problem::unavailable(note))
            }
            _ => Ok(()),
        }
    }
}

/// Checks the length of messages of a benchmark that moves whole numbers.
fn expect_length(benchmark: &dyn Benchmark, case: &Case) -> Result<(), Problem> {
    const NUMBER: usize = size_of::<f64>();
    match benchmark.least_bytes() {
        Some(least) if case.bytes < least || !case.bytes.is_multiple_of(NUMBER) => {
            let note = format!("moves whole numbers of {NUMBER} bytes, at least {least} bytes");
            Err(Problem::unavailable(note))
        }
        _ => Ok(()),
    }
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Cases that are done.
    pub done: usize,
    /// Total number of cases.
    pub of: usize,
    /// Cases skipped for lack of time.
    pub skipped: usize,
    /// Row of the next case, without results.
    pub next: Option<Row>,
}

/// Runs the benchmarks, case by case: first one case of each benchmark, then small messages before
/// large ones and two-sided before others. The remaining budget is shared by the remaining cases;
/// once it is used up they are skipped. A transport that fails is excluded from then on. The rows
/// are the same on all ranks, except for notes, which only rank 0 has. *Collective.*
///
/// # Errors
/// The world in which the ranks agree is broken.
pub fn run(
    transports: &dyn Transports,
    benchmarks: &[&dyn Benchmark],
    settings: &Settings,
    heartbeat: &Heartbeat,
    mut tell: impl FnMut(Progress, &[Row]),
) -> Result<Vec<Row>, CommError> {
    let mut cases: Vec<_> = benchmarks
        .iter()
        .flat_map(|&benchmark| {
            benchmark.cases(&settings.ground).into_iter().map(move |case| (benchmark, case))
        })
        .collect();
    cases.sort_by_key(|(_, case)| (case.bytes, case.mechanism.turn()));
    let mut known = HashSet::new();
    let (mut cases, others): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|(benchmark, _)| known.insert(benchmark.name()));
    cases.extend(others);
    let (begun, agreement) = (Instant::now(), transports.agreement());
    let walk = &RefCell::default();
    let (mut rows, mut worlds, mut skipped) = (Vec::new(), HashMap::new(), 0);
    for (done, (benchmark, case)) in cases.iter().enumerate() {
        let next = Some(empty(benchmark.name().to_owned(), case, settings));
        tell(Progress { done, of: cases.len(), skipped, next }, &rows);
        heartbeat.beat();
        let mut left_s = [settings.budget.as_secs_f64() - begun.elapsed().as_secs_f64()];
        agreement.max(&mut left_s)?;
        if left_s[0] <= benchmark.least_s(case) {
            skipped += 1;
            continue;
        }
        let fits = expect_length(*benchmark, case).and_then(|()| settings.expect_room(*benchmark, case));
        if let Err(exclusion) = fits {
            rows.push(failed(*benchmark, case, settings, exclusion));
            continue;
        }
        if let Entry::Vacant(place) = worlds.entry(case.mechanism) {
            let opened = open(transports, case.mechanism, settings.timeout);
            match agree(agreement, opened)? {
                Ok(world) => drop(place.insert(Some(world))),
                Err(exclusion) => {
                    place.insert(None);
                    rows.push(failed(*benchmark, case, settings, exclusion));
                }
            }
        }
        let Some(Some(world)) = worlds.get(&case.mechanism) else { continue };
        let budget_s = left_s[0] / (cases.len() - done) as f64;
        let effort = Effort { budget_s, limit_s: left_s[0], samples: settings.samples };
        let beyond_caches = || walk_bytes(case.distance, settings.last_cache_bytes, settings.memory);
        let walk_bytes = settings.walk_bytes.unwrap_or_else(beyond_caches);
        let stage = Stage { world: &**world, transports, effort, walk, walk_bytes };
        match agree(agreement, benchmark.run(case, &stage))? {
            Ok(series) => {
                let component = component(transports, &**world, case.mechanism);
                rows.extend(series.into_iter().filter_map(|series| {
                    Some(measured(*benchmark, case, settings, series, component.as_deref()))?
                }));
            }
            Err(exclusion) => {
                // Withdrawing pending messages may take long; MPI is not finalised after a world
                // has been left open.
                if exclusion.status != Status::Unavailable {
                    std::mem::forget(worlds.insert(case.mechanism, None));
                }
                rows.push(failed(*benchmark, case, settings, exclusion));
            }
        }
    }
    tell(Progress { done: cases.len(), of: cases.len(), skipped, next: None }, &rows);
    Ok(rows)
}

fn open(
    transports: &dyn Transports,
    mechanism: Mechanism,
    timeout: Duration,
) -> Result<Box<dyn World + '_>, Problem> {
    let (backend, options) = mechanism.carrier(transports.backends()[0]);
    backend.availability().map_err(Problem::unavailable)?;
    let world = transports.world(backend, options)?;
    world.set_watchdog(timeout);
    Ok(world)
}

/// Returns the component of the MPI library that moves the data of a mechanism's windows, if any.
fn component(transports: &dyn Transports, world: &dyn World, mechanism: Mechanism) -> Option<String> {
    #[cfg(feature = "mpi")]
    if mechanism.has_plain_windows() {
        return transports.mpi()?.platform().rma_component();
    }
    #[cfg(not(feature = "mpi"))]
    let _ = (transports, mechanism);
    world.platform().rma_component()
}

fn measured(
    benchmark: &dyn Benchmark,
    case: &Case,
    settings: &Settings,
    series: Series,
    component: Option<&str>,
) -> Option<Row> {
    let Series { part, samples_s, summary, bytes_moved, note } = series;
    let name =
        if part.is_empty() { benchmark.name().to_owned() } else { format!("{}-{part}", benchmark.name()) };
    let rma_component = component.unwrap_or("none").to_owned();
    let row = empty(name, case, settings);
    Some(Row { summary: Some(summary?), samples_s, bytes_moved, note, rma_component, ..row })
}

fn failed(benchmark: &dyn Benchmark, case: &Case, settings: &Settings, why: Problem) -> Row {
    let Problem { status, note } = why;
    Row { status, note, ..empty(benchmark.name().to_owned(), case, settings) }
}

fn empty(name: String, case: &Case, settings: &Settings) -> Row {
    Row {
        benchmark: name,
        mechanism: case.mechanism.name(),
        ranks: settings.ground.nodes.len(),
        bytes: case.bytes,
        summary: None,
        samples_s: Vec::new(),
        bytes_moved: 0.0,
        status: Status::Ok,
        note: String::new(),
        distance: name_of(case.distance),
        rma_component: "none".to_owned(),
        machine: settings.machine.clone(),
    }
}
