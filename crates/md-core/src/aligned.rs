//! Columns of 8-byte numbers that start on a cache line.
//!
//! A `Vec<f64>` starts wherever the allocator pleases; a SIMD load that straddles two cache lines costs twice. A column
//! is a `Vec` of whole cache lines seen as a slice of numbers, so it is aligned and its capacity is a multiple of the
//! widest vector, without any unsafe code. The disadvantage is that only 8-byte plain-data types fit.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Numbers per cache line: the widest vector of any supported CPU, in lanes of 8 bytes.
pub const LINE: usize = 8;

#[derive(Debug, Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct CacheLine([u64; LINE]);

/// A growable column of 8-byte numbers, 64-byte aligned. The storage beyond `len` up to the next multiple of [`LINE`]
/// holds zeros or stale values and may be read through [`Column::padded`].
#[derive(Debug, Clone, Default)]
pub struct Column<T> {
    lines: Vec<CacheLine>,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> Column<T> {
    const IS_EIGHT_BYTES: () = assert!(size_of::<T>() == 8, "columns hold 8-byte numbers");

    /// An empty column.
    pub fn new() -> Self {
        Self { lines: Vec::new(), len: 0, kind: PhantomData }
    }

    /// Sets the length; new elements are zero or stale.
    pub fn set_len(&mut self, len: usize) {
        let () = Self::IS_EIGHT_BYTES;
        let lines = len.div_ceil(LINE);
        if lines > self.lines.capacity() {
            self.lines.reserve(lines + lines / 16 - self.lines.len());
        }
        self.lines.resize(lines, CacheLine::zeroed());
        self.len = len;
    }

    /// Appends one element.
    pub fn push(&mut self, value: T) {
        let last = self.len;
        if last == self.lines.len() * LINE {
            self.lines.push(CacheLine::zeroed());
        }
        self.len += 1;
        self[last] = value;
    }

    /// Removes all elements, keeps the storage.
    pub fn clear(&mut self) {
        self.len = 0;
        self.lines.clear();
    }

    /// All elements and the padding up to a whole number of cache lines.
    pub fn padded(&self) -> &[T] {
        bytemuck::cast_slice(&self.lines)
    }

    /// All elements and the padding, writable.
    pub fn padded_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<CacheLine>()
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Pod> DerefMut for Column<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl<T: Pod> Extend<T> for Column<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<T: Pod> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut column = Self::new();
        column.extend(values);
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_cache_line_and_pads_to_one() {
        let column: Column<f64> = (0..19).map(f64::from).collect();
        assert_eq!(column.as_ptr() as usize % 64, 0);
        assert_eq!(column.len(), 19);
        assert_eq!(column.padded().len(), 24);
        assert_eq!(column[18], 18.0);
    }

    #[test]
    fn shrinking_and_growing_keeps_the_front() {
        let mut column: Column<u64> = (0..100).collect();
        column.set_len(10);
        column.set_len(1000);
        assert_eq!(column[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}
