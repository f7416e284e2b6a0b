//! Methods of finding the neighbours of a cell. Cells are numbered with x first in a grid
//! surrounded by a layer of image cells.

use std::ops::Range;

/// Cell coordinates or the difference of two cells.
pub(crate) type Cell = [i32; 3];

/// Returns the number of a cell in a grid with these counts, including image layers; primary cells
/// start at 1.
#[inline(always)]
pub(crate) fn number(counts: Cell, cell: Cell) -> usize {
    ((cell[2] * counts[1] + cell[1]) * counts[0] + cell[0]) as usize
}

/// A method of finding neighbours.
pub(crate) trait Neighbours {
    const NAME: &'static str;
    /// Creates the method for a grid with these counts, including image layers, and the cells at
    /// these offsets.
    fn new(counts: Cell, offsets: &[Cell]) -> Self;
    /// Returns the numbers of the neighbours of a primary cell.
    fn of(&self, cell: Cell) -> impl Iterator<Item = usize>;
}

/// A table with the numbers of the neighbours of every cell.
pub(crate) struct Table {
    counts: Cell,
    per_cell: usize,
    numbers: Vec<u32>,
}

impl Neighbours for Table {
    const NAME: &'static str = "lookup table";

    fn new(counts: Cell, offsets: &[Cell]) -> Self {
        let computed = Computed::new(counts, offsets);
        let per_cell = offsets.len();
        let mut numbers = vec![0; per_cell * counts.iter().product::<i32>() as usize];
        for cell in primary_cells(counts) {
            let row = &mut numbers[number(counts, cell) * per_cell..][..per_cell];
            for (entry, neighbour) in row.iter_mut().zip(computed.of(cell)) {
                *entry = neighbour as u32;
            }
        }
        Self { counts, per_cell, numbers }
    }

    #[inline(always)]
    fn of(&self, cell: Cell) -> impl Iterator<Item = usize> {
        let row = &self.numbers[number(self.counts, cell) * self.per_cell..][..self.per_cell];
        row.iter().map(|&neighbour| neighbour as usize)
    }
}

/// Neighbours computed from the cell's coordinates each time.
pub(crate) struct Computed {
    counts: Cell,
    offsets: Vec<Cell>,
}

impl Neighbours for Computed {
    const NAME: &'static str = "computed index";

    fn new(counts: Cell, offsets: &[Cell]) -> Self {
        Self { counts, offsets: offsets.to_vec() }
    }

    #[inline(always)]
    fn of(&self, [x, y, z]: Cell) -> impl Iterator<Item = usize> {
        let counts = self.counts;
        self.offsets.iter().map(move |[dx, dy, dz]| number(counts, [x + dx, y + dy, z + dz]))
    }
}

/// Returns all cells in the order of their numbers.
pub(crate) fn all_cells(counts: Cell) -> impl Iterator<Item = Cell> {
    cells(counts.map(|count| 0..count))
}

/// Returns the cells inside the image layers in the order of their numbers.
pub(crate) fn primary_cells(counts: Cell) -> impl Iterator<Item = Cell> {
    cells(counts.map(|count| 1..count - 1))
}

fn cells([xs, ys, zs]: [Range<i32>; 3]) -> impl Iterator<Item = Cell> {
    zs.flat_map(move |z| {
        let xs = xs.clone();
        ys.clone().flat_map(move |y| xs.clone().map(move |x| [x, y, z]))
    })
}
