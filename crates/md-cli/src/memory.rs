//! What a run needs of memory, held against what the machine has, before anything is allocated.

use std::fs;

use md_comm::{World, launch};
use md_engine::Setup;

use crate::error::RunError;
use crate::inputs::Inputs;
use crate::scenario::ScenarioError;

/// Variables in which launchers tell the number of ranks on this machine: Open MPI, MPICH and Intel MPI.
const LOCAL_SIZE_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// Bytes that this machine can still give to each of its ranks, of which this process has `ranks` or, under a
/// launcher, one; `None` where the system does not tell.
pub fn available(ranks: usize) -> Option<f64> {
    let of_launcher = || LOCAL_SIZE_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    let ranks = match launch::started_by_launcher() {
        Some(_) => of_launcher().unwrap_or(1),
        None => ranks,
    };
    Some(of_machine()? / ranks.max(1) as f64)
}

/// The same for every rank: what the one with the least has. *Collective.*
fn available_to_all(world: &dyn World) -> Result<Option<f64>, RunError> {
    let own = available(world.ranks()).unwrap_or(f64::INFINITY);
    let mut least = [-own];
    world.max(&mut least)?;
    Ok(Some(-least[0]).filter(|bytes| bytes.is_finite()))
}

/// Makes sure that there is enough memory for a set-up on every rank. *Collective.*
///
/// # Errors
/// As [`expect`]; communication.
pub fn expect_on_all(world: &dyn World, inputs: &Inputs, setup: &Setup) -> Result<(), RunError> {
    expect(inputs, setup, available_to_all(world)?)
}

/// Makes sure that each rank has enough memory.
///
/// # Errors
/// A system that is too large, at its key.
pub fn expect(inputs: &Inputs, setup: &Setup, available: Option<f64>) -> Result<(), RunError> {
    let needed = setup.estimated_bytes();
    let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
    let key = if inputs.scenario.system.file.is_some() { "system.file" } else { "system.lattice.cells" };
    let atoms = match setup.atoms() {
        u64::MAX => "more particles than can be counted".to_owned(),
        atoms => format!("{atoms} particles"),
    };
    let message = format!("{atoms} need about {} of memory per rank", in_words(needed));
    let fitting = setup.atoms() as f64 * available / needed;
    let help =
        format!("there are {} per rank here, enough for about {fitting:.0e} particles", in_words(available));
    Err(ScenarioError::at(&inputs.source, key, message, help).into())
}

/// What `check` says about it.
pub(crate) fn remark(setup: &Setup) -> String {
    format!("# needs about {} of memory per rank\n", in_words(setup.estimated_bytes()))
}

/// Bytes that this machine, or the group of processes that this one belongs to, can still give.
fn of_machine() -> Option<f64> {
    let limits = [of_system(), of_group_v2(), of_group_v1()];
    limits.into_iter().flatten().reduce(f64::min)
}

fn of_system() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

fn of_group_v2() -> Option<f64> {
    let path = group("0::")?;
    let folder = format!("/sys/fs/cgroup{path}");
    Some(number(&folder, "memory.max")? - number(&folder, "memory.current")?)
}

fn of_group_v1() -> Option<f64> {
    let path = group("memory:")?;
    let folder = format!("/sys/fs/cgroup/memory{path}");
    Some(number(&folder, "memory.limit_in_bytes")? - number(&folder, "memory.usage_in_bytes")?)
}

/// Path of this process's group, of the line of `/proc/self/cgroup` with this mark.
fn group(mark: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    text.lines().find_map(|line| line.split_once(mark)).map(|(_, path)| path.to_owned())
}

/// `None` for `max` too.
fn number(folder: &str, file: &str) -> Option<f64> {
    fs::read_to_string(format!("{folder}/{file}")).ok()?.trim().parse().ok()
}

/// Bytes for people.
fn in_words(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let power = ((bytes.max(1.0).log10() / 3.0) as usize).clamp(1, UNITS.len());
    let number = bytes / 1000f64.powi(power as i32);
    if number < 10.0 {
        format!("{number:.1} {}", UNITS[power - 1])
    } else {
        format!("{number:.0} {}", UNITS[power - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_sensible_units() {
        let words = [0.0, 2.1e7, 1.46e9, 23e9, 4.2e18, 1e22].map(in_words);
        assert_eq!(words, ["0.0 kB", "21 MB", "1.5 GB", "23 GB", "4.2 EB", "10000 EB"]);
    }

    #[test]
    fn this_machine_has_some_memory() {
        let all = available(1).unwrap();
        assert!(all > 1e7 && available(4).unwrap() < 0.5 * all, "{all}");
    }
}
