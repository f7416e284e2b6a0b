//! Packing of cells: positions and the forces summed so far, component by component.

use md_core::{Domain, LocalCells, Particles};

use super::portions::{Home, Portions, Slot};

/// Particles and cells that are packed and unpacked.
pub(super) struct Hold<'a> {
    pub(super) particles: &'a mut Particles,
    pub(super) cells: &'a LocalCells,
    pub(super) domain: &'a Domain,
}

impl Hold<'_> {
    fn components(&self) -> usize {
        self.domain.dimension.count()
    }

    /// Returns the numbers per particle of a cell sent to another rank: position and force.
    pub(super) fn width_out(&self) -> usize {
        2 * self.components()
    }

    /// Returns the numbers per particle of a returned cell: force only.
    pub(super) fn width_back(&self) -> usize {
        self.components()
    }

    /// Packs an own cell for another rank.
    pub(super) fn pack_out(&self, cell: u32, numbers: &mut Vec<f64>) {
        let range = self.cells.range(cell as usize);
        for columns in [&self.particles.position, &self.particles.force] {
            for column in &columns[..self.components()] {
                numbers.extend_from_slice(&column[range.clone()]);
            }
        }
    }

    /// Unpacks a foreign cell received from its owner.
    pub(super) fn unpack_out(&mut self, slots: &[Slot], numbers: &[f64]) {
        let components = self.components();
        for (place, slot) in slots.iter().enumerate() {
            let range = self.cells.range(slot.cell as usize);
            let mut blocks = numbers.chunks_exact(range.len().max(1));
            for dim in 0..components {
                let Some(block) = blocks.next() else { return };
                let shift = f64::from(slot.shift[dim]) * self.domain.lengths[dim];
                let to = &mut self.particles.position[dim][range.clone()];
                to.iter_mut().zip(block).for_each(|(to, from)| *to = from + shift);
            }
            for dim in 0..components {
                let Some(block) = blocks.next() else { return };
                let to = &mut self.particles.force[dim][range.clone()];
                // Each force is stored once, however many images there are.
                if place == 0 { to.copy_from_slice(block) } else { to.fill(0.0) }
            }
        }
    }

    /// Packs a foreign cell for its owner; the forces on its images are added.
    pub(super) fn pack_back(&self, slots: &[Slot], numbers: &mut Vec<f64>) {
        let Some((first, images)) = slots.split_first() else { return };
        for column in &self.particles.force[..self.components()] {
            let start = numbers.len();
            numbers.extend_from_slice(&column[self.cells.range(first.cell as usize)]);
            for image in images {
                let from = &column[self.cells.range(image.cell as usize)];
                numbers[start..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
        }
    }

    /// Unpacks an own cell that was returned.
    pub(super) fn unpack_back(&mut self, cell: u32, numbers: &[f64]) {
        let (range, components) = (self.cells.range(cell as usize), self.components());
        for (column, block) in
            self.particles.force[..components].iter_mut().zip(numbers.chunks_exact(range.len().max(1)))
        {
            column[range.clone()].copy_from_slice(block);
        }
    }

    /// Returns whether `numbers` has the length expected for a shared cell.
    pub(super) fn fits(&self, portions: &Portions, shared: usize, numbers: &[f64]) -> bool {
        let width = match portions.shared[shared].home {
            Home::Here(_) => self.width_back(),
            Home::At { .. } => self.width_out(),
        };
        numbers.len() == width * portions.count(shared, self.cells)
    }
}
