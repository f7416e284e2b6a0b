//! Pair arithmetic in f32 on clusters of four.

use super::single::{fixed_point, in_single_precision, to_numbers};
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{
    Arithmetic, ArithmeticKind, BySpecies, ClusterForces, Inversion, MOST_I_PARTICLES, MOST_IN_A_ROW,
    OfParticles, Registers, exp, is_fused,
};
use pulp::Simd;

/// Number of particles of a cluster.
const QUAD: usize = MOST_I_PARTICLES;

/// Pair arithmetic in f32 from fixed-point coordinates, for clusters of four particles j and as
/// many particles i as fill a vector: four if a vector has 16 lanes, two if it has eight. Requires
/// vectors of at least eight lanes.
///
/// ```text
/// lane       0  1  2  3 | 4  5  6  7 | 8  9 10 11 | 12 13 14 15
/// particle i 0  0  0  0 | 1  1  1  1 | 2  2  2  2 |  3  3  3  3
/// particle j 0  1  2  3 | 0  1  2  3 | 0  1  2  3 |  0  1  2  3
/// ```
///
/// Four and four particles are closer together than one and 16 (two and four than one and eight),
/// and there are a quarter as many i-clusters (half as many). Each quarter of a vector looks up the
/// numbers of its particle i.
#[derive(Debug, Clone, Copy)]
pub struct Quads;

impl Arithmetic for Quads {
    in_single_precision!();
    fixed_point!();
    type Coordinate = i32;
    type Coordinates<S: Simd> = S::i32s;
    type Cluster<S: Simd> = [i32; QUAD];
    type ClusterSpecies<S: Simd> = [u32; QUAD];
    const KIND: ArithmeticKind = ArithmeticKind::Quads;
    const CLUSTER_FORCES: ClusterForces = ClusterForces::InAccumulators;
    const FEWEST_LANES: usize = 2 * QUAD;

    #[inline(always)]
    fn i_particles<S: Simd>() -> usize {
        S::F32_LANES / QUAD
    }

    #[inline(always)]
    fn spread<S: Simd>(simd: S, coordinates: &[i32]) -> S::i32s {
        let mut spread = simd.splat_i32s(0);
        let lanes: &mut [[i32; QUAD]] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut spread));
        for particle in 0..lanes.len() {
            lanes[particle] = [coordinates[particle]; QUAD];
        }
        spread
    }

    #[inline(always)]
    fn difference<S: Simd>(simd: S, a: S::i32s, b: [i32; QUAD]) -> S::f32s {
        to_numbers(simd, simd.sub_i32s(a, repeated(simd, b)))
    }

    #[inline(always)]
    fn species_lanes<S: Simd>(simd: S, kinds: [u32; QUAD]) -> S::u32s {
        bytemuck::cast(repeated(simd, bytemuck::cast(kinds)))
    }

    /// Numbers by the particle i, then by the species of j.
    type Row = [[f32; QUAD]; QUAD];
    const SPECIES_IN_A_ROW: usize = QUAD;
    /// Numbers by the particle i, then by the species of j.
    type WideRow = [[f32; MOST_IN_A_ROW]; QUAD];

    #[inline(always)]
    fn row<S: Simd>(_: S, numbers: OfParticles) -> Self::Row {
        numbers.map(|&BySpecies { single: [a, b, c, d, ..], .. }| [a, b, c, d])
    }

    #[inline(always)]
    fn wide_row<S: Simd>(_: S, numbers: OfParticles) -> Self::WideRow {
        numbers.map(|numbers| numbers.single)
    }

    #[inline(always)]
    fn look_up<S: Simd>(simd: S, row: Self::Row, kinds: S::u32s) -> S::f32s {
        #[cfg(target_arch = "x86_64")]
        if let Some(numbers) = x86::look_up_in_quarters(simd, row, kinds) {
            return numbers;
        }
        by_lane(simd, kinds, |particle, kind| row[particle][kind % QUAD])
    }

    #[inline(always)]
    fn look_up_wide<S: Simd>(simd: S, row: Self::WideRow, kinds: S::u32s) -> S::f32s {
        #[cfg(target_arch = "x86_64")]
        if let Some(numbers) = x86::look_up_in_eighths(simd, row, kinds) {
            return numbers;
        }
        by_lane(simd, kinds, |particle, kind| row[particle][kind % MOST_IN_A_ROW])
    }

    #[inline(always)]
    fn add_to_i_particles<S: Simd>(simd: S, [x, y, z]: [&mut [f64]; 3], sums: [S::f32s; 3], unit: f64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(sums) = x86::sums_of_halves(simd, sums) {
            for (particle, [sum_x, sum_y, sum_z, _]) in sums.into_iter().enumerate() {
                x[particle] += unit * f64::from(sum_x);
                y[particle] += unit * f64::from(sum_y);
                z[particle] += unit * f64::from(sum_z);
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some([sums_x, sums_y, sums_z, _]) = x86::sums_of_quads(simd, sums) {
            add(x, sums_x, unit);
            add(y, sums_y, unit);
            add(z, sums_z, unit);
            return;
        }
        add_one_by_one::<S>(x, sums[0], unit);
        add_one_by_one::<S>(y, sums[1], unit);
        add_one_by_one::<S>(z, sums[2], unit);
    }

    #[inline(always)]
    fn add_cluster<S: Simd>(simd: S, to: &mut [f64], sums: S::f32s, unit: f64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(sums) = x86::sum_of_quarters(simd, sums) {
            add(to, sums, unit);
            return;
        }
        let quarters: &[[f32; QUAD]] = bytemuck::cast_slice(std::slice::from_ref(&sums));
        let mut sums = [0.0; QUAD];
        for quarter in quarters {
            for lane in 0..QUAD {
                sums[lane] += quarter[lane];
            }
        }
        add(to, sums, unit);
    }
}

/// Returns a number for each lane, by its particle i and the species of its particle j.
#[inline(always)]
fn by_lane<S: Simd>(simd: S, kinds: S::u32s, of: impl Fn(usize, usize) -> f32) -> S::f32s {
    let mut numbers = simd.splat_f32s(0.0);
    let to: &mut [f32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut numbers));
    let kinds: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&kinds));
    for lane in 0..kinds.len() {
        to[lane] = of(lane / QUAD, kinds[lane] as usize);
    }
    numbers
}

/// Adds numbers, times the unit, to forces.
#[inline(always)]
fn add(to: &mut [f64], sums: [f32; QUAD], unit: f64) {
    if let Some(to) = to.first_chunk_mut::<QUAD>() {
        for lane in 0..QUAD {
            to[lane] += unit * f64::from(sums[lane]);
        }
    } else {
        for lane in 0..to.len() {
            to[lane] += unit * f64::from(sums[lane]);
        }
    }
}

/// Adds the sum of each group of four lanes, times the unit, to a force.
#[inline(always)]
fn add_one_by_one<S: Simd>(to: &mut [f64], sums: S::f32s, unit: f64) {
    let quarters: &[[f32; QUAD]] = bytemuck::cast_slice(std::slice::from_ref(&sums));
    for particle in 0..quarters.len() {
        let [a, b, c, d] = quarters[particle];
        to[particle] += unit * f64::from((a + b) + (c + d));
    }
}

/// Returns a cluster's integers, repeated for every particle of an i-cluster.
#[inline(always)]
fn repeated<S: Simd>(simd: S, cluster: [i32; QUAD]) -> S::i32s {
    #[cfg(target_arch = "x86_64")]
    if let Some(v4) = x86::as_avx512(simd) {
        return bytemuck::cast(v4.avx512f._mm512_broadcast_i32x4(bytemuck::cast(cluster)));
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = x86::as_avx2(simd) {
        return bytemuck::cast(v3.avx2._mm256_broadcastsi128_si256(bytemuck::cast(cluster)));
    }
    let mut repeated = simd.splat_i32s(0);
    bytemuck::cast_slice_mut::<_, [i32; QUAD]>(std::slice::from_mut(&mut repeated)).fill(cluster);
    repeated
}
