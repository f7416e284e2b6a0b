//! Memory that successive messages walk through, so that no cache holds their source and
//! destination.

use std::fs::read_to_string;

use md_comm::{CommError, World};

use super::{Distance, block};
use crate::in_words;

/// Minimum length of a walk in bytes: more than second-level caches hold.
pub(super) const LEAST_WALK: usize = 32 << 20;
/// Combined length of the walks of ranks that share a last-level cache, in units of its size.
const CACHES: usize = 2;
/// Largest share of a rank's memory that a walk may take.
const SHARE_OF_MEMORY: f64 = 0.1;
/// Bytes of a cache line; no two messages share one.
const LINE: usize = 64;

/// Private memory that is walked through from one message to the next, in all cases.
#[derive(Default)]
pub(super) struct Walk {
    memory: Vec<u8>,
    /// Bytes that the present case walks through.
    length: usize,
    /// Offset behind the last message.
    place: usize,
}

impl Walk {
    /// Sets the length of the walk, at least that of a message, and allocates the memory before
    /// anything is timed.
    pub(super) fn begin(&mut self, length: usize, message: usize) -> Result<(), CommError> {
        self.length = length.max(message);
        if self.memory.len() < self.length {
            self.memory = block(self.length, 1)?;
        }
        Ok(())
    }

    /// Returns the memory of the next message, which is at most as long as set by [`Self::begin`].
    pub(super) fn next(&mut self, bytes: usize) -> &mut [u8] {
        let bytes = bytes.min(self.length);
        let place = if self.place + bytes <= self.length { self.place } else { 0 };
        self.place = place + bytes.next_multiple_of(LINE);
        &mut self.memory[place..place + bytes]
    }
}

/// Returns the bytes that each rank that sends or receives walks through, given the bytes of the
/// last-level cache and of the memory per rank.
pub(super) fn walk_bytes(distance: Distance, last_cache: usize, memory: Option<f64>) -> usize {
    // Two ranks on one node share a cache, unless they are bound to two parts of it.
    let shared_by = if distance == Distance::Inside { 2 } else { 1 };
    let most = memory.map_or(usize::MAX, |bytes| (SHARE_OF_MEMORY * bytes) as usize);
    (CACHES * last_cache / shared_by).min(most).max(LEAST_WALK)
}

/// Returns the length of a walk in words, for a row.
pub(super) fn through(bytes: usize) -> String {
    format!("through {}", in_words(bytes as f64))
}

/// Returns the bytes of the largest last-level cache of all nodes; 0 if unknown. *Collective.*
///
/// # Errors
/// Failed communication.
pub fn largest_cache(world: &dyn World) -> Result<usize, CommError> {
    let mut largest = [last_cache().unwrap_or(0) as f64];
    world.max(&mut largest)?;
    Ok(largest[0] as usize)
}

/// Returns the bytes of the last cache of the first hardware thread; the last level has the highest
/// number.
fn last_cache() -> Option<usize> {
    let size =
        |level: usize| read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size")).ok();
    kibibytes((0..).map_while(size).last()?.trim())
}

/// Parses a size such as `32768K` into bytes.
fn kibibytes(text: &str) -> Option<usize> {
    Some(text.strip_suffix('K')?.parse::<usize>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_to_a_place_only_after_all_the_others() {
        let mut walk = Walk::default();
        walk.begin(256, 64).unwrap();
        let mut place = |bytes| walk.next(bytes).as_ptr().addr();
        let first = place(1);
        let places = [place(64), place(65), place(8)].map(|place| place - first);
        assert_eq!(places, [64, 128, 0], "the last does not fit behind the others");
        walk.begin(256, 1000).unwrap();
        assert_eq!(walk.next(1000).len(), 1000, "a message that is longer");
    }

    #[test]
    fn ranks_that_share_a_cache_share_the_walk_and_memory_bounds_it() {
        assert_eq!(kibibytes("491520K"), Some(480 << 20));
        assert_eq!(kibibytes("2M"), None);
        let cache = 100 << 20;
        let bytes = |distance, memory| walk_bytes(distance, cache, memory);
        assert_eq!(bytes(Distance::Inside, None), cache);
        assert_eq!([Distance::Across, Distance::Between].map(|it| bytes(it, None)), [2 * cache; 2]);
        assert_eq!(bytes(Distance::Inside, Some(5e8)), 50_000_000);
        assert_eq!(bytes(Distance::Inside, Some(1e6)), LEAST_WALK);
    }
}
