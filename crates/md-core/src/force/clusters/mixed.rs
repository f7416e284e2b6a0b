//! The particles as mixed precision sees them: fixed-point coordinates, f32 forces.
//!
//! ```text
//! rebuild           origin and unit of the coordinates from the extent of owned particles and ghosts
//! every step        coordinates from the f64 positions; sweeps add to f32 forces; these move to the f64 forces
//! ```
//!
//! A particle's forces of one step add up in f32 (a few dozen numbers), its row's sum and everything beyond in f64:
//! integration, returned forces, energies. Distances are in units of the coordinates' last digit until they are squared,
//! forces until they are returned.

use super::build::Sites;
use crate::aligned::Column;
use crate::force::shares::Columns;
use crate::particles::Particles;
use crate::simd::{SimdLevel, Single};
use crate::threads::Threads;
use std::ops::Range;

/// Differences of coordinates must fit 32 bits with their sign.
const LARGEST_EXTENT: f64 = 0.98 * (1u64 << 31) as f64;

/// Adding it leaves an integer in the low bits of an f64.
const ROUNDING: f64 = 1.5 * (1u64 << 52) as f64;

/// Two numbers of four bytes share an entry, so that the columns are aligned as all others are.
#[derive(Debug, Clone)]
pub(super) struct Mixed {
    unit: f64,
    origin: [f64; 3],
    position: [Column<u64>; 3],
    force: [Column<u64>; 3],
    kind: Column<u64>,
}

impl Default for Mixed {
    fn default() -> Self {
        let (position, force) = (Column::three_from_place(0), Column::three_from_place(3));
        Self { unit: 0.0, origin: [0.0; 3], position, force, kind: Column::at_place(9) }
    }
}

impl Mixed {
    /// New coordinates for the particles and ghosts at hand. Until the next rebuild they may move on by `reach` in all:
    /// further, and the lists would not hold either.
    pub(super) fn rebuild(&mut self, particles: &Particles, reach: f64, means: (&Threads, SimdLevel)) {
        let mut largest: f64 = 0.0;
        for (origin, column) in self.origin.iter_mut().zip(&particles.position) {
            let present = || column[..particles.owned()].iter().chain(&column[particles.ghost_start()..]);
            let low = present().copied().fold(f64::INFINITY, f64::min);
            let high = present().copied().fold(f64::NEG_INFINITY, f64::max);
            *origin = if low <= high { 0.5 * (low + high) } else { 0.0 };
            largest = largest.max(high - low);
        }
        self.unit = (largest + reach) / LARGEST_EXTENT;
        let pairs = particles.len().div_ceil(2);
        for column in self.position.iter_mut().chain(&mut self.force).chain([&mut self.kind]) {
            column.set_len(pairs);
        }
        self.force.iter_mut().for_each(|column| column.padded_mut().fill(0));
        let kinds: &mut [u32] = bytemuck::cast_slice_mut(&mut self.kind);
        for (kind, species) in kinds.iter_mut().zip(particles.species.iter()) {
            *kind = *species as u32;
        }
        self.convert(particles, 0..particles.len(), means);
    }

    /// New coordinates of these particles and ghosts.
    pub(super) fn convert(
        &mut self,
        particles: &Particles,
        new: Range<usize>,
        (threads, simd): (&Threads, SimdLevel),
    ) {
        let (origin, per_unit) = (self.origin, 1.0 / self.unit);
        let to = self.position.each_mut().map(|column| range_of::<i32>(column, &new));
        let from = particles.position.each_ref().map(|column| &column[new.clone()]);
        threads.each((to, from), |(to, from)| {
            for ((to, from), origin) in to.into_iter().zip(from).zip(origin) {
                simd.vectorise(|| {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = ((from - origin) * per_unit + ROUNDING).to_bits() as i32;
                    }
                });
            }
        });
    }

    /// The coordinates.
    pub(super) fn sites(&self) -> Sites<'_, Single> {
        let position = self.position.each_ref().map(|column| bytemuck::cast_slice(column.padded()));
        Sites { position, unit: self.unit }
    }

    pub(super) fn columns<'a>(&'a mut self, particles: &'a mut Particles) -> Columns<'a, Single> {
        let [x, y, z] = &self.position;
        let [fx, fy, fz] = &mut self.force;
        Columns {
            position: [x, y, z].map(|column| bytemuck::cast_slice(column.padded())),
            kind: bytemuck::cast_slice(self.kind.padded()),
            force: [fx, fy, fz].map(|column| bytemuck::cast_slice_mut(column.padded_mut())),
            unit: self.unit,
            row_force: Some(particles.force.each_mut().map(|column| &mut column[..])),
            first_row: 0,
        }
    }

    /// Moves the f32 forces to the particles' once both regions are done; leaves zeros for the next step.
    pub(super) fn return_forces(
        &mut self,
        particles: &mut Particles,
        (threads, simd): (&Threads, SimdLevel),
    ) {
        let (unit, all) = (self.unit, 0..particles.len());
        let to = particles.force.each_mut().map(|column| &mut column[..]);
        let from = self.force.each_mut().map(|column| range_of::<f32>(column, &all));
        threads.each((to, from), |(to, from)| {
            for (to, from) in to.into_iter().zip(from) {
                simd.vectorise(|| {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to += unit * f64::from(std::mem::take(from));
                    }
                });
            }
        });
    }

    /// Length of one unit of the coordinates.
    pub(super) fn unit(&self) -> f64 {
        self.unit
    }
}

fn range_of<'a, T: bytemuck::Pod>(column: &'a mut Column<u64>, range: &Range<usize>) -> &'a mut [T] {
    &mut bytemuck::cast_slice_mut::<u64, T>(column)[range.clone()]
}
