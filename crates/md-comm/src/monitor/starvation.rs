//! Time for which other ranks of this machine were ready to run but had no core.
//!
//! Where ranks share cores with other programs, a rank may wait for a peer that is only slow. The
//! kernel accounts for it in `/proc/PID/schedstat`: nanoseconds on a core, and nanoseconds in a
//! queue for one. The latter are added when the process leaves the queue, so a process that is
//! still ready to run has lacked a core for the time that it was not on one. A rank that is
//! stopped, or waits inside a blocking call, is not ready to run. Linux only: elsewhere no such
//! time is found.

use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// Accounts of the other processes of the same launcher at one moment.
#[derive(Debug, Clone)]
pub(super) struct Starvation {
    begun: Instant,
    /// Process ids, and their accounts then.
    accounts: Vec<(u32, Account)>,
}

/// Time of a process on a core, and in a queue for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Account {
    on_core: Duration,
    queued: Duration,
}

impl Starvation {
    /// Reads the accounts. The other ranks are the other children of this process's parent.
    pub(super) fn begin() -> Self {
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap_or_default().trim();
        let children = read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        let others = children.split_whitespace().filter_map(|id| id.parse().ok());
        Self::of(others.filter(|id| *id != std::process::id()))
    }

    fn of(processes: impl Iterator<Item = u32>) -> Self {
        let accounts = processes.filter_map(|id| Some((id, account(id)?))).collect();
        Self { begun: Instant::now(), accounts }
    }

    /// Returns the longest time since then for which one of them had no core.
    pub(super) fn so_far(&self) -> Duration {
        let since = |&(id, then): &(u32, Account)| {
            let now = account(id)?;
            Some(if is_ready(&read_to_string(format!("/proc/{id}/stat")).ok()?) {
                self.begun.elapsed().saturating_sub(now.on_core.saturating_sub(then.on_core))
            } else {
                now.queued.saturating_sub(then.queued)
            })
        };
        self.accounts.iter().filter_map(since).max().unwrap_or_default()
    }
}

fn account(process: u32) -> Option<Account> {
    parse(&read_to_string(format!("/proc/{process}/schedstat")).ok()?)
}

fn parse(accounts: &str) -> Option<Account> {
    let mut times = accounts.split_whitespace().map(|number| number.parse().ok().map(Duration::from_nanos));
    Some(Account { on_core: times.next()??, queued: times.next()?? })
}

/// Returns whether a process runs or is ready to, from its `/proc/PID/stat`, in which the state
/// follows the name in parentheses.
fn is_ready(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_states_are_read() {
        let [on_core, queued] = [8123, 64035].map(Duration::from_nanos);
        assert_eq!(parse("8123 64035 1\n"), Some(Account { on_core, queued }));
        assert_eq!(parse("8123"), None);
        assert!(is_ready("17 (a (b) c) R 1 17") && !is_ready("17 (R) S 1 17"));
    }

    #[test]
    fn a_process_that_sleeps_lacks_no_core() {
        let Ok(mut child) = std::process::Command::new("sleep").arg("60").spawn() else { return };
        std::thread::sleep(Duration::from_millis(50));
        let starvation = Starvation::of(std::iter::once(child.id()));
        std::thread::sleep(Duration::from_millis(200));
        let lacked = starvation.so_far();
        child.kill().and_then(|()| child.wait()).expect("it is a child");
        assert!(lacked < Duration::from_millis(100), "{lacked:?}");
    }
}
