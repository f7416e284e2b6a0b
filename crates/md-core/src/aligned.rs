//! Columns of 8-byte numbers that start on a cache line.
//!
//! The data of a `Vec<f64>` may start anywhere, and a SIMD load that straddles two cache lines
//! takes twice as long. A column is a `Vec` of whole cache lines viewed as a slice of numbers. It
//! is therefore aligned, and its capacity is a multiple of the widest vector, without any unsafe
//! code. The disadvantage is that it only holds plain-data types of 8 bytes.
//!
//! ```text
//! page      |----------------|----------------|----------------|
//! x         [0 1 2 3 ..                                           place 0
//! y            |------------ [0 1 2 3 ..                          place 1
//! z               |-------------[0 1 2 3 ..                       place 2
//! ```
//!
//! Large allocations start on a page, so x, y, z and the forces of one particle would all lie at
//! the same offset within a page. A CPU that searches for an earlier store to the address of a load
//! compares these 12 bits of the address first and takes such addresses for the same one (*4K
//! aliasing*). The columns also compete for one set of the first-level cache. A sweep over 8
//! million atoms took twice the time per atom. Columns that are used together therefore start at
//! different [`Place`]s, which are offsets within a page.

use crate::memory;
use bytemuck::{Pod, TransparentWrapper, Zeroable};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// Numbers per cache line, which is also the number of 8-byte lanes in the widest vector of any
/// supported CPU.
pub const LINE: usize = 8;

/// Cache lines in a page: addresses that differ by a multiple of this collide in 4K aliasing.
const PAGE: usize = 64;

/// Cache lines between consecutive places; 16 places fit in a page.
const STEP: usize = 4;

/// One cache line of numbers.
#[derive(Debug, Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
pub struct CacheLine([u64; LINE]);

/// Offset within a page at which a column starts. Columns that a loop reads together have different
/// places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// Coordinates: three places.
    #[default]
    Position = 0,
    /// Velocities, or sums that are accumulated during a sweep: three places.
    Velocity = 3,
    /// Forces: three places.
    Force = 6,
    /// Global ids.
    Id = 9,
    /// Species.
    Species = 10,
    /// Scratch column that swaps storage with the columns that have ghosts when these are sorted.
    Scratch = 11,
    /// Scratch column that swaps storage with columns of owned particles.
    OwnedScratch = 12,
    /// Forces that one thread accumulates for other threads: three places.
    Reaction = 13,
    /// Everything else.
    Other = 15,
}

/// The bits of a growable column of 8-byte numbers, 64-byte aligned.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    lines: Vec<CacheLine>,
    /// Lines before the first element.
    lead: usize,
    place: usize,
    len: usize,
}

impl Storage {
    /// Creates empty storage that will start at `place`.
    pub(crate) fn at(place: Place) -> Self {
        Self { place: place as usize, ..Self::default() }
    }

    /// See [`Column::reserve`].
    fn reserve(&mut self, len: usize, prepare: impl FnOnce(&mut [MaybeUninit<CacheLine>])) {
        let lines = len.div_ceil(LINE);
        if self.lead + lines > self.lines.capacity() {
            let mut storage: Vec<CacheLine> = memory::with_capacity(lines + lines / 16 + PAGE);
            prepare(storage.spare_capacity_mut());
            self.move_to(storage);
        }
    }

    /// See [`Column::set_len`].
    pub(crate) fn set_len(&mut self, len: usize) {
        self.reserve(len, |_| ());
        let lines = len.div_ceil(LINE);
        self.lines.resize(self.lead + lines, CacheLine::zeroed());
        self.len = len;
    }

    /// Moves the elements to `storage`, which is empty, at the offset from the start of a page
    /// given by the place.
    fn move_to(&mut self, mut storage: Vec<CacheLine>) {
        let start = storage.as_ptr().addr() / size_of::<CacheLine>();
        let lead = (self.place * STEP).wrapping_sub(start) % PAGE;
        storage.resize(lead, CacheLine::zeroed());
        storage.extend_from_slice(&self.lines[self.lead..]);
        (self.lines, self.lead) = (storage, lead);
    }
}

impl Deref for Storage {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        &bytemuck::cast_slice(&self.lines[self.lead..])[..self.len]
    }
}

impl DerefMut for Storage {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut bytemuck::cast_slice_mut(&mut self.lines[self.lead..])[..self.len]
    }
}

impl Clone for Storage {
    fn clone(&self) -> Self {
        let mut clone = Self { place: self.place, ..Self::default() };
        clone.set_len(self.len);
        clone.copy_from_slice(self);
        clone
    }
}

/// A growable column of 8-byte numbers, 64-byte aligned. The storage beyond `len` up to the next
/// multiple of [`LINE`] holds zeros or stale values and may be read through [`Column::padded`].
#[derive(Debug, Clone, Default, TransparentWrapper)]
#[repr(transparent)]
#[transparent(Storage)]
pub struct Column<T> {
    storage: Storage,
    kind: PhantomData<T>,
}

impl<T: Pod> Column<T> {
    const IS_EIGHT_BYTES: () = assert!(size_of::<T>() == 8, "columns hold 8-byte numbers");

    /// Creates an empty column that will start at `place`.
    pub fn at(place: Place) -> Self {
        Self::at_step(place as usize)
    }

    /// Creates three empty columns at `first` and the next two places.
    pub fn three_from(first: Place) -> [Self; 3] {
        [0, 1, 2].map(|dim| Self::at_step(first as usize + dim))
    }

    fn at_step(place: usize) -> Self {
        let () = Self::IS_EIGHT_BYTES;
        Self { storage: Storage { place, ..Storage::default() }, kind: PhantomData }
    }

    /// Makes room for `len` elements. If this allocates new memory, `prepare` is called with it
    /// before anything is written there.
    pub fn reserve(&mut self, len: usize, prepare: impl FnOnce(&mut [MaybeUninit<CacheLine>])) {
        self.storage.reserve(len, prepare);
    }

    /// Sets the length; new elements are zero or stale.
    pub fn set_len(&mut self, len: usize) {
        self.storage.set_len(len);
    }

    /// Returns all elements and the padding up to a whole number of cache lines.
    pub fn padded(&self) -> &[T] {
        bytemuck::cast_slice(&self.storage.lines[self.storage.lead..])
    }

    /// Returns all elements and the padding, writable.
    pub fn padded_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.storage.lines[self.storage.lead..])
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.storage)
    }
}

impl<T: Pod> DerefMut for Column<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.storage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_cache_line_and_pads_to_one() {
        let mut column = Column::<f64>::default();
        column.set_len(19);
        assert_eq!(column.as_ptr() as usize % 64, 0);
        assert_eq!(column.len(), 19);
        assert_eq!(column.padded().len(), 24);
    }

    #[test]
    fn columns_of_different_places_start_at_different_distances_from_a_page() {
        let distance = |column: &Column<u64>| column.as_ptr() as usize % 4096;
        let mut columns: Vec<Column<u64>> = (0..16).map(Column::at_step).collect();
        for len in [1, 1000, 100_000] {
            columns.iter_mut().for_each(|column| column.set_len(len));
            let distances: Vec<usize> = columns.iter().map(distance).collect();
            assert_eq!(distances, (0..16).map(|place| 256 * place).collect::<Vec<_>>());
            assert_eq!(distance(&columns[7].clone()), 256 * 7);
        }
    }

    #[test]
    fn shrinking_and_growing_keeps_the_front() {
        let mut column = Column::<u64>::default();
        column.set_len(100);
        column.iter_mut().zip(0..).for_each(|(element, number)| *element = number);
        column.set_len(10);
        column.set_len(1000);
        assert_eq!(column[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}
