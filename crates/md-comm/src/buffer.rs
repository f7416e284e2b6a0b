//! A byte buffer whose first byte is 64-byte aligned, without unsafe code.
//!
//! Structure: a vector of cache-line sized blocks, seen as bytes through `bytemuck`. Advantage: the alignment comes from
//! the type, so that packed `f64` arrays can be cast in place and rows start on a cache line. Disadvantage: memory is
//! zeroed once when it grows; it is never given back.
//!
//! Buffers of two pages and more start with a page, in a vector that is a page longer. Where the library lets the kernel copy large
//! messages from process to process (`process_vm_readv`), what a copy costs goes with the pages it touches.

use bytemuck::{Pod, Zeroable};

use crate::CommError;

/// Alignment of every buffer, in bytes: one cache line, and the widest SIMD register.
pub const ALIGNMENT: usize = 64;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Block([u8; ALIGNMENT]);

/// Of memory, in bytes, on most machines; on the others buffers start anywhere in one.
const PAGE: usize = 4096;

/// Growable bytes with an aligned start. Shrinking keeps the memory.
#[derive(Debug, Clone, Default)]
pub struct AlignedBuffer {
    blocks: Vec<Block>,
    /// The first block in use.
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// A zeroed buffer of `length` bytes.
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`].
    pub fn new(length: usize) -> Result<Self, CommError> {
        let mut buffer = Self::default();
        buffer.set_length(length)?;
        Ok(buffer)
    }

    /// Makes the buffer `length` bytes long; allocates only if it never was that long. New bytes are unspecified.
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`]; the buffer is as it was.
    pub fn set_length(&mut self, length: usize) -> Result<(), CommError> {
        if length > self.capacity() {
            self.grow(length)?;
        }
        self.length = length;
        Ok(())
    }

    /// Makes room for so many bytes, from a page on where they fill two. The vector may move, and with it the first page in it: what was
    /// there before goes along.
    fn grow(&mut self, length: usize) -> Result<(), CommError> {
        let before = self.start..self.blocks.len();
        let blocks = length.div_ceil(ALIGNMENT);
        let to_a_page = if blocks < 2 * PAGE / ALIGNMENT { 0 } else { PAGE / ALIGNMENT - 1 };
        let more = (blocks + to_a_page).saturating_sub(before.end);
        self.blocks.try_reserve(more).map_err(|_| CommError::OutOfMemory { bytes: length })?;
        self.blocks.resize(before.end + more, Block::zeroed());
        if to_a_page > 0 {
            self.start = self.blocks.as_ptr().addr().wrapping_neg() % PAGE / ALIGNMENT;
            let kept = before.start..before.end.min(before.start + self.blocks.len() - self.start);
            self.blocks.copy_within(kept, self.start);
        }
        Ok(())
    }

    /// Bytes that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        (self.blocks.len() - self.start) * ALIGNMENT
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks[self.start..])[..self.length]
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks[self.start..])[..self.length]
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

    #[test]
    fn long_ones_start_with_a_page_and_keep_their_bytes_when_they_grow() {
        let mut buffer = AlignedBuffer::new(100).unwrap();
        for length in [2 * PAGE - ALIGNMENT, 2 * PAGE - 1, 2 * PAGE, 3 * PAGE, 100 * PAGE + 1] {
            buffer.bytes_mut().fill(7);
            let before = buffer.bytes().len();
            buffer.set_length(length).unwrap();
            assert_eq!(buffer.bytes()[..before], vec![7; before]);
            assert_eq!(buffer.bytes().len(), length);
            let place = buffer.bytes().as_ptr() as usize;
            assert!(length <= 2 * PAGE - ALIGNMENT || place.is_multiple_of(PAGE), "{place:x}");
        }
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
