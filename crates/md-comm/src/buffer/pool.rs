//! Pieces of large pages for message buffers.
//!
//! Structure: blocks of [`LARGE_PAGE`] bytes that are cut into pieces of whole pages, from front to back; a piece that is dropped is kept for
//! the next buffer of about its length. Advantage: the kernel copies large messages of other processes faster, the longer the more (measured in
//! docs/halo-exchange.md), and packing looks up fewer pages; one block serves all contexts of a process. Disadvantage: what was taken stays
//! taken, at most twice what buffers of about one length had at a time.

use std::sync::{Mutex, PoisonError};

use bytemuck::allocation::try_zeroed_vec;

use super::PAGE;
use crate::prefer_large_pages;

/// A page of the larger kind on most machines, in bytes.
pub(super) const LARGE_PAGE: usize = 2 << 20;
/// A piece is not given to a buffer that needs less than a part of it.
const MOST_SPARE: usize = 2;

#[derive(Debug)]
struct Pool {
    /// What has not been cut yet.
    fresh: &'static mut [u8],
    dropped: Vec<&'static mut [u8]>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { fresh: &mut [], dropped: Vec::new() });

/// Part of a large page. Dropped, it is there for others.
#[derive(Debug)]
pub(super) struct Piece(&'static mut [u8]);

/// A piece of at least so many bytes, at most a large page; `None` if there is no memory.
pub(super) fn take(bytes: usize) -> Option<Piece> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let needed = bytes.next_multiple_of(PAGE);
    if let Some(kept) = pool.best_of_dropped(needed) {
        return Some(Piece(kept));
    }
    if pool.fresh.len() < needed {
        let block = large_page()?;
        let rest = std::mem::replace(&mut pool.fresh, block);
        pool.dropped.push(rest);
    }
    let (piece, rest) = std::mem::take(&mut pool.fresh).split_at_mut(needed);
    pool.fresh = rest;
    Some(Piece(piece))
}

impl Pool {
    /// The shortest that is long enough, unless it is much too long.
    fn best_of_dropped(&mut self, needed: usize) -> Option<&'static mut [u8]> {
        let fits = |length| (needed..=MOST_SPARE * needed).contains(&length);
        let lengths = self.dropped.iter().map(|it| it.len()).enumerate();
        let (best, _) = lengths.filter(|&(_, length)| fits(length)).min_by_key(|&(_, length)| length)?;
        Some(self.dropped.swap_remove(best))
    }
}

/// Memory that begins where such a page can, and has no pages yet.
fn large_page() -> Option<&'static mut [u8]> {
    let memory = try_zeroed_vec::<u8>(2 * LARGE_PAGE).ok()?.leak();
    prefer_large_pages(memory);
    let before = memory.as_ptr().addr().wrapping_neg() % LARGE_PAGE;
    Some(&mut memory[before..before + LARGE_PAGE])
}

impl Piece {
    pub(super) fn bytes(&self) -> &[u8] {
        self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.dropped.push(std::mem::take(&mut self.0));
    }
}
