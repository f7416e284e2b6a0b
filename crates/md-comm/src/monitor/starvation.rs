//! Time for which other ranks of this machine were ready to run but had no core.
//!
//! Where ranks share cores with other programs, a rank may wait for a peer that is only slow. The
//! kernel accounts for this (the second number of `/proc/PID/schedstat`, in nanoseconds), whereas a
//! rank that is stopped, or waits inside a blocking call, is not ready to run. Linux only: elsewhere
//! no such time is found.

use std::fs::read_to_string;
use std::time::Duration;

/// Accounts of the other processes of the same launcher at one moment.
#[derive(Debug, Clone)]
pub(super) struct Starvation {
    /// Process ids, and time without a core until then.
    begun: Vec<(u32, Duration)>,
}

impl Starvation {
    /// Reads the accounts. The other ranks are the other children of this process's parent.
    pub(super) fn begin() -> Self {
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap_or_default().trim();
        let children = read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        let others = children.split_whitespace().filter_map(|id| id.parse().ok());
        let others = others.filter(|id| *id != std::process::id());
        Self { begun: others.filter_map(|id| Some((id, without_core(id)?))).collect() }
    }

    /// Returns the longest time since then for which one of them had no core.
    pub(super) fn so_far(&self) -> Duration {
        let since = |&(id, then): &(u32, Duration)| without_core(id).map(|now| now.saturating_sub(then));
        self.begun.iter().filter_map(since).max().unwrap_or_default()
    }
}

fn without_core(process: u32) -> Option<Duration> {
    parse(&read_to_string(format!("/proc/{process}/schedstat")).ok()?)
}

fn parse(accounts: &str) -> Option<Duration> {
    accounts.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_counts() {
        assert_eq!(parse("8123 64035 1\n"), Some(Duration::from_nanos(64035)));
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_process_that_sleeps_lacks_no_core() {
        let Ok(mut child) = std::process::Command::new("sleep").arg("60").spawn() else { return };
        std::thread::sleep(Duration::from_millis(50));
        let starvation = Starvation {
            begun: without_core(child.id()).map(|then| (child.id(), then)).into_iter().collect(),
        };
        std::thread::sleep(Duration::from_millis(200));
        let lacked = starvation.so_far();
        child.kill().and_then(|()| child.wait()).expect("it is a child");
        assert!(lacked < Duration::from_millis(100), "{lacked:?}");
    }
}
