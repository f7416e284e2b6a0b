//! Stores that bypass the caches, for data that are written now and read much later: the cache line
//! need not be read before it is written, and no other line is evicted.
#![expect(unsafe_code, reason = "streaming stores have no safe form; rules at each block")]

use bytemuck::Pod;

/// Unit of streaming stores, which are fast only if all of it is written.
const LINE_BYTES: usize = 64;

/// Columns that are written past the caches. They cannot be read before [`write_past_caches`]
/// returns, when the stores are done.
pub struct PastCaches<'c, T, const N: usize>([&'c mut [T]; N]);

/// Calls `write` with columns to be written past the caches, if the CPU supports it.
#[inline(always)]
pub fn write_past_caches<T: Pod, R, const N: usize>(
    columns: [&mut [T]; N],
    write: impl FnOnce(&mut PastCaches<'_, T, N>) -> R,
) -> R {
    // Dropped last, even if `write` panics.
    let _fence = Fence;
    write(&mut PastCaches(columns))
}

impl<T: Pod, const N: usize> PastCaches<'_, T, N> {
    /// Writes numbers of a column from `at` on: past the caches if they are whole cache lines
    /// there.
    ///
    /// # Panics
    /// Panics if there is no such column, or it ends before.
    #[inline(always)]
    pub fn store(&mut self, column: usize, at: usize, values: &[T]) {
        let to: &mut [u8] = bytemuck::cast_slice_mut(&mut self.0[column][at..][..values.len()]);
        let from: &[u8] = bytemuck::cast_slice(values);
        if to.as_ptr().addr().is_multiple_of(LINE_BYTES) && from.len().is_multiple_of(LINE_BYTES) {
            // SAFETY: as long as `from`, aligned, and borrowed, so that no code accesses it before
            // the fence of `write_past_caches`.
            // Test: flow.
            unsafe { stream(from, to.as_mut_ptr()) };
        } else {
            to.copy_from_slice(from);
        }
    }
}

/// Orders stores past the caches: all of them are visible before anything that is written after the
/// fence.
struct Fence;

impl Drop for Fence {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE is in every x86-64.
        // Test: none.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

/// Copies as much of `from` as `to` has room for, past the caches if the CPU supports it.
pub(crate) fn copy_streaming(from: &[u8], to: &mut [u8]) {
    let from = &from[..from.len().min(to.len())];
    // SAFETY: `to` has room for this number of bytes, and is borrowed exclusively.
    // Test: plain.
    unsafe { copy_past_caches(from, to.as_mut_ptr()) };
}

/// Copies `from` to `to` with streaming stores.
///
/// # Safety
/// `to` is valid for writes of `from.len()` bytes, which are not accessed by others meanwhile.
pub(super) unsafe fn copy_past_caches(from: &[u8], to: *mut u8) {
    // Streaming stores are not ordered among other stores: without the fence a flag could become
    // visible first.
    let _fence = Fence;
    let streamed = if to.addr().is_multiple_of(UNIT) { from.len() / UNIT * UNIT } else { 0 };
    let (whole, rest) = from.split_at(streamed);
    // SAFETY: the first part of both, aligned; then the rest of both.
    // Test: rough.
    unsafe {
        stream(whole, to);
        std::ptr::copy_nonoverlapping(rest.as_ptr(), to.add(streamed), rest.len());
    }
}

/// Bytes of a store.
const UNIT: usize = 16;

/// Copies whole units with streaming stores, which are seen in order only after a [`Fence`].
///
/// # Safety
/// `to` is valid for writes of `from.len()` bytes, a multiple of [`UNIT`], which are not accessed
/// by others before the fence; it is aligned to [`UNIT`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn stream(from: &[u8], to: *mut u8) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    for offset in (0..from.len()).step_by(UNIT) {
        // SAFETY: both ends hold `offset + UNIT` bytes; `to + offset` is aligned to UNIT. SSE2 is
        // in every x86-64.
        // Test: rough.
        unsafe { _mm_stream_si128(to.add(offset).cast(), _mm_loadu_si128(from.as_ptr().add(offset).cast())) };
    }
}

/// Copies with ordinary stores, on CPUs without streaming stores.
///
/// # Safety
/// `to` is valid for writes of `from.len()` bytes, which are not accessed by others meanwhile.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn stream(from: &[u8], to: *mut u8) {
    // SAFETY: as the caller promises.
    // Test: other.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlignedBuffer;

    #[test]
    fn what_is_stored_is_there_whether_lines_are_whole_or_not() {
        let values: Vec<f64> = (0..24).map(f64::from).collect();
        for start in [0, 1, 8] {
            for length in [0, 1, 7, 8, 16] {
                let mut buffer = AlignedBuffer::new(64 * 8).unwrap();
                let column: &mut [f64] = bytemuck::cast_slice_mut(buffer.bytes_mut());
                write_past_caches([&mut *column], |columns| columns.store(0, start, &values[..length]));
                assert_eq!(column[start..][..length], values[..length]);
                assert!(column[..start].iter().chain(&column[start + length..]).all(|&value| value == 0.0));
            }
        }
    }
}
