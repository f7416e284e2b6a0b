//! Values at the nodes of a rank.

use std::marker::PhantomData;

use md_comm::prefer_large_pages;
use md_core::aligned::{Column, Place};
use md_core::memory;

use crate::layout::{LINE, Layout, Region};
use crate::{GridError, Real};

/// Components at the own and ghost nodes of a rank: 64-byte aligned, initially zero.
///
/// ```
/// use md_grid::{Field, GridError, Layout};
///
/// let layout = Layout::new([2, 3, 4], [1; 3], size_of::<f64>())?;
/// let mut field = Field::<f64>::new(layout, 2)?;
/// field.fill_own(|component, _| [1.0, 10.0][component]);
/// let sum: f64 = field.own_rows(1).flatten().sum();
/// assert_eq!(sum, 10.0 * (2 * 3 * 4) as f64);
/// // Ghosts are zero until a halo exchange fills them.
/// assert_eq!(field.component(1)[layout.index([-1, 0, 0])], 0.0);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Field<T> {
    layout: Layout,
    /// Start of each component in the storage.
    starts: Vec<usize>,
    /// Storage in 8-byte numbers; each holds two values of 4 bytes.
    storage: Column<u64>,
    kind: PhantomData<T>,
}

impl<T: Real> Field<T> {
    /// Creates a field of zeros.
    ///
    /// # Errors
    /// [`GridError::OutOfMemory`].
    pub fn new(layout: Layout, components: usize) -> Result<Self, GridError> {
        Self::at(Place::Other, layout, components)
    }

    /// Creates a field of zeros that starts at a given place within a page. Fields that a kernel
    /// reads together take different places.
    ///
    /// # Errors
    /// [`GridError::OutOfMemory`].
    pub fn at(place: Place, layout: Layout, components: usize) -> Result<Self, GridError> {
        Self::staggered(place, layout, &vec![0; components])
    }

    /// Creates a field with one component per element of `leads`, which starts that many numbers
    /// (modulo the numbers of a cache line) after a cache line boundary.
    ///
    /// # Errors
    /// [`GridError::OutOfMemory`].
    pub fn staggered(place: Place, layout: Layout, leads: &[usize]) -> Result<Self, GridError> {
        let stride = layout.component_stride();
        let numbers = stride.saturating_mul(leads.len()).saturating_add(LINE);
        let bytes = numbers.saturating_mul(size_of::<T>());
        let mut storage = Column::at(place);
        let len = bytes.div_ceil(size_of::<u64>());
        memory::or_error(|| {
            storage.reserve(len, prefer_large_pages);
            storage.set_len(len);
        })?;
        let starts = leads
            .iter()
            .enumerate()
            .map(|(component, lead)| component * stride + lead % layout.line())
            .collect();
        Ok(Self { layout, starts, storage, kind: PhantomData })
    }

    /// Returns the memory layout of the nodes.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the number of components.
    pub fn components(&self) -> usize {
        self.starts.len()
    }

    /// Returns all components, one after the other.
    pub fn values(&self) -> &[T] {
        bytemuck::cast_slice(&self.storage)
    }

    /// Returns all components mutably.
    pub fn values_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.storage)
    }

    /// Returns the byte offset of each component in [`Self::values`].
    pub fn starts_bytes(&self) -> Vec<usize> {
        self.starts.iter().map(|start| start * size_of::<T>()).collect()
    }

    /// Returns one component, including ghosts and padding ([`Layout::index`]).
    pub fn component(&self, component: usize) -> &[T] {
        &self.values()[self.starts[component]..][..self.layout.component_stride()]
    }

    /// Returns one component mutably.
    pub fn component_mut(&mut self, component: usize) -> &mut [T] {
        let (start, length) = (self.starts[component], self.layout.component_stride());
        &mut self.values_mut()[start..][..length]
    }

    /// Returns the first `N` components mutably, without the padding at their end.
    pub fn components_mut<const N: usize>(&mut self) -> [&mut [T]; N] {
        let starts: [usize; N] = std::array::from_fn(|component| self.starts[component]);
        let length = self.layout.component_stride() - LINE;
        let mut rest = self.values_mut();
        let mut from = 0;
        starts.map(|start| {
            let (_, after) = std::mem::take(&mut rest).split_at_mut(start - from);
            let component;
            (component, rest) = after.split_at_mut(length);
            from = start + length;
            component
        })
    }

    /// Sets all components of all own nodes to `value(component, node)`, with node indices relative
    /// to the first own node.
    pub fn fill_own(&mut self, value: impl Fn(usize, [usize; 3]) -> T) {
        let layout = self.layout;
        let length = layout.size()[2];
        for number in 0..self.components() {
            let component = self.component_mut(number);
            for row in layout.resolve(Region::OWN).rows() {
                let start = layout.index(row);
                let [x, y, _] = row.map(|index| index as usize);
                for (z, one) in component[start..][..length].iter_mut().enumerate() {
                    *one = value(number, [x, y, z]);
                }
            }
        }
    }

    /// Appends all components of an own node as bits of `f64`.
    pub fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>) {
        let place = self.layout.index(node.map(|index| index as isize));
        words.extend((0..self.components()).map(|number| self.component(number)[place].to_f64().to_bits()));
    }

    /// Restores the components of an own node from the words of [`Self::append_node`].
    pub fn restore_node(&mut self, node: [usize; 3], words: &[u64]) {
        let place = self.layout.index(node.map(|index| index as isize));
        for (number, &word) in words.iter().enumerate().take(self.components()) {
            self.component_mut(number)[place] = T::from_f64(f64::from_bits(word));
        }
    }

    /// Returns the own nodes of a component row by row, x slowest.
    pub fn own_rows(&self, component: usize) -> impl Iterator<Item = &[T]> + Clone {
        let layout = self.layout;
        let component = self.component(component);
        let rows = layout.resolve(Region::OWN).rows();
        rows.map(move |row| &component[layout.index(row)..][..layout.size()[2]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_nodes_are_filled_and_ghosts_left_alone() {
        let layout = Layout::new([2, 3, 4], [1, 1, 0], 8).unwrap();
        let mut field = Field::<f32>::new(layout, 2).unwrap();
        field.fill_own(|component, [x, y, z]| (1 + component * 100 + x * 12 + y * 4 + z) as f32);
        let second: Vec<f32> = field.own_rows(1).flatten().copied().collect();
        assert_eq!(second, (0..24).map(|number| 101.0 + number as f32).collect::<Vec<_>>());
        assert_eq!(field.values().iter().filter(|&&value| value != 0.0).count(), 48);
        assert_eq!(field.component(0).as_ptr() as usize % 64, 0);
    }

    #[test]
    fn a_field_that_does_not_fit_is_an_error() {
        let layout = Layout::new([1 << 20, 1 << 20, 16], [0; 3], 8).unwrap();
        let error = Field::<f64>::new(layout, 1 << 10).unwrap_err().to_string();
        assert!(error.starts_with("out of memory: there is no room for a block of 15312"), "{error}");
    }
}
