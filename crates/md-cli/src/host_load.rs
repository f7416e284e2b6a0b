//! Use of the host's cores by other programs during a run: it makes ranks wait although the
//! exchange is not at fault.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use md_comm::{CommError, World};
use md_scenario::messages::warn;

use crate::cores;

/// Clock ticks of `/proc` per second, the same on all of Linux (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;
/// Cores that other programs must use before the times of a run are attributed to them.
const BUSY_CORES: f64 = 0.1;
/// Shortest run that is judged: shorter ones are only a few ticks long.
const SHORTEST_S: f64 = 0.5;

/// CPU time of the host and of this process when a run began.
pub(crate) struct HostLoad {
    began: Instant,
    host_s: Option<f64>,
    own_s: Option<f64>,
}

/// Use of the cores of rank 0's host during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostUse {
    /// Mean number of cores used by other programs.
    pub by_others: f64,
    /// Number of all cores.
    pub cores: usize,
    /// Threads of all ranks of the job on this host.
    pub threads: usize,
}

impl HostLoad {
    /// Begins to count.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), host_s: host_s(), own_s: own_s() }
    }

    /// Returns the use of rank 0's host during a run of ranks with `threads` threads each; `None`
    /// where the system does not report it. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub(crate) fn host_use(&self, world: &dyn World, threads: usize) -> Result<Option<HostUse>, CommError> {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let own_s = own_s().zip(self.own_s).map_or(f64::NAN, |(now, then)| now - then);
        let mut hasher = DefaultHasher::new();
        gethostname::gethostname().hash(&mut hasher);
        let host = hasher.finish();
        let rank = [host, u64::from(std::process::id()), own_s.to_bits()];
        let all = world.gather_all(&rank.map(u64::to_ne_bytes).concat())?;
        let Some(host_s) = host_s().zip(self.host_s).map(|(now, then)| now - then) else { return Ok(None) };
        let JobOnHost { ranks, used_s } = JobOnHost::on(host, &all);
        let by_others = if elapsed_s < SHORTEST_S { 0.0 } else { ((host_s - used_s) / elapsed_s).max(0.0) };
        let found = HostUse { by_others, cores: cores::of_machine(), threads: ranks * threads };
        Ok(by_others.is_finite().then_some(found))
    }

    /// Prints a warning, on rank 0, if other programs used much of the cores during a measurement.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub(crate) fn warn_of_others(&self, world: &dyn World) -> Result<(), CommError> {
        let used = self.host_use(world, 1)?.filter(|used| world.rank() == 0 && used.has_others());
        if let Some(HostUse { by_others, cores, .. }) = used {
            warn(&format!(
                "other programs used {by_others:.1} of the {cores} cores during these measurements, so times are too long: measure \
                 again on an idle machine"
            ));
        }
        Ok(())
    }
}

impl HostUse {
    /// Returns whether other programs have used enough cores to affect the times of a run.
    pub fn has_others(&self) -> bool {
        self.by_others >= BUSY_CORES
    }

    /// Returns whether threads of the job have to take turns.
    pub fn is_oversubscribed(&self) -> bool {
        self.threads > self.cores
    }
}

/// Part of a job that is on one host.
#[derive(Debug, PartialEq)]
struct JobOnHost {
    ranks: usize,
    /// CPU time of all its processes, in seconds.
    used_s: f64,
}

impl JobOnHost {
    /// Sums up the processes on `host`. Ranks that are threads of one process all report the time
    /// of that process, which counts once.
    fn on(host: u64, gathered: &[u8]) -> Self {
        const WORD: usize = size_of::<u64>();
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let words: Vec<u64> = gathered.chunks_exact(WORD).map(word).collect();
        let mut processes: Vec<(u64, u64)> =
            words.chunks_exact(3).filter(|rank| rank[0] == host).map(|rank| (rank[1], rank[2])).collect();
        let ranks = processes.len();
        processes.sort_unstable();
        processes.dedup_by_key(|process| process.0);
        Self { ranks, used_s: processes.iter().map(|&(_, seconds)| f64::from_bits(seconds)).sum() }
    }
}

/// Returns the seconds in which the cores were not idle, summed over all cores and including time
/// that the hypervisor gave to other guests.
fn host_s() -> Option<f64> {
    busy_ticks(&fs::read_to_string("/proc/stat").ok()?).map(|ticks| ticks / TICKS_PER_S)
}

/// Returns the busy ticks of the first line: user, nice, system, idle, waiting for disks,
/// interrupts, soft interrupts, stolen.
fn busy_ticks(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _, _, interrupts, soft, stolen, ..] = ticks[..] else { return None };
    Some(user + nice + system + interrupts + soft + stolen)
}

/// Returns the CPU time of this process in seconds.
fn own_s() -> Option<f64> {
    process_ticks(&fs::read_to_string("/proc/self/stat").ok()?).map(|ticks| ticks / TICKS_PER_S)
}

/// Returns the sum of fields 14 and 15; the name in field 2 may contain spaces and brackets.
fn process_ticks(stat: &str) -> Option<f64> {
    /// Fields between the name and the time in user mode.
    const BETWEEN: usize = 11;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(BETWEEN);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_kernel_are_read() {
        assert_eq!(busy_ticks("cpu  10 20 30 4000 50 1 2 3 0 0\ncpu0 1"), Some(66.0));
        assert_eq!(busy_ticks("intr 5"), None);
        let stat = "77 (a) b) R 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert_eq!(process_ticks(stat), Some(300.0));
    }

    #[test]
    fn a_process_counts_once_and_other_hosts_do_not() {
        let rank = |host: u64, process: u64, seconds: f64| [host, process, seconds.to_bits()];
        let words = [rank(7, 1, 2.0), rank(7, 1, 2.0), rank(7, 2, 3.0), rank(8, 1, 9.0)].concat();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(JobOnHost::on(7, &bytes), JobOnHost { ranks: 3, used_s: 5.0 });
    }
}
