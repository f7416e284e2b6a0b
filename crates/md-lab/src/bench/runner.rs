//! Runs of benchmarks, case by case, within a budget of time.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use md_comm::monitor::Heartbeat;
use md_comm::{CommError, World};

use super::series::Series;
use super::walk::{Walk, walk_bytes};
use super::{Benchmark, Case, Ground, Machine, Mechanism, Row, Stage};
use crate::sampling::Effort;
use crate::{Problem, Status, Transports, agree, in_words, name_of};

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
    /// Size of the largest last-level cache, in bytes; see [`super::largest_cache`].
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
    let cases = in_order(benchmarks, &settings.ground);
    let (begun, agreement) = (Instant::now(), transports.agreement());
    let (mut rows, mut skipped) = (Vec::new(), 0);
    let mut runner = Runner { transports, settings, worlds: HashMap::new(), walk: RefCell::default() };
    for (done, &(benchmark, ref case)) in cases.iter().enumerate() {
        let next = Some(empty(benchmark.name().to_owned(), case, settings));
        tell(Progress { done, of: cases.len(), skipped, next }, &rows);
        heartbeat.beat();
        let mut left_s = [settings.budget.as_secs_f64() - begun.elapsed().as_secs_f64()];
        agreement.max(&mut left_s)?;
        let [limit_s] = left_s;
        if limit_s <= benchmark.least_s(case) {
            skipped += 1;
            continue;
        }
        let budget_s = limit_s / (cases.len() - done) as f64;
        match runner.rows(benchmark, case, Effort { budget_s, limit_s, samples: settings.samples })? {
            Ok(measured) => rows.extend(measured),
            Err(exclusion) => rows.push(failed(benchmark, case, settings, exclusion)),
        }
    }
    tell(Progress { done: cases.len(), of: cases.len(), skipped, next: None }, &rows);
    Ok(rows)
}

/// Returns the cases of all benchmarks in the order in which they run.
fn in_order<'b>(benchmarks: &[&'b dyn Benchmark], ground: &Ground) -> Vec<(&'b dyn Benchmark, Case)> {
    let of = |&benchmark: &&'b dyn Benchmark| {
        benchmark.cases(ground).into_iter().map(move |case| (benchmark, case))
    };
    let mut cases: Vec<_> = benchmarks.iter().flat_map(of).collect();
    cases.sort_by_key(|(_, case)| (case.bytes, case.mechanism.turn()));
    let mut known = HashSet::new();
    let (mut cases, others): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|(benchmark, _)| known.insert(benchmark.name()));
    cases.extend(others);
    cases
}

/// State that the cases of a run share.
struct Runner<'r> {
    transports: &'r dyn Transports,
    settings: &'r Settings,
    /// The world of each mechanism; `None` for one that is excluded.
    worlds: HashMap<Mechanism, Option<Box<dyn World + 'r>>>,
    walk: RefCell<Walk>,
}

impl Runner<'_> {
    /// Opens the world of a mechanism unless an earlier case has done so. *Collective.*
    fn open_once(&mut self, mechanism: Mechanism) -> Result<Result<(), Problem>, CommError> {
        let Entry::Vacant(place) = self.worlds.entry(mechanism) else { return Ok(Ok(())) };
        let opened = open(self.transports, mechanism, self.settings.timeout);
        let (world, outcome) = match agree(self.transports.agreement(), opened)? {
            Ok(world) => (Some(world), Ok(())),
            Err(exclusion) => (None, Err(exclusion)),
        };
        place.insert(world);
        Ok(outcome)
    }

    /// Measures a case and returns its rows: none if its mechanism is already excluded.
    /// *Collective.*
    ///
    /// # Errors
    /// The world in which the ranks agree is broken; in the inner result, the reason for which the
    /// case or its mechanism is excluded.
    fn rows(
        &mut self,
        benchmark: &dyn Benchmark,
        case: &Case,
        effort: Effort,
    ) -> Result<Result<Vec<Row>, Problem>, CommError> {
        let Self { transports, settings, .. } = *self;
        let fits = expect_length(benchmark, case).and_then(|()| settings.expect_room(benchmark, case));
        if let Err(exclusion) = fits {
            return Ok(Err(exclusion));
        }
        if let Err(exclusion) = self.open_once(case.mechanism)? {
            return Ok(Err(exclusion));
        }
        let Some(Some(world)) = self.worlds.get(&case.mechanism) else { return Ok(Ok(Vec::new())) };
        let world = &**world;
        let beyond_caches = || walk_bytes(case.distance, settings.last_cache_bytes, settings.memory);
        let walk_bytes = settings.walk_bytes.unwrap_or_else(beyond_caches);
        let stage = Stage { world, transports, effort, walk: &self.walk, walk_bytes };
        match agree(transports.agreement(), benchmark.run(case, &stage))? {
            Ok(series) => {
                let component = component(transports, world, case.mechanism);
                let row = |series| measured(benchmark, case, settings, series, component.as_deref());
                Ok(Ok(series.into_iter().filter_map(row).collect()))
            }
            Err(exclusion) => {
                // Withdrawing pending messages may take long; MPI is not finalised after a world
                // has been left open.
                if exclusion.status != Status::Unavailable {
                    std::mem::forget(self.worlds.insert(case.mechanism, None));
                }
                Ok(Err(exclusion))
            }
        }
    }
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
