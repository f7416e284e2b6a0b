//! Memory that the machine can still give.

use std::fs;
use std::path::Path;

use md_comm::{World, launch};
use md_lab::in_words;
use md_scenario::failure::RunError;

/// Variables in which launchers pass the number of ranks on this machine: Open MPI, MPICH and Intel
/// MPI.
const LOCAL_SIZE_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// Returns the bytes that this machine can still give to each of its ranks, of which this process
/// has `ranks` or, under a launcher, one; `None` where the system does not report them.
pub fn available(ranks: usize) -> Option<f64> {
    Some(of_machine()? / ranks_here(ranks))
}

/// Returns the number of ranks on this machine.
pub fn ranks_here(ranks: usize) -> f64 {
    let of_launcher = || LOCAL_SIZE_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    let ranks = match launch::processes_of_job() {
        Some(_) => of_launcher().unwrap_or(1),
        None => ranks,
    };
    ranks.max(1) as f64
}

/// Returns the smallest [`available`] of all ranks. *Collective.*
pub fn available_to_all(world: &dyn World) -> Result<Option<f64>, RunError> {
    let own = available(world.ranks()).unwrap_or(f64::INFINITY);
    let mut least = [-own];
    world.max(&mut least)?;
    Ok(Some(-least[0]).filter(|bytes| bytes.is_finite()))
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
pub fn expect_text(bytes: u64, times: u64) -> Result<(), String> {
    let (needed, there) = (bytes as f64 * times as f64, of_machine().unwrap_or(f64::INFINITY));
    if needed <= there {
        return Ok(());
    }
    let [size, needed, there] = [bytes as f64, needed, there].map(in_words);
    Err(format!("it has {size}, for which about {needed} of memory are needed, but there are {there} here"))
}

/// Returns the bytes that this machine, or the control groups of this process, can still give;
/// `None` where the system does not report them.
pub fn of_machine() -> Option<f64> {
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
