//! The test whether a cluster is near the particles of an i-cluster, in f32 for either precision of
//! the forces.
//!
//! A list may hold more pairs than necessary but not fewer, so the radius is enlarged by the
//! rounding errors. Compared with a test of the coordinates from which forces are computed, it
//! takes vectors half as long (f64), or no conversion of integers (mixed precision).

use crate::simd::{is_fused, less_in};
use pulp::Simd;

/// Rounding error of a distance in f32, relative to the distance.
const ROUNDING: f64 = 1e-6;

/// Positions of particles and ghosts in f32, and the radius of the test. `LANES` pairs of `I` times
/// `WIDTH` particles are tested at a time.
#[derive(Clone, Copy)]
pub(super) struct Near<'a, S, const I: usize, const WIDTH: usize, const LANES: usize> {
    simd: S,
    positions: [&'a [[f32; WIDTH]]; 3],
    radius2: f32,
}

/// The positions of an i-cluster's particles, each repeated for every particle of a cluster.
pub(super) type Spread<const LANES: usize> = [[f32; LANES]; 3];

impl<'a, S: Simd, const I: usize, const WIDTH: usize, const LANES: usize> Near<'a, S, I, WIDTH, LANES> {
    /// Creates the test for positions that are padded to whole clusters.
    #[inline(always)]
    pub(super) fn new(simd: S, positions: [&'a [f32]; 3], radius: f64) -> Self {
        const { assert!(I * WIDTH == LANES) };
        // Slices of equal, known length need one bounds check instead of three.
        let count = positions[0].len() / WIDTH;
        let [x, y, z] = positions.map(|column| column.as_chunks().0);
        let radius = radius * (1.0 + ROUNDING);
        let positions = [&x[..count], &y[..count], &z[..count]];
        Self { simd, positions, radius2: (radius * radius) as f32 }
    }

    /// Returns the positions of the i-cluster that begins at `first`.
    #[inline(always)]
    pub(super) fn spread(&self, first: usize) -> Spread<LANES> {
        let mut spread = [[0.0; LANES]; 3];
        for (spread, column) in spread.iter_mut().zip(self.positions) {
            let own = &column.as_flattened()[first..first + I];
            for lane in 0..LANES {
                spread[lane] = own[lane / WIDTH];
            }
        }
        spread
    }

    /// Returns the positions of a cluster, repeated for every particle of an i-cluster.
    #[inline(always)]
    pub(super) fn load(&self, cluster: usize) -> Spread<LANES> {
        let [x, y, z] = self.positions;
        [repeated(&x[cluster]), repeated(&y[cluster]), repeated(&z[cluster])]
    }

    /// Returns whether any pair is within the radius.
    #[inline(always)]
    pub(super) fn is_any_near(&self, place: Spread<LANES>, cluster: Spread<LANES>) -> bool {
        self.is_near(place, cluster, u16::MAX)
    }

    /// Returns whether any of these lanes is within the radius.
    #[inline(always)]
    pub(super) fn is_near(&self, [x, y, z]: Spread<LANES>, [xs, ys, zs]: Spread<LANES>, lanes: u16) -> bool {
        let mut r2 = [0.0; LANES];
        for lane in 0..LANES {
            let (dx, dy, dz) = (x[lane] - xs[lane], y[lane] - ys[lane], z[lane] - zs[lane]);
            r2[lane] = mul_add::<S>(dz, dz, mul_add::<S>(dy, dy, dx * dx));
        }
        less_in(self.simd, r2, self.radius2, lanes.into()) != 0
    }
}

#[inline(always)]
fn repeated<const WIDTH: usize, const LANES: usize>(cluster: &[f32; WIDTH]) -> [f32; LANES] {
    let mut repeated = [0.0; LANES];
    for lane in 0..LANES {
        repeated[lane] = cluster[lane % WIDTH];
    }
    repeated
}

/// Returns a b + c, fused if that is one instruction.
#[inline(always)]
fn mul_add<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    if is_fused::<S>() { a.mul_add(b, c) } else { a * b + c }
}
