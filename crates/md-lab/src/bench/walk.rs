//! Memory through which messages walk, so that no cache holds where they are from and where they go.

use std::cell::{Cell, RefCell};
use std::fs::read_to_string;

use md_comm::{CommError, Rank, World};

use super::block;

/// More than second-level caches hold.
pub(super) const LEAST_WALK: usize = 32 << 20;
/// All ranks of a node go through so many times what its last cache holds.
const CACHES: usize = 2;
/// Of a rank's memory a walk may take this part.
const SHARE_OF_MEMORY: f64 = 0.1;
/// Bytes of a cache line: no two messages share one.
const LINE: usize = 64;

/// Private memory that is gone through from one message to the next, over all cases.
pub struct Walk {
    memory: RefCell<Vec<u8>>,
    bytes: usize,
    /// Behind the last message.
    place: Cell<usize>,
}

impl Walk {
    /// Of so many bytes, which [`Self::begin`] takes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { memory: RefCell::default(), bytes, place: Cell::new(0) }
    }

    /// Makes sure that there is memory for messages of so many bytes, before anything is timed.
    pub(super) fn begin(&self, bytes: usize) -> Result<(), CommError> {
        let (mut memory, length) = (self.memory.borrow_mut(), self.bytes.max(bytes));
        if memory.len() < length {
            *memory = block(length, 1)?;
        }
        Ok(())
    }

    /// Works on the next so many bytes.
    pub(super) fn next(&self, bytes: usize, work: impl FnOnce(&mut [u8])) {
        let mut memory = self.memory.borrow_mut();
        let place = if self.place.get() + bytes <= memory.len() { self.place.get() } else { 0 };
        self.place.set(place + bytes.next_multiple_of(LINE));
        work(&mut memory[place..place + bytes]);
    }
}

/// What each rank's part of a walk has to be, the same on all, where `nodes` has the node of each rank and each can have so much memory. *Collective.*
///
/// # Errors
/// Communication.
pub fn walk_bytes(world: &dyn World, nodes: &[Rank], memory: Option<f64>) -> Result<usize, CommError> {
    let wanted = part_of_walk(last_cache().unwrap_or(0), nodes, world.rank(), memory);
    let mut least = [-(wanted as f64)];
    world.max(&mut least)?;
    Ok(-least[0] as usize)
}

fn part_of_walk(last_cache: usize, nodes: &[Rank], rank: Rank, memory: Option<f64>) -> usize {
    let beside = nodes.iter().filter(|node| **node == nodes[rank]).count();
    let most = memory.map_or(usize::MAX, |bytes| (SHARE_OF_MEMORY * bytes) as usize);
    (CACHES * last_cache / beside.max(1)).min(most).max(LEAST_WALK)
}

/// Bytes of the last cache of the first hardware thread; the last level has the highest number.
fn last_cache() -> Option<usize> {
    let size =
        |level: usize| read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size")).ok();
    kibibytes((0..).map_while(size).last()?.trim())
}

/// `32768K` in bytes.
fn kibibytes(text: &str) -> Option<usize> {
    Some(text.strip_suffix('K')?.parse::<usize>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_to_a_place_only_after_all_the_others() {
        let walk = Walk::new(256);
        walk.begin(64).unwrap();
        let place = |bytes| {
            let mut place = 0;
            walk.next(bytes, |memory| place = memory.as_ptr().addr());
            place
        };
        let first = place(1);
        let places = [place(64), place(65), place(8)].map(|place| place - first);
        assert_eq!(places, [64, 128, 0], "the last does not fit behind the others");
    }

    #[test]
    fn ranks_of_a_node_share_the_walk_and_memory_bounds_it() {
        assert_eq!(kibibytes("491520K"), Some(480 << 20));
        assert_eq!(kibibytes("2M"), None);
        let cache = 100 << 20;
        assert_eq!(part_of_walk(cache, &[0, 1], 1, None), 2 * cache);
        assert_eq!(part_of_walk(cache, &[0, 0], 1, None), cache);
        assert_eq!(part_of_walk(cache, &[0, 0], 0, Some(5e8)), 50_000_000);
        assert_eq!(part_of_walk(cache, &[0, 0], 0, Some(1e6)), LEAST_WALK);
    }
}
