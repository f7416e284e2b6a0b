//! A cell as numbers: positions and the forces added up so far, component by component.

use md_core::{Domain, LocalCells, Particles};

use super::portions::{Home, Portions, Slot};

/// What cells are carried from and to.
pub(super) struct Hold<'a> {
    pub(super) particles: &'a mut Particles,
    pub(super) cells: &'a LocalCells,
    pub(super) domain: &'a Domain,
}

impl Hold<'_> {
    fn components(&self) -> usize {
        self.domain.dimension.count()
    }

    /// Numbers of a cell that leaves home.
    pub(super) fn width_out(&self) -> usize {
        2 * self.components()
    }

    /// Numbers of a cell that comes home: forces alone.
    pub(super) fn width_back(&self) -> usize {
        self.components()
    }

    /// An own cell, to another rank.
    pub(super) fn pack_out(&self, cell: u32, numbers: &mut Vec<f64>) {
        let range = self.cells.range(cell as usize);
        for columns in [&self.particles.position, &self.particles.force] {
            for column in &columns[..self.components()] {
                numbers.extend_from_slice(&column[range.clone()]);
            }
        }
    }

    /// A foreign cell, from its owner.
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
                // Each force once, however many images there are.
                if place == 0 { to.copy_from_slice(block) } else { to.fill(0.0) }
            }
        }
    }

    /// A foreign cell, back to its owner; the forces on its images are added.
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

    /// An own cell that comes back.
    pub(super) fn unpack_back(&mut self, cell: u32, numbers: &[f64]) {
        let (range, components) = (self.cells.range(cell as usize), self.components());
        for (column, block) in
            self.particles.force[..components].iter_mut().zip(numbers.chunks_exact(range.len().max(1)))
        {
            column[range.clone()].copy_from_slice(block);
        }
    }

    /// Whether so many numbers are what a shared cell has.
    pub(super) fn fits(&self, portions: &Portions, shared: usize, numbers: &[f64]) -> bool {
        let width = match portions.shared[shared].home {
            Home::Here(_) => self.width_back(),
            Home::At { .. } => self.width_out(),
        };
        numbers.len() == width * portions.count(shared, self.cells)
    }
}
