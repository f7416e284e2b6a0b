//! Micro-benchmarks of the transports, through the same contexts that a simulation uses. A benchmark is a file here and a line
//! in [`ALL`].

mod allreduce;
mod bandwidth;
mod barrier;
mod creation;
mod line;
mod machine;
mod negotiation;
mod overlap;
mod picture;
mod roundtrip;
mod rows;
mod series;
mod sync26;
mod torus;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use md_comm::monitor::Heartbeat;
use md_comm::{Backend, Blocking, CommError, Rank, RmaOptions, World};

use crate::compare::{Exclusion, Problem, Status, agree};
use crate::statistics::Summary;
use crate::{Transports, name_of};
pub use machine::Machine;
pub use picture::picture;
pub use rows::{Row, bench_csv, samples_csv, table};
use series::Series;

/// All benchmarks, in the order in which they run.
pub static ALL: [&dyn Benchmark; 8] = [
    &roundtrip::Roundtrip,
    &bandwidth::Bandwidth,
    &sync26::Sync26,
    &overlap::Overlap,
    &barrier::Barrier,
    &allreduce::Allreduce,
    &creation::Creation,
    &negotiation::Negotiation,
];

/// A micro-benchmark.
pub trait Benchmark: Sync {
    /// On the command line and in tables.
    fn name(&self) -> &'static str;

    /// What it measures, transport by transport.
    fn cases(&self, ground: &Ground) -> Vec<Case>;

    /// Measures one case. *Collective.*
    ///
    /// # Errors
    /// Communication, and messages that are wrong.
    fn run(&self, case: &Case, world: &dyn World, budget_s: f64) -> Result<Vec<Series>, Problem>;

    /// What moves the data.
    fn mechanism(&self, case: &Case) -> &'static str {
        case.backend.name()
    }
}

/// How far the ranks of a case are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// There is one rank.
    Own,
    /// On one node.
    Inside,
    /// On two nodes.
    Between,
    /// Some on one node and some on others.
    Mixed,
}

/// Where benchmarks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The transports that are wanted.
    pub backends: Vec<Backend>,
    /// The sizes that are wanted, bytes; `None`: the benchmark's own.
    pub sizes: Option<Vec<usize>>,
    /// Node of each rank, by its lowest rank.
    pub nodes: Vec<Rank>,
}

impl Ground {
    /// Every transport with every size.
    fn each(&self, own_sizes: &[usize], distance: Distance, peer: Rank) -> Vec<Case> {
        let sizes = self.sizes.as_deref().unwrap_or(own_sizes);
        let with =
            |&backend: &Backend| sizes.iter().map(move |&bytes| Case { backend, bytes, distance, peer });
        self.backends.iter().flat_map(with).collect()
    }

    /// Something that does not depend on the transport.
    fn once(&self, own_sizes: &[usize]) -> Vec<Case> {
        let alone = Self {
            backends: self.backends.first().copied().into_iter().collect(),
            sizes: None,
            ..self.clone()
        };
        alone.each(own_sizes, self.distance(), 0)
    }

    /// Of all ranks.
    fn distance(&self) -> Distance {
        match &self.nodes[..] {
            [_] => Distance::Own,
            [first, others @ ..] if others.iter().all(|other| other == first) => Distance::Inside,
            _ => Distance::Mixed,
        }
    }

    /// Partners of rank 0: the nearest on its node and the nearest on another; itself if it is alone.
    fn partners(&self) -> Vec<(Rank, Distance)> {
        let nearest = |is_here: bool| {
            (1..self.nodes.len()).find(|&rank| (self.nodes[rank] == self.nodes[0]) == is_here)
        };
        let inside = nearest(true).map(|rank| (rank, Distance::Inside));
        let between = nearest(false).map(|rank| (rank, Distance::Between));
        let found: Vec<_> = inside.into_iter().chain(between).collect();
        if found.is_empty() { vec![(0, Distance::Own)] } else { found }
    }
}

/// One measurement of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// What moves the messages.
    pub backend: Backend,
    /// Of one message.
    pub bytes: usize,
    /// Of the ranks.
    pub distance: Distance,
    /// Rank 0's partner, where there are two.
    pub peer: Rank,
}

/// The mechanism of what the world does.
const COLLECTIVE: &str = "collective";

/// 0, 8, 16 ... 8 MiB.
fn powers_of_two() -> Vec<usize> {
    [0].into_iter().chain((3..=23).map(|power| 1 << power)).collect()
}

/// How benchmarks run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// For all of them.
    pub budget: Duration,
    /// Longest wait for other ranks.
    pub timeout: Duration,
    /// Where.
    pub ground: Ground,
    /// For the rows.
    pub machine: Machine,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Cases that are done.
    pub done: usize,
    /// Cases in all.
    pub of: usize,
    /// The row of the next one, as long as nothing is known of it.
    pub next: Option<Row>,
}

/// Runs benchmarks one case after the other; what is left of the budget is shared by the cases to come. A transport that fails is left
/// out from then on. The rows are the same on all ranks, but for notes, which rank 0 has. *Collective.*
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
    // A call that hangs inside the MPI library ends the job, and what has not been measured is lost.
    cases.sort_by_key(|(_, case)| Blocking::ALL.iter().position(|&group| group == case.backend.blocking()));
    let (begun, agreement) = (Instant::now(), transports.agreement());
    let (mut rows, mut worlds) = (Vec::new(), HashMap::new());
    for (done, (benchmark, case)) in cases.iter().enumerate() {
        let next = Some(empty(benchmark.name().to_owned(), *benchmark, case, settings));
        tell(Progress { done, of: cases.len(), next }, &rows);
        heartbeat.beat();
        if let std::collections::hash_map::Entry::Vacant(place) = worlds.entry(case.backend) {
            let opened = open(transports, case.backend, settings.timeout);
            match agree(agreement, opened)? {
                Ok(world) => drop(place.insert(Some(world))),
                Err(exclusion) => {
                    place.insert(None);
                    rows.push(failed(*benchmark, case, settings, exclusion));
                }
            }
        }
        let Some(Some(world)) = worlds.get(&case.backend) else { continue };
        let mut left_s = [settings.budget.as_secs_f64() - begun.elapsed().as_secs_f64()];
        agreement.max(&mut left_s)?;
        let share_s = left_s[0].max(0.0) / (cases.len() - done) as f64;
        match agree(agreement, benchmark.run(case, &**world, share_s))? {
            Ok(series) => {
                let component = world.rma_component();
                rows.extend(series.into_iter().filter_map(|series| {
                    Some(measured(*benchmark, case, settings, series, component.as_deref()))?
                }));
            }
            Err(exclusion) => {
                rows.push(failed(*benchmark, case, settings, exclusion));
                // Taking back what is under way may take long.
                std::mem::forget(worlds.insert(case.backend, None));
            }
        }
    }
    tell(Progress { done: cases.len(), of: cases.len(), next: None }, &rows);
    Ok(rows)
}

fn open(
    transports: &dyn Transports,
    backend: Backend,
    timeout: Duration,
) -> Result<Box<dyn World + '_>, Problem> {
    backend.availability().map_err(Problem::unavailable)?;
    let world = transports.world(backend, RmaOptions::default())?;
    world.set_watchdog(timeout);
    Ok(world)
}

fn measured(
    benchmark: &dyn Benchmark,
    case: &Case,
    settings: &Settings,
    series: Series,
    component: Option<&str>,
) -> Option<Row> {
    let Series { part, samples_s, bytes_moved, note } = series;
    let summary = Summary::of(&samples_s)?;
    let name =
        if part.is_empty() { benchmark.name().to_owned() } else { format!("{}-{part}", benchmark.name()) };
    let rma_component = component.unwrap_or("none").to_owned();
    let row = empty(name, benchmark, case, settings);
    Some(Row { summary: Some(summary), samples_s, bytes_moved, note, rma_component, ..row })
}

fn failed(benchmark: &dyn Benchmark, case: &Case, settings: &Settings, why: Exclusion) -> Row {
    let Exclusion { status, note } = why;
    Row { status, note, ..empty(benchmark.name().to_owned(), benchmark, case, settings) }
}

fn empty(name: String, benchmark: &dyn Benchmark, case: &Case, settings: &Settings) -> Row {
    Row {
        benchmark: name,
        mechanism: benchmark.mechanism(case),
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
