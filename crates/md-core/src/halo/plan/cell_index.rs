//! The index of cells among a rank's owned and ghost cells.

use crate::grid::{Cell, subtract};

/// Map from a cell to its local index. It is a table over the bounding box of the local cells or,
/// if nearly all of that box belongs to other ranks, a sorted list, so that memory grows only with
/// the local cells.
#[derive(Debug, Clone)]
pub(super) struct CellIndex {
    low: Cell,
    size: [usize; 3],
    /// Empty if the list is used.
    table: Vec<u32>,
    /// Empty if the table is used.
    sorted: Vec<(Cell, u32)>,
}

impl CellIndex {
    const NONE: u32 = u32::MAX;
    /// Largest size of the table per local cell. It limits the table to about the memory that a
    /// local cell needs anyway.
    const MOST_PLACES: usize = 16;

    pub(super) fn new(cells: &[Cell]) -> Self {
        let bound = |pick: fn(i32, i32) -> i32, start: i32| {
            cells.iter().fold([start; 3], |b, c| [0, 1, 2].map(|dim| pick(b[dim], c[dim])))
        };
        let (low, high) = (bound(i32::min, i32::MAX), bound(i32::max, i32::MIN));
        let size = [0, 1, 2].map(|dim| (i64::from(high[dim]) - i64::from(low[dim]) + 1).max(0) as usize);
        let places = size.into_iter().fold(1, usize::saturating_mul);
        let numbered = cells.iter().copied().zip(0..);
        if places > Self::MOST_PLACES * cells.len() {
            let mut sorted: Vec<(Cell, u32)> = numbered.collect();
            sorted.sort_unstable();
            return Self { low, size: [0; 3], table: Vec::new(), sorted };
        }
        let mut index = Self { low, size, table: vec![Self::NONE; places], sorted: Vec::new() };
        for (cell, number) in numbered {
            let place = index.place(cell);
            index.table[place] = number;
        }
        index
    }

    /// Returns the cell's place in the table, which is beyond its end for a cell outside the
    /// bounding box.
    #[inline]
    fn place(&self, cell: Cell) -> usize {
        // The conversion turns negative offsets into huge ones.
        let [x, y, z] = subtract(cell, self.low).map(|offset| offset as usize);
        let inside = x < self.size[0] && y < self.size[1] && z < self.size[2];
        if inside { (z * self.size[1] + y) * self.size[0] + x } else { usize::MAX }
    }

    #[inline]
    pub(super) fn get(&self, cell: Cell) -> Option<u32> {
        match self.table.get(self.place(cell)) {
            Some(&index) => Some(index).filter(|&index| index != Self::NONE),
            None => self.search(cell),
        }
    }

    #[cold]
    fn search(&self, cell: Cell) -> Option<u32> {
        let place = self.sorted.binary_search_by_key(&cell, |&(cell, _)| cell).ok()?;
        Some(self.sorted[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_and_memory_grows_with_their_number_alone() {
        let block = |length: i32| {
            (-1..length)
                .flat_map(move |z| (-1..length).flat_map(move |y| (-1..length).map(move |x| [x, y, z])))
        };
        let everywhere = |distance: i32| block(9).map(move |cell| cell.map(|c| c * distance)).collect();
        let row = (0..50).map(|x| [x, 7, -3]).collect();
        let far_apart = vec![[-1, -1, -1], [1 << 30, 1 << 30, 1 << 30]];
        let systems: [Vec<Cell>; 6] =
            [everywhere(1), everywhere(2), everywhere(5), row, far_apart, Vec::new()];
        for cells in systems {
            let index = CellIndex::new(&cells);
            assert!(index.table.len() <= CellIndex::MOST_PLACES * cells.len());
            for (number, &cell) in cells.iter().enumerate() {
                assert_eq!(index.get(cell), Some(number as u32));
                let beside = [cell[0] + 1, cell[1], cell[2]];
                assert_eq!(index.get(beside).is_some(), cells.contains(&beside), "{beside:?}");
            }
        }
    }
}
