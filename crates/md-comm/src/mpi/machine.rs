//! Detection of cores that several ranks of one machine can use only in turns.
//!
//! A launcher that regards each of its hosts as a machine binds the first rank of every host to the
//! same core, even if the hosts are containers or namespaces on one machine. The kernel's data are
//! therefore compared between ranks that are on one machine according to the kernel, whatever the
//! library regards as a node. Linux only: elsewhere no crowded cores are found.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::fs::read_to_string;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::world_state::WorldState;
use crate::{CommError, CrowdedCores};

const ALLOWED: &str = "Cpus_allowed_list:";

/// The values compared: hashes of the machine's boot and of the hardware threads that the rank may
/// use.
type Place = [u64; 2];

impl WorldState {
    /// Implements [`crate::Platform::crowded_cores`]. *Collective.*
    pub(super) fn crowded_cores(&self, threads: usize) -> Result<Option<CrowdedCores>, CommError> {
        if self.ranks == 1 {
            return Ok(None);
        }
        let read = |path: &str| read_to_string(path).unwrap_or_default();
        let status = read("/proc/self/status");
        let allowed = numbers(status.lines().find_map(|line| line.strip_prefix(ALLOWED)).unwrap_or_default());
        let online = numbers(&read("/sys/devices/system/cpu/online"));
        let place = [hash(&read("/proc/sys/kernel/random/boot_id")), hash(&allowed)];
        // Only the other ranks of the machine, however many ranks there are. Group numbers have 31
        // bits.
        let mut machine = self.communicator.split((place[0] >> 33) as c_int)?;
        let (_, members) = machine.rank_and_ranks()?;
        let all = machine.gather_all(bytemuck::cast_slice(&place).to_vec(), members, self.limit())?;
        machine.free()?;
        let all = bytemuck::pod_collect_to_vec::<u8, Place>(&all);
        let ranks = all.into_iter().filter(|other| *other == place).count();
        let found = CrowdedCores { ranks, cores: physical(&allowed) };
        let is_crowded = allowed.len() < online.len() && found.is_crowded(threads);
        Ok(from_word(self.highest(if is_crowded { to_word(found) } else { 0 })?))
    }
}

/// Returns a word whose order is most ranks first, then fewest cores.
fn to_word(CrowdedCores { ranks, cores }: CrowdedCores) -> u64 {
    (ranks as u64) << 32 | u64::from(u32::MAX - cores as u32)
}

fn from_word(word: u64) -> Option<CrowdedCores> {
    (word > 0)
        .then(|| CrowdedCores { ranks: (word >> 32) as usize, cores: (u32::MAX - word as u32) as usize })
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Parses a list: `0-2,5` gives 0, 1, 2, 5. Unreadable entries are left out.
fn numbers(list: &str) -> Vec<usize> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Returns the number of cores that hardware threads belong to.
fn physical(threads: &[usize]) -> usize {
    let siblings = |thread| format!("/sys/devices/system/cpu/cpu{thread}/topology/thread_siblings_list");
    let core = |thread| read_to_string(siblings(thread)).unwrap_or_else(|_| format!("{thread}"));
    threads.iter().map(core).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(numbers("\t0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!([numbers(""), numbers("x-3"), numbers("3-1")], [[]; 3].map(Vec::<usize>::from));
    }

    #[test]
    fn ranks_that_take_turns_are_crowded() {
        let on = |ranks, cores| CrowdedCores { ranks, cores };
        assert!(on(2, 1).is_crowded(1) && on(2, 3).is_crowded(2) && on(3, 2).is_crowded(1));
        assert!(!on(1, 1).is_crowded(2) && !on(2, 2).is_crowded(1) && !on(2, 0).is_crowded(1));
    }

    #[test]
    fn the_most_crowded_cores_are_the_highest_word() {
        let words = [(3, 1), (3, 2), (2, 1)].map(|(ranks, cores)| to_word(CrowdedCores { ranks, cores }));
        assert!(words.is_sorted_by(|a, b| a > b), "{words:?}");
        assert_eq!(from_word(words[1]), Some(CrowdedCores { ranks: 3, cores: 2 }));
        assert_eq!(from_word(0), None);
    }
}
