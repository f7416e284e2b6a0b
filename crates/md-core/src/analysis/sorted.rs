//! Points sorted into a raster of cells, for any search radius.
//!
//! A raster covers the points of one rank and everything within the radius around them. Along an
//! axis where it would overlap its own periodic image, it is a ring over the whole periodic box.
//! Otherwise it is a line of cells, into which points from elsewhere are shifted by whole box
//! lengths.

use std::ops::Range;

use crate::domain::Domain;

/// Cells per search radius for dense points. With two, the 125 cells around a point contain 3.7
/// times the points of the sphere; with one, 27 cells contain 6.4 times as many.
const CELLS_PER_RADIUS: f64 = 2.0;
/// Number of points per cell from which cells of half the length are used; with fewer points the
/// loops are too short.
const DENSE: f64 = 5.0;

/// Points by species, with one column per dimension.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points {
    /// Columns by species.
    pub by_species: Vec<[Vec<f64>; 3]>,
}

impl Points {
    /// Creates an empty set of points of `species` species.
    pub fn none(species: usize) -> Self {
        Self { by_species: vec![Default::default(); species] }
    }

    /// Adds a point. Its species must be one of the set.
    pub fn push(&mut self, species: usize, position: [f64; 3]) {
        if let Some(columns) = self.by_species.get_mut(species) {
            columns.iter_mut().zip(position).for_each(|(column, x)| column.push(x));
        }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.by_species.iter().map(|[x, ..]| x.len()).sum()
    }

    /// Returns whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers of points by species.
    pub fn counts(&self) -> Vec<u64> {
        self.by_species.iter().map(|[x, ..]| x.len() as u64).collect()
    }
}

/// The smallest box around points, lower and upper corner, \[length\].
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Extent {
    /// Lower corner; infinite where there are no points.
    pub low: [f64; 3],
    /// Upper corner.
    pub high: [f64; 3],
}

impl Extent {
    /// Returns the smallest box around `points`.
    pub fn of(points: &Points) -> Self {
        let mut extent = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };
        for dim in 0..3 {
            let all = points.by_species.iter().flat_map(|columns| &columns[dim]);
            for &x in all {
                extent.low[dim] = extent.low[dim].min(x);
                extent.high[dim] = extent.high[dim].max(x);
            }
        }
        extent
    }

    /// Returns whether there are no points in the box.
    pub fn is_empty(&self) -> bool {
        self.low[0] > self.high[0]
    }

    /// Returns whether the distance of a position, or of one of its periodic images, is at most
    /// `radius`.
    pub fn is_near(&self, domain: &Domain, position: [f64; 3], radius: f64) -> bool {
        let distance2 = |dim: usize| {
            let (low, width) = (self.low[dim], self.high[dim] - self.low[dim]);
            let mut ahead = position[dim] - low;
            let mut behind = -ahead;
            if domain.is_periodic(dim) {
                ahead = ahead.rem_euclid(domain.lengths[dim]);
                behind = domain.lengths[dim] - ahead;
            }
            let distance = if (0.0..=width).contains(&ahead) {
                0.0
            } else if domain.is_periodic(dim) {
                behind.min(ahead - width)
            } else {
                behind.max(ahead - width)
            };
            distance * distance
        };
        // The limit is slightly larger because the coordinates of images are rounded.
        !self.is_empty() && (0..3).map(distance2).sum::<f64>() <= radius * radius * (1.0 + 1e-9)
    }
}

/// Cells along one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    low: f64,
    /// 1 / length of a cell.
    per_length: f64,
    cells: i64,
    /// Number of cells within the search radius.
    reach: i64,
    is_ring: bool,
    /// Length of the box if it is periodic.
    period: Option<f64>,
}

impl Axis {
    fn cell(&self, x: f64) -> i64 {
        (((x - self.low) * self.per_length) as i64).clamp(0, self.cells - 1)
    }

    /// Returns the coordinate of a point, shifted into the raster.
    fn place(&self, x: f64) -> f64 {
        let Some(period) = self.period else { return x };
        let wrapped = x - period * ((x - self.low) / period).floor();
        // For a tiny negative number, the floor is off by a whole period.
        if wrapped >= self.low + period { self.low } else { wrapped }
    }

    /// Returns those of the cells `first..=last` that exist, with the shift of their points. Some
    /// of the cells may be beyond an end of the raster.
    fn runs(&self, first: i64, last: i64) -> impl Iterator<Item = (Range<usize>, f64)> + use<> {
        let cells = self.cells;
        let turns = if self.is_ring { first.div_euclid(cells)..=last.div_euclid(cells) } else { 0..=0 };
        let period = self.period.unwrap_or(0.0);
        turns.filter_map(move |turn| {
            let (from, to) = (first.max(turn * cells), last.min((turn + 1) * cells - 1));
            let run = (from - turn * cells) as usize..(to + 1 - turn * cells).max(0) as usize;
            (from <= to).then_some((run, turn as f64 * period))
        })
    }
}

/// Cells around the points of a rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Raster {
    axes: [Axis; 3],
}

/// Consecutive cells along x, and the displacement of the points in them, \[length\].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) cells: Range<usize>,
    pub(super) shift: [f64; 3],
}

/// Selection of the neighbours of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// All neighbours.
    All,
    /// Only later neighbours, so that each pair of cells is visited once. The first run begins with
    /// the cell itself.
    After,
}

impl Raster {
    /// Creates a raster for about `points` points in `extent` and those within the radius around
    /// it.
    pub fn new(domain: &Domain, extent: &Extent, points: usize, radius: f64) -> Self {
        let axis = |dim: usize| {
            let (low, high) = (extent.low[dim] - radius, extent.high[dim] + radius);
            let period = domain.is_periodic(dim).then(|| domain.lengths[dim]);
            let ring = period.filter(|&period| high - low >= period);
            (
                if ring.is_some() { domain.origin[dim] } else { low },
                ring.unwrap_or(high - low),
                period,
                ring.is_some(),
            )
        };
        let axes = [0, 1, 2].map(axis);
        let volume: f64 = axes.iter().map(|(_, length, ..)| length.max(f64::MIN_POSITIVE)).product();
        let points = points.max(1) as f64;
        let short = radius / CELLS_PER_RADIUS;
        let length = if points / volume * short.powi(3) >= DENSE { short } else { radius };
        // Prevents many more cells than points if the radius is short.
        let least = (volume / points).cbrt().max(length);
        let axes = axes.map(|(low, length, period, is_ring)| {
            let cells = ((length / least) as i64).max(1);
            let per_length = cells as f64 / length.max(f64::MIN_POSITIVE);
            // The reach is slightly larger because coordinates are rounded.
            let reach = (radius * per_length * (1.0 + 1e-9)).ceil() as i64;
            Axis { low, per_length, cells, reach, is_ring, period }
        });
        Self { axes }
    }

    pub(super) fn cells(&self) -> usize {
        self.axes.iter().map(|axis| axis.cells as usize).product()
    }

    fn coordinates(&self, cell: usize) -> [i64; 3] {
        let [nx, ny, _] = self.axes.map(|axis| axis.cells as usize);
        [cell % nx, cell / nx % ny, cell / nx / ny].map(|at| at as i64)
    }

    /// Calls `look` for the neighbours of a cell within the radius.
    pub(super) fn around(&self, cell: usize, which: Around, mut look: impl FnMut(Run)) {
        let [x, y, z] = self.coordinates(cell);
        let [along_x, along_y, along_z] = self.axes;
        let [nx, ny] = [along_x.cells as usize, along_y.cells as usize];
        let mut row = |dy: i64, dz: i64, first: i64| {
            for (z, shift_z) in along_z.runs(z + dz, z + dz) {
                for (y, shift_y) in along_y.runs(y + dy, y + dy) {
                    let begin = (z.start * ny + y.start) * nx;
                    for (run, shift_x) in along_x.runs(first, x + along_x.reach) {
                        let cells = begin + run.start..begin + run.end;
                        look(Run { cells, shift: [shift_x, shift_y, shift_z] });
                    }
                }
            }
        };
        if which == Around::After {
            row(0, 0, x);
        }
        for dz in -along_z.reach..=along_z.reach {
            for dy in -along_y.reach..=along_y.reach {
                if which == Around::All || (dz, dy) > (0, 0) {
                    row(dy, dz, x - along_x.reach);
                }
            }
        }
    }
}

/// Points in the order of the cells of a raster.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sorted {
    pub(super) position: [Vec<f64>; 3],
    first: Vec<u32>,
}

impl Sorted {
    pub(super) fn new(raster: &Raster, position: &[Vec<f64>; 3]) -> Self {
        let count = position[0].len();
        let axes = &raster.axes;
        let placed =
            [0, 1, 2].map(|dim| -> Vec<f64> { position[dim].iter().map(|&x| axes[dim].place(x)).collect() });
        let [nx, ny, _] = axes.map(|axis| axis.cells);
        let keys: Vec<u32> = (0..count)
            .map(|index| {
                let [x, y, z] = [0, 1, 2].map(|dim: usize| axes[dim].cell(placed[dim][index]));
                ((z * ny + y) * nx + x) as u32
            })
            .collect();
        let mut first = vec![0_u32; raster.cells() + 1];
        keys.iter().for_each(|&key| first[key as usize + 1] += 1);
        let mut sum = 0;
        for place in &mut first {
            sum += *place;
            *place = sum;
        }
        let mut next = first.clone();
        let mut order = vec![0_u32; count];
        for (index, &key) in (0_u32..).zip(&keys) {
            order[next[key as usize] as usize] = index;
            next[key as usize] += 1;
        }
        let position = placed.map(|column| order.iter().map(|&index| column[index as usize]).collect());
        Self { position, first }
    }

    /// Returns the points of consecutive cells.
    pub(super) fn range(&self, cells: Range<usize>) -> Range<usize> {
        self.first[cells.start] as usize..self.first[cells.end] as usize
    }
}
