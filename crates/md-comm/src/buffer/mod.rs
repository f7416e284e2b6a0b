//! A byte buffer whose first byte is 64-byte aligned, without unsafe code.
//!
//! Structure: zeroed memory of the system's allocator; the bytes before the first aligned one are
//! not used.
//! Advantage: packed `f64` arrays can be cast in place, and rows start on a cache line.
//! Disadvantage: memory is never given back before the buffer is dropped.
//!
//! Buffers of two pages or more start with a page and lie in pages of megabytes ([`pool`]). If the
//! library lets the kernel copy large messages from process to process (`process_vm_readv`), the
//! cost of a copy grows with the number of pages that it touches.

mod ffi;
mod pool;

use bytemuck::allocation::try_zeroed_vec;

use self::pool::Piece;
use crate::CommError;
pub use ffi::prefer_large_pages;

/// Alignment of every buffer, in bytes: one cache line, and the widest SIMD register.
pub const ALIGNMENT: usize = 64;

/// Page size in bytes on most machines. On the others buffers start anywhere in a page.
const PAGE: usize = 4096;

/// Growable bytes with an aligned start. Shrinking keeps the memory.
///
/// ```
/// use md_comm::{ALIGNMENT, AlignedBuffer, CommError};
///
/// let mut buffer = AlignedBuffer::new(3 * size_of::<f64>())?;
/// assert_eq!(buffer.bytes().as_ptr().addr() % ALIGNMENT, 0);
/// // The alignment admits a view as numbers.
/// let numbers: &mut [f64] = bytemuck::cast_slice_mut(buffer.bytes_mut());
/// numbers.copy_from_slice(&[1.0, 2.0, 3.0]);
/// assert_eq!(buffer.bytes()[..8], 1f64.to_ne_bytes());
/// # Ok::<(), CommError>(())
/// ```
#[derive(Debug, Default)]
pub struct AlignedBuffer {
    memory: Memory,
    /// Bytes of the memory. Kept here because it is needed for every message.
    capacity: usize,
    length: usize,
}

/// Location of the bytes.
#[derive(Debug)]
enum Memory {
    /// In an allocation, from an aligned byte to its end.
    Own { memory: Vec<u8>, first: usize },
    /// In a large page, beside others; or nowhere, if there are none.
    Shared(Piece),
}

impl Default for Memory {
    fn default() -> Self {
        Self::Shared(Piece::empty())
    }
}

impl Memory {
    /// Allocates room for this number of bytes, which are zero or left by other buffers.
    fn of(bytes: usize) -> Result<Self, CommError> {
        let room = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|length| match length {
            ..SHARED_LEAST => Self::own(length, ALIGNMENT),
            SHARED_LEAST..=SHARED_MOST if !cfg!(own_buffers) => pool::take(length).map(Self::Shared),
            SHARED_LEAST..=SHARED_MOST => Self::own(length, PAGE),
            _ => Self::own(length, pool::LARGE_PAGE),
        });
        room.ok_or(CommError::OutOfMemory { bytes })
    }

    /// Allocates whole multiples of the alignment, at least one. Memory requested as zeros has no
    /// pages yet.
    fn own(bytes: usize, alignment: usize) -> Option<Self> {
        let length = bytes.checked_next_multiple_of(alignment)?;
        let mut memory: Vec<u8> = try_zeroed_vec(length.checked_add(alignment)?).ok()?;
        prefer_large_pages(&mut memory);
        let first = memory.as_ptr().addr().wrapping_neg() % alignment;
        memory.truncate(first + length);
        Some(Self::Own { memory, first })
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own { memory, first } => &memory[*first..],
            Self::Shared(piece) => piece.bytes(),
        }
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own { memory, first } => &mut memory[*first..],
            Self::Shared(piece) => piece.bytes_mut(),
        }
    }
}

/// Buffers from this number of bytes on share large pages.
const SHARED_LEAST: usize = 2 * PAGE;
/// Longer ones have large pages of their own.
const SHARED_MOST: usize = pool::LARGE_PAGE / 2;

impl AlignedBuffer {
    /// Creates a buffer of `length` bytes, which are unspecified.
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`].
    pub fn new(length: usize) -> Result<Self, CommError> {
        let mut buffer = Self::default();
        buffer.set_length(length)?;
        Ok(buffer)
    }

    /// Makes the buffer `length` bytes long; allocates only if it never was that long. New bytes
    /// are unspecified.
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`]; the buffer is as it was.
    #[inline]
    pub fn set_length(&mut self, length: usize) -> Result<(), CommError> {
        if length > self.capacity {
            self.grow(length)?;
        }
        self.length = length;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, least: usize) -> Result<(), CommError> {
        let mut memory = Memory::of(least)?;
        let before = self.memory.bytes();
        memory.bytes_mut()[..before.len()].copy_from_slice(before);
        (self.capacity, self.memory) = (memory.bytes().len(), memory);
        Ok(())
    }

    /// Returns the number of bytes that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[..self.length]
    }

    /// Returns the bytes for writing.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory.bytes_mut()[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_is_aligned_and_length_exact() {
        for length in [0, 1, 63, 64, 65, 1000] {
            let buffer = AlignedBuffer::new(length).unwrap();
            assert_eq!(buffer.bytes().len(), length);
            assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
        }
    }

    #[test]
    fn shrinking_and_growing_back_keeps_the_memory() {
        let mut buffer = AlignedBuffer::new(200).unwrap();
        buffer.bytes_mut().fill(7);
        let start = buffer.bytes().as_ptr();
        buffer.set_length(3).unwrap();
        assert_eq!(buffer.bytes(), [7; 3]);
        buffer.set_length(200).unwrap();
        assert_eq!(buffer.bytes().as_ptr(), start);
        assert_eq!(buffer.capacity(), 256);
    }

    /// A piece that one buffer has released is reused by the next; none is lost when several
    /// threads take and release pieces.
    #[test]
    fn pieces_of_large_pages_are_never_used_by_two() {
        let fill = |thread: u8| {
            let buffers = (1..20).map(|pages| AlignedBuffer::new(2 * PAGE + pages * PAGE).unwrap());
            let mut buffers: Vec<_> = buffers.collect();
            buffers.iter_mut().for_each(|buffer| buffer.bytes_mut().fill(thread));
            std::thread::yield_now();
            assert!(buffers.iter().all(|buffer| buffer.bytes().iter().all(|&byte| byte == thread)));
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..20).for_each(|_| fill(thread)));
            }
        });
    }

    /// The buffer grows page by page, as for the messages of a droplet that grows: none of the
    /// lengths in between is left behind.
    #[test]
    fn a_buffer_that_creeps_up_moves_when_its_length_has_doubled() {
        let mut buffer = AlignedBuffer::new(2 * PAGE).unwrap();
        let mut places = std::collections::BTreeSet::new();
        for length in (2 * PAGE..=SHARED_MOST).step_by(PAGE) {
            buffer.set_length(length).unwrap();
            places.insert(buffer.bytes().as_ptr());
        }
        let doublings = (SHARED_MOST / (2 * PAGE)).ilog2() as usize;
        assert!(cfg!(own_buffers) || places.len() == doublings + 1, "{}", places.len());
    }

    #[test]
    #[cfg_attr(miri, ignore = "the interpreter itself ends where there is no memory")]
    fn too_long_is_an_error_that_names_the_size() {
        let mut buffer = AlignedBuffer::new(7).unwrap();
        let error = buffer.set_length(1 << 62).unwrap_err().to_string();
        assert_eq!(
            error,
            "out of memory: there is no room for a message buffer of 4611686018427387904 bytes"
        );
        assert_eq!(buffer.bytes().len(), 7);
    }
}
