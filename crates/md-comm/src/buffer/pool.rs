//! Pieces of large pages for message buffers.
//!
//! Structure: blocks of [`LARGE_PAGE`] bytes, cut from front to back into pieces whose lengths are
//! powers of two; a piece that is dropped is kept for the next buffer of its length. Advantage: the
//! kernel copies large messages of other processes faster, the longer the more (measured in
//! docs/halo-exchange.md), and packing looks up fewer pages; one block serves all contexts of a
//! process. Disadvantage: a piece may be twice as long as its buffer, and what was taken stays
//! taken: of each length as many pieces as there were at a time, so that a buffer that grows leaves
//! at most its last length behind. Tools that look for errors of memory do not see where a piece
//! ends: for them there is none (`--cfg own_buffers`, `scripts/check-races.sh`).

use std::sync::{Mutex, PoisonError};

use bytemuck::allocation::try_zeroed_vec;
use bytemuck::{Pod, Zeroable};

use super::{ALIGNMENT, prefer_large_pages};

/// A page of the larger kind on most machines, in bytes.
pub(super) const LARGE_PAGE: usize = 2 << 20;

#[derive(Debug)]
struct Pool {
    /// The part that has not been cut yet.
    fresh: &'static mut [u8],
    dropped: Vec<&'static mut [u8]>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { fresh: &mut [], dropped: Vec::new() });

/// Part of a large page, which is reused after it is dropped.
#[derive(Debug)]
pub(super) struct Piece(&'static mut [u8]);

/// Takes a piece of at least this number of bytes, at most a large page. Returns `None` if there is
/// no memory.
pub(super) fn take(bytes: usize) -> Option<Piece> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let length = bytes.next_power_of_two();
    if let Some(kept) = pool.dropped.iter().position(|piece| piece.len() == length) {
        return Some(Piece(pool.dropped.swap_remove(kept)));
    }
    if pool.fresh.len() < length {
        let block = large_page()?;
        let rest = std::mem::replace(&mut pool.fresh, block);
        pool.keep(rest);
    }
    let (piece, rest) = std::mem::take(&mut pool.fresh).split_at_mut(length);
    pool.fresh = rest;
    Some(Piece(piece))
}

impl Pool {
    /// Keeps the rest of a block, in pieces.
    fn keep(&mut self, mut rest: &'static mut [u8]) {
        while let Some(log2) = rest.len().checked_ilog2() {
            let (piece, less) = rest.split_at_mut(1 << log2);
            self.dropped.push(piece);
            rest = less;
        }
    }
}

/// Returns memory that begins where such a page can, and has no pages yet, unless the allocator had
/// it.
fn large_page() -> Option<&'static mut [u8]> {
    let memory = try_zeroed_vec::<u8>(2 * LARGE_PAGE).ok()?.leak();
    prefer_large_pages(memory);
    let before = memory.as_ptr().addr().wrapping_neg() % LARGE_PAGE;
    Some(&mut memory[before..before + LARGE_PAGE])
}

/// The type whose slice is the empty piece, which must be aligned too.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Block([u8; ALIGNMENT]);

impl Piece {
    pub(super) fn empty() -> Self {
        Self(bytemuck::cast_slice_mut::<Block, _>(&mut []))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.dropped.push(std::mem::take(&mut self.0));
    }
}
