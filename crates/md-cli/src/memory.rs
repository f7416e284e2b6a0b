//! Memory that a run needs, compared with what the machine has before the simulation is set up.

use std::fs;
use std::path::Path;

use md_comm::{World, launch};
use md_engine::Setup;
use md_lab::in_words;
use md_lab::trace::EVENT_BYTES;

use crate::args::TraceArgs;
use crate::error::{Failure, RunError};
use crate::inputs::Inputs;
use crate::output::trajectory::format_of;
use crate::scenario::{Scenario, ScenarioError};

/// Variables in which launchers pass the number of ranks on this machine: Open MPI, MPICH and Intel
/// MPI.
const LOCAL_SIZE_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// Returns the bytes that this machine can still give to each of its ranks, of which this process
/// has `ranks` or, under a launcher, one; `None` where the system does not report them.
pub fn available(ranks: usize) -> Option<f64> {
    Some(of_machine()? / ranks_here(ranks))
}

/// Returns the number of ranks on this machine.
fn ranks_here(ranks: usize) -> f64 {
    let of_launcher = || LOCAL_SIZE_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    let ranks = match launch::processes_of_job() {
        Some(_) => of_launcher().unwrap_or(1),
        None => ranks,
    };
    ranks.max(1) as f64
}

/// Data that rank 0 gathers and writes as text, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathers {
    /// Nothing.
    Nothing,
    /// The frames of a trajectory.
    Frames,
    /// The forces on all particles.
    Forces,
}

impl Gathers {
    /// Returns what a run gathers.
    pub fn of_run(scenario: &Scenario) -> Self {
        let stages = scenario.stage.iter().filter_map(|stage| stage.output.as_ref()?.trajectory.as_ref());
        let trajectories = stages.chain(&scenario.output.trajectory);
        let gathered = trajectories.filter_map(|it| Some(format_of(&it.path)?.0.gathers));
        gathered.fold(Self::Nothing, |all, one| if all == Self::Nothing { one } else { all })
    }

    /// Returns the bytes needed on rank 0 in addition to what every rank needs, as measured:
    /// messages, ordered rows, and their text.
    fn bytes(self, setup: &Setup) -> f64 {
        const FRAME: f64 = 420.0;
        const FORCES: f64 = 240.0;
        let per_particle = match self {
            Self::Nothing => 0.0,
            Self::Frames => FRAME,
            Self::Forces => FORCES,
        };
        per_particle * setup.atoms() as f64
    }
}

/// Returns the smallest [`available`] of all ranks. *Collective.*
pub(crate) fn available_to_all(world: &dyn World) -> Result<Option<f64>, RunError> {
    let own = available(world.ranks()).unwrap_or(f64::INFINITY);
    let mut least = [-own];
    world.max(&mut least)?;
    Ok(Some(-least[0]).filter(|bytes| bytes.is_finite()))
}

/// Checks that every rank has enough memory for a set-up. *Collective.*
///
/// # Errors
/// The errors of [`expect`]; communication.
pub fn expect_on_all(
    world: &dyn World,
    inputs: &Inputs,
    setup: &Setup,
    gathers: Gathers,
) -> Result<(), RunError> {
    let mut share = [1.0 / ranks_here(world.ranks())];
    world.max(&mut share)?;
    let needed = setup.estimated_bytes() + gathers.bytes(setup) * share[0];
    expect_room(inputs, setup, needed, available_to_all(world)?)
}

/// Checks that each of `ranks` ranks of this machine has enough memory.
///
/// # Errors
/// The errors of [`expect`].
pub(crate) fn expect_here(
    inputs: &Inputs,
    setup: &Setup,
    gathers: Gathers,
    ranks: usize,
) -> Result<(), RunError> {
    let needed = setup.estimated_bytes() + gathers.bytes(setup) / ranks_here(ranks);
    expect_room(inputs, setup, needed, available(ranks))
}

/// Checks that each rank has enough memory where nothing is gathered.
///
/// # Errors
/// A system that is too large, located at its key.
pub fn expect(inputs: &Inputs, setup: &Setup, available: Option<f64>) -> Result<(), RunError> {
    expect_room(inputs, setup, setup.estimated_bytes(), available)
}

/// Lower bound of the memory of a particle, in bytes.
const LEAST_BYTES: f64 = 150.0;

/// Checks that each of `ranks` ranks of this machine has memory for its share of the particles.
///
/// # Errors
/// The errors of [`expect`].
pub(crate) fn expect_particles(inputs: &Inputs, atoms: u64, ranks: usize) -> Result<(), RunError> {
    expect_bytes(inputs, atoms, atoms as f64 / ranks as f64 * LEAST_BYTES, available(ranks))
}

/// Does what [`expect_particles`] does for the ranks of a world. *Collective.*
///
/// # Errors
/// The errors of [`expect`]; communication.
pub(crate) fn expect_particles_on_all(
    world: &dyn World,
    inputs: &Inputs,
    atoms: u64,
) -> Result<(), RunError> {
    let needed = atoms as f64 / world.ranks() as f64 * LEAST_BYTES;
    expect_bytes(inputs, atoms, needed, available_to_all(world)?)
}

fn expect_room(inputs: &Inputs, setup: &Setup, needed: f64, available: Option<f64>) -> Result<(), RunError> {
    expect_bytes(inputs, setup.atoms(), needed, available)
}

fn expect_bytes(inputs: &Inputs, atoms: u64, needed: f64, available: Option<f64>) -> Result<(), RunError> {
    let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
    let key = inputs.scenario.system.size_key();
    let here = format!("there are {} of memory per rank here", in_words(available));
    let (message, help) = match atoms {
        u64::MAX => ("more particles than can be counted".to_owned(), here),
        atoms => {
            let fitting = atoms as f64 * available / needed;
            let message = format!("{atoms} particles need about {} of memory per rank", in_words(needed));
            (message, format!("{here}, enough for about {fitting:.0e} particles"))
        }
    };
    Err(ScenarioError::at(&inputs.source, key, message, help).into())
}

/// Returns the remark of `check` on the memory that is needed.
pub(crate) fn remark(setup: &Setup, gathers: Gathers) -> String {
    let needed = setup.estimated_bytes();
    let rank_0 = match gathers {
        Gathers::Nothing => String::new(),
        _ => format!(", rank 0 about {}", in_words(needed + gathers.bytes(setup))),
    };
    format!("# needs about {} of memory per rank{rank_0}\n", in_words(needed))
}

/// Checks, before a file is read, that each rank can hold its part of it: particles take no less
/// memory than their text.
///
/// # Errors
/// The size of the file and that of the memory, in words.
pub(crate) fn expect_file(bytes: u64, ranks: usize) -> Result<(), String> {
    let available = available(ranks).unwrap_or(f64::INFINITY);
    if bytes as f64 / ranks as f64 <= available {
        return Ok(());
    }
    let [size, there] = [bytes as f64, available].map(in_words);
    Err(format!("it has {size}, but there are {there} of memory per rank here"))
}

/// Checks that there is memory for a text that takes `times` times its length.
///
/// # Errors
/// The size of the file and that of the memory, in words.
pub(crate) fn expect_text(bytes: u64, times: u64) -> Result<(), String> {
    let (needed, there) = (bytes as f64 * times as f64, of_machine().unwrap_or(f64::INFINITY));
    if needed <= there {
        return Ok(());
    }
    let [size, needed, there] = [bytes as f64, needed, there].map(in_words);
    Err(format!("it has {size}, for which about {needed} of memory are needed, but there are {there} here"))
}

/// There is no memory for the timeline.
#[derive(Debug, thiserror::Error)]
#[error("--trace-events {events} takes {needed} of memory per rank, but there are {there} per rank here")]
struct TooManyEvents {
    events: u64,
    needed: String,
    there: String,
}

impl Failure for TooManyEvents {}

/// Checks that every rank has room for the events of a timeline, if one is requested. *Collective.*
///
/// # Errors
/// [`TooManyEvents`]; communication.
pub(crate) fn expect_timeline(world: &dyn World, args: &TraceArgs) -> Result<(), RunError> {
    if args.trace.is_none() {
        return Ok(());
    }
    let (needed, events) = (args.trace_events as f64 * EVENT_BYTES as f64, args.trace_events);
    match available_to_all(world)? {
        Some(there) if needed > there => {
            Err(TooManyEvents { events, needed: in_words(needed), there: in_words(there) }.into())
        }
        _ => Ok(()),
    }
}

/// Returns the bytes that this machine, or the control groups of this process, can still give;
/// `None` where the system does not report them.
pub(crate) fn of_machine() -> Option<f64> {
    let groups = CONTROL_GROUPS.iter().map(ControlGroups::of_process);
    groups.chain([of_system()]).flatten().reduce(f64::min)
}

fn of_system() -> Option<f64> {
    Some(entry(Path::new("/proc/meminfo"), "MemAvailable:")? * 1024.0)
}

/// Files in which a version of Linux's control groups reports memory, in bytes.
struct ControlGroups {
    root: &'static str,
    /// Text before the path of the process's own group in `/proc/self/cgroup`.
    mark: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// Entry of `memory.stat`: the part of the usage that is files not read recently, which the
    /// system gives up first.
    reclaimable: &'static str,
}

const CONTROL_GROUPS: [ControlGroups; 2] = [
    ControlGroups {
        root: "/sys/fs/cgroup",
        mark: "0::",
        limit: "memory.max",
        usage: "memory.current",
        reclaimable: "inactive_file",
    },
    ControlGroups {
        root: "/sys/fs/cgroup/memory",
        mark: "memory:",
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        reclaimable: "total_inactive_file",
    },
];

impl ControlGroups {
    fn of_process(&self) -> Option<f64> {
        let text = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = text.lines().find_map(|line| line.split_once(self.mark))?.1;
        self.least(Path::new(self.root), own)
    }

    /// Returns the minimum over a group and all groups that contain it: the limit of each of them
    /// applies.
    fn least(&self, root: &Path, own: &str) -> Option<f64> {
        let own = root.join(own.trim_start_matches('/'));
        let groups = own.ancestors().take_while(|group| group.starts_with(root));
        groups.filter_map(|group| self.left(group)).reduce(f64::min)
    }

    /// Returns the bytes left in a group; `None` also for a group without a limit.
    fn left(&self, group: &Path) -> Option<f64> {
        let number = |file| fs::read_to_string(group.join(file)).ok()?.trim().parse::<f64>().ok();
        let reclaimable = entry(&group.join("memory.stat"), self.reclaimable).unwrap_or(0.0);
        Some((number(self.limit)? - number(self.usage)? + reclaimable).max(0.0))
    }
}

/// Returns the number after `name` at the beginning of a line.
fn entry(file: &Path, name: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let mut fields = text.lines().map(str::split_whitespace);
    fields
        .find_map(|mut fields| fields.next().filter(|first| *first == name).and(fields.next()))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_holds_and_cached_files_are_no_loss() {
        let folder = tempfile::tempdir().unwrap();
        let [v2, v1] = &CONTROL_GROUPS;
        let make = |version: &ControlGroups, group: &str, limit: &str, usage: &str, stat: &str| {
            let group = folder.path().join(group);
            fs::create_dir_all(&group).unwrap();
            let files = [(version.limit, limit), (version.usage, usage), ("memory.stat", stat)];
            files.iter().for_each(|(file, text)| fs::write(group.join(file), format!("{text}\n")).unwrap());
        };
        let least = |version: &ControlGroups| version.least(&folder.path().join("root"), "/job/task");
        make(v2, "root/job/task", "max", "700", "inactive_file 0");
        assert_eq!(least(v2), None);
        make(v2, "root/job", "1000", "700", "anon 300\ninactive_file 400\nactive_file 5");
        assert_eq!(least(v2), Some(700.0));
        make(v2, "root/job/task", "600", "700", "anon 700");
        assert_eq!(least(v2), Some(0.0));
        make(v2, ".", "1", "1", "");
        make(v1, "root", "5000", "1000", "inactive_file 7\ntotal_inactive_file 500");
        assert_eq!(least(v1), Some(4500.0));
    }

    #[test]
    fn this_machine_has_some_memory() {
        let all = available(1).unwrap();
        assert!(all > 1e7 && available(4).unwrap() < 0.5 * all, "{all}");
    }
}
