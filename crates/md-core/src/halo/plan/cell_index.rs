//! The index of a cell among a rank's owned and ghost cells.

use crate::grid::{Cell, subtract};

/// Cell -> local cell by a table over the bounding box of the local cells.
#[derive(Debug, Clone)]
pub(super) struct CellIndex {
    low: Cell,
    size: [usize; 3],
    table: Vec<u32>,
}

impl CellIndex {
    const NONE: u32 = u32::MAX;

    pub(super) fn new(cells: &[Cell]) -> Self {
        let bound = |pick: fn(i32, i32) -> i32, start: i32| {
            cells.iter().fold([start; 3], |b, c| [0, 1, 2].map(|dim| pick(b[dim], c[dim])))
        };
        let (low, high) = (bound(i32::min, i32::MAX), bound(i32::max, i32::MIN));
        let size = [0, 1, 2].map(|dim| (i64::from(high[dim]) - i64::from(low[dim]) + 1).max(0) as usize);
        let mut index = Self { low, size, table: vec![Self::NONE; size.iter().product()] };
        for (number, &cell) in cells.iter().enumerate() {
            if let Some(place) = index.place(cell) {
                index.table[place] = number as u32;
            }
        }
        index
    }

    #[inline]
    fn place(&self, cell: Cell) -> Option<usize> {
        let offset = subtract(cell, self.low);
        let inside = (0..3).all(|dim| offset[dim] >= 0 && (offset[dim] as usize) < self.size[dim]);
        let [x, y, z] = offset.map(|o| o as usize);
        inside.then(|| (z * self.size[1] + y) * self.size[0] + x)
    }

    #[inline]
    pub(super) fn get(&self, cell: Cell) -> Option<u32> {
        self.place(cell).map(|place| self.table[place]).filter(|&index| index != Self::NONE)
    }
}
