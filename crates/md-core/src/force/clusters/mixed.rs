//! The particles in mixed precision, with fixed-point coordinates.
//!
//! ```text
//! rebuild        unit of the coordinates from the length of the cells
//! every step     coordinates from the f64 positions; forces are added up in f32 and flushed to f64
//!                (`accumulators`)
//! ```
//!
//! Forces and energies of one i-cluster, and forces on one j-cluster, are added up in f32 (a few
//! dozen numbers); everything else is in f64. Distances are in units of the coordinates until they
//! are squared, and forces until they are added to the particles.
//!
//! Coordinates wrap around like angles. The 32 bits of a difference are correct for any size of the
//! box, as long as the true distance is less than half a turn. Particles that are tested against
//! each other were in adjacent cells at the last rebuild and have moved by less than a cell length
//! since, so half a turn is four cell lengths. In cells three units long, a coordinate is exact to
//! 6e-9, better than the f32 arithmetic that follows.

use crate::aligned::{Column, Place};
use crate::force::System;
use crate::force::shares::Columns;
use crate::grid::CellGrid;
use crate::particles::Particles;
use crate::simd::{Arithmetic, SimdLevel};
use crate::threads::Threads;
use std::ops::Range;

/// Units in half a turn, with a margin for rounding.
const HALF_TURN: f64 = 0.98 * (1u64 << 31) as f64;

/// Cell lengths in half a turn: two for adjacent cells, one for the motion of each particle.
const CELL_LENGTHS: f64 = 4.0;

/// Number whose addition leaves an integer in the low bits of an f64, for numbers up to 2^51.
const ROUNDING: f64 = 1.5 * (1u64 << 52) as f64;

/// Largest number of cells along a dimension that keeps coordinates below 2^51.
const MOST_CELLS: i32 = 1 << 21;

/// Longest cell in list radii. With it, the last digit is 5e-7 list radii, which causes errors of
/// 1e-5 in forces.
const LONGEST_CELL: f64 = 250.0;

/// Returns, as text, the reason why mixed precision would lose digits on a grid of cells.
pub fn mixed_precision_problem(grid: &CellGrid, list_radius: f64) -> Option<String> {
    let (length, most) = (grid.longest_cell_length(), grid.counts().into_iter().max().unwrap_or(0));
    if length > LONGEST_CELL * list_radius {
        Some(format!("so few particles in so large a box that cells are {length:.0} long"))
    } else if most > MOST_CELLS {
        Some(format!("{most} cells along one dimension, more than {MOST_CELLS}"))
    } else {
        None
    }
}

/// Number of particles of an i-cluster and of a cluster in mixed precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One particle, and as many as a vector has lanes.
    One,
    /// Two or four particles, depending on the vector, and four.
    Quads,
}

impl Shape {
    pub(super) fn of(system: System) -> Self {
        let potential = system.potential;
        let fit_together = potential.species() == 1 || potential.takes_unlike_particles();
        match system.simd {
            SimdLevel::Avx512 | SimdLevel::Avx512Vl | SimdLevel::Avx2 if fit_together => Self::Quads,
            _ => Self::One,
        }
    }
}

/// The particles in fixed point. Two numbers of four bytes share an element, so that the columns
/// are aligned like all others.
#[derive(Debug, Clone)]
pub(super) struct Mixed {
    /// Length of one unit of the coordinates.
    pub unit: f64,
    origin: [f64; 3],
    position: [Column<u64>; 3],
    kind: Column<u64>,
}

impl Default for Mixed {
    fn default() -> Self {
        let position = Column::three_from(Place::Position);
        Self { unit: 0.0, origin: [0.0; 3], position, kind: Column::at(Place::Id) }
    }
}

impl Mixed {
    /// Chooses the unit and converts the species.
    pub(super) fn rebuild(&mut self, particles: &Particles, grid: &CellGrid) {
        self.origin = grid.domain().origin;
        self.unit = CELL_LENGTHS * grid.longest_cell_length() / HALF_TURN;
        let pairs = particles.len().div_ceil(2);
        for column in self.position.iter_mut().chain([&mut self.kind]) {
            column.set_len(pairs);
        }
        let kinds: &mut [u32] = bytemuck::cast_slice_mut(&mut self.kind);
        for (kind, species) in kinds.iter_mut().zip(particles.species.iter()) {
            *kind = *species as u32;
        }
    }

    /// Converts the coordinates of the particles and ghosts in `new`.
    pub(super) fn convert(
        &mut self,
        particles: &Particles,
        new: Range<usize>,
        threads: &Threads,
        simd: SimdLevel,
    ) {
        let (origin, per_unit) = (self.origin, 1.0 / self.unit);
        let to = self.position.each_mut().map(|column| range_of::<i32>(column, &new));
        let from = particles.position.each_ref().map(|column| &column[new.clone()]);
        threads.each((to, from), |(to, from)| {
            for ((to, from), origin) in to.into_iter().zip(from).zip(origin) {
                simd.vectorise(
                    #[inline(always)]
                    || {
                        for (to, from) in to.iter_mut().zip(from) {
                            // The low 32 bits, which makes the coordinate wrap around.
                            *to = ((from - origin) * per_unit + ROUNDING).to_bits() as i32;
                        }
                    },
                );
            }
        });
    }

    /// Returns the particles and their forces.
    pub(super) fn columns<'a, P>(&'a self, particles: &'a mut Particles) -> Columns<'a, P>
    where
        P: Arithmetic<Coordinate = i32, SpeciesIndex = u32>,
    {
        Columns {
            position: self.position(),
            kind: bytemuck::cast_slice(self.kind.padded()),
            force: particles.force.each_mut().map(Column::padded_mut),
            unit: self.unit,
            i_force: None,
        }
    }

    /// Returns the coordinates.
    pub(super) fn position(&self) -> [&[i32]; 3] {
        self.position.each_ref().map(|column| bytemuck::cast_slice(column.padded()))
    }
}

fn range_of<'a, T: bytemuck::Pod>(column: &'a mut Column<u64>, range: &Range<usize>) -> &'a mut [T] {
    &mut bytemuck::cast_slice_mut::<u64, T>(column)[range.clone()]
}
