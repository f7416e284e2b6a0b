//! Description of the machine in each row.

use std::fs::read_to_string;
use std::time::{SystemTime, UNIX_EPOCH};

use md_comm::{CommError, World};
use serde::Serialize;

use crate::ROOT;

/// Columns of [`Machine`].
pub(super) const COLUMNS: &str = "mpi_library,host,version,cpu,binding,date";

/// Place and time of a measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// First line of the MPI library's version, or `none`.
    pub mpi_library: String,
    /// Host name of rank 0.
    pub host: String,
    /// Version of md.
    pub version: String,
    /// CPU model of rank 0.
    pub cpu: String,
    /// Hardware threads that each rank may use; complete on rank 0.
    pub binding: String,
    /// Date and time, UTC.
    pub date: String,
}

impl Machine {
    /// Collects the description of the machine of this world. *Collective.*
    ///
    /// # Errors
    /// Failed communication.
    pub fn of(world: &dyn World, host: String, version: &str) -> Result<Self, CommError> {
        let own = entry("/proc/self/status", "Cpus_allowed_list");
        let all = world.gather(ROOT, own.as_bytes())?;
        let binding: Vec<_> = all.iter().map(|list| String::from_utf8_lossy(list)).collect();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self {
            mpi_library: world.platform().library().lines().next().unwrap_or_default().to_owned(),
            host,
            cpu: entry("/proc/cpuinfo", "model name"),
            binding: binding.join(";"),
            date: date(seconds),
            version: version.to_owned(),
        })
    }
}

/// Returns the core complex of each rank, identified by the first hardware thread that shares its
/// last-level cache; `None` for a rank that may run on several complexes, or where this is unknown.
/// Ranks that are threads of a process have the complex of the process. *Collective.*
///
/// # Errors
/// Failed communication.
pub fn core_complexes(world: &dyn World) -> Result<Vec<Option<usize>>, CommError> {
    let mut all = vec![0.0; world.ranks()];
    all[world.rank()] = own_complex().map_or(0.0, |first| 1.0 + first as f64);
    world.max(&mut all)?;
    Ok(all.into_iter().map(|it| (it > 0.0).then_some(it as usize - usize::from(it > 0.0))).collect())
}

fn own_complex() -> Option<usize> {
    let allowed = numbers(&entry("/proc/self/status", "Cpus_allowed_list"))?;
    let caches = format!("/sys/devices/system/cpu/cpu{}/cache", allowed.first()?);
    let shared = |level: usize| read_to_string(format!("{caches}/index{level}/shared_cpu_list")).ok();
    // The last level has the highest number.
    let last = (0..).map_while(shared).last()?;
    let complex = numbers(last.trim())?;
    allowed.iter().all(|thread| complex.contains(thread)).then(|| complex[0])
}

/// Parses a list like `0-2,8`; `None` if it is not such a list.
fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last]: [Option<usize>; 2] = [first, last].map(|number| number.parse().ok());
        all.extend(first?..=last?);
    }
    (!all.is_empty()).then_some(all)
}

/// Returns the text behind the colon of the first line with this name.
fn entry(file: &str, name: &str) -> String {
    let text = read_to_string(file).unwrap_or_default();
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
    found.unwrap_or("unknown").trim().to_owned()
}

/// Formats seconds since 1970 as ISO 8601 (calendar algorithm of H. Hinnant, with years that begin
/// in March).
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = year + 400 * era + u64::from(month <= 2);
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_hardware_threads() {
        assert_eq!(numbers("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
        assert_eq!(["", "unknown", "3-1", "1-"].map(numbers), [None, None, None, None]);
    }

    #[test]
    fn dates() {
        let dates = [0, 951_782_399, 951_782_400, 1_735_689_599, 1_795_438_800].map(date);
        let expected = [
            "1970-01-01T00:00:00Z",
            "2000-02-28T23:59:59Z",
            "2000-02-29T00:00:00Z",
            "2024-12-31T23:59:59Z",
            "2026-11-23T13:00:00Z",
        ];
        assert_eq!(dates, expected);
    }
}
