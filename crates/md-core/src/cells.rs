//! Linked cells without links: particles are kept sorted by cell, so a cell is a range of indices.
//!
//! ```text
//! slot s holds the particles first[s] .. end[s]
//! ```
//!
//! Owned cells lie back to back in storage order, so the cells of a row along x, and the loop over them, are one run of
//! memory. Ghost cells follow in the plan's order. Advantage: no list, no gather, every load is contiguous.
//! Disadvantage: order holds only at a rebuild; in between particles drift out of their cells by up to half the skin,
//! which the cell's edge allows for.

use crate::aligned::Column;
use crate::grid::CellGrid;
use crate::halo::HaloPlan;
use crate::particles::Particles;
use std::ops::Range;

/// Which particles are in which local cell.
#[derive(Debug, Clone, Default)]
pub struct LocalCells {
    first: Vec<u32>,
    end: Vec<u32>,
    order: Vec<u32>,
    slots: Vec<u32>,
    scratch: Column<f64>,
    scratch_ids: Column<u64>,
}

impl LocalCells {
    /// The particles of a slot.
    #[inline]
    pub fn range(&self, slot: usize) -> Range<usize> {
        self.first[slot] as usize..self.end[slot] as usize
    }

    /// Number of particles in a slot.
    pub fn count(&self, slot: usize) -> usize {
        self.range(slot).len()
    }

    /// Sorts the owned particles by cell. All of them must lie in cells of this rank.
    pub fn sort(&mut self, particles: &mut Particles, grid: &CellGrid, plan: &HaloPlan) {
        let owned = particles.owned();
        self.find_slots(particles, grid, plan);
        self.count_and_order(plan.owned.len(), owned);
        for column in particles.position.iter_mut().chain(&mut particles.velocity) {
            gather(&self.order, column, &mut self.scratch);
        }
        gather(&self.order, &mut particles.id, &mut self.scratch_ids);
        gather(&self.order, &mut particles.species, &mut self.scratch_ids);
        particles.set_ghosts(0);
    }

    fn find_slots(&mut self, particles: &Particles, grid: &CellGrid, plan: &HaloPlan) {
        let [x, y, z] = particles.position.each_ref().map(|column| &column[..particles.owned()]);
        self.slots.clear();
        self.slots.extend(x.iter().zip(y).zip(z).map(|((&x, &y), &z)| {
            // A foreign particle cannot be here: migration has sent it away or reported it lost.
            plan.slot_of(grid.cell_of([x, y, z])).unwrap_or(0)
        }));
    }

    fn count_and_order(&mut self, owned_slots: usize, owned: usize) {
        self.end.clear();
        self.end.resize(owned_slots, 0);
        for &slot in &self.slots {
            self.end[slot as usize] += 1;
        }
        self.first.clear();
        let mut start = 0;
        for end in &mut self.end {
            self.first.push(start);
            start += *end;
            *end = start - *end;
        }
        self.order.resize(owned, 0);
        for (particle, &slot) in self.slots.iter().enumerate() {
            let place = &mut self.end[slot as usize];
            self.order[*place as usize] = particle as u32;
            *place += 1;
        }
    }

    /// Drops the ghost cells.
    pub fn clear_ghosts(&mut self, plan: &HaloPlan) {
        self.first.truncate(plan.owned.len());
        self.end.truncate(plan.owned.len());
    }

    /// Appends the next ghost cell, starting at index `first`.
    pub fn push_ghost_cell(&mut self, first: usize, count: usize) {
        self.first.push(first as u32);
        self.end.push((first + count) as u32);
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        let lists =
            self.first.capacity() + self.end.capacity() + self.order.capacity() + self.slots.capacity();
        lists * size_of::<u32>() + self.scratch.bytes() + self.scratch_ids.bytes()
    }
}

fn gather<T: bytemuck::Pod>(order: &[u32], column: &mut Column<T>, scratch: &mut Column<T>) {
    scratch.set_len(order.len());
    for (to, &from) in scratch.iter_mut().zip(order) {
        *to = column[from as usize];
    }
    std::mem::swap(column, scratch);
}
