//! Pair arithmetic in f32.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{
    Arithmetic, ArithmeticKind, ClusterForces, Inversion, OfParticles, ROW_BYTES, Registers, exp, is_fused,
};
use pulp::Simd;

/// The part that both shapes of an i-cluster have in common.
macro_rules! in_single_precision {
    () => {
        lanes_of! {
            lanes: f32s,
            mask: m32s,
            kinds: u32s,
            number: f32,
            kind: u32,
            width: F32_LANES,
            splat: splat_f32s,
            add: add_f32s,
            sub: sub_f32s,
            mul: mul_f32s,
            mul_add: mul_add_e_f32s,
            sqrt: sqrt_f32s,
            less: less_than_f32s,
            and: and_m32s,
            less_among: _mm512_mask_cmplt_ps_mask,
            select: select_f32s,
            equal: equal_u32s,
            splat_kind: splat_u32s,
            sum: reduce_sum_f32s,
            bits: b16,
            and_kind: and_u32s,
            or_kind: or_u32s,
            not_kind: not_u32s,
            less_lanes: less_f32,
            lanes_table: lanes_f32,
            add_kind: add_u32s,
            min: min_f32s,
            max: max_f32s,
            exponential: exp::SINGLE,
        }
    };
}
pub(super) use in_single_precision;

/// Conversion of squared fixed-point distances to squared lengths.
macro_rules! fixed_point {
    () => {
        #[inline(always)]
        fn in_lengths<S: Simd>(simd: S, r2: S::f32s, unit2: S::f32s) -> S::f32s {
            simd.mul_f32s(r2, unit2)
        }

        /// Uses a division. For 16 f32 it takes 2.5 cycles on Zen 5 (measured) and 8 to 10 on
        /// Intel's CPUs (published tables), which is less than the rest of a pair.
        #[inline(always)]
        fn inverse_in_lengths<S: Simd>(simd: S, r2: S::f32s, per_unit2: S::f32s, _: Inversion) -> S::f32s {
            simd.div_f32s(per_unit2, r2)
        }
    };
}
pub(super) use fixed_point;

/// Pair arithmetic in f32, from fixed-point coordinates.
#[derive(Debug, Clone, Copy)]
pub struct Single;

impl Arithmetic for Single {
    in_single_precision!();
    type Coordinate = i32;
    type Coordinates<S: Simd> = S::i32s;
    type Cluster<S: Simd> = S::i32s;
    type ClusterSpecies<S: Simd> = S::u32s;
    const KIND: ArithmeticKind = ArithmeticKind::Single;
    const CLUSTER_FORCES: ClusterForces = ClusterForces::InAccumulators;

    one_i_particle!(number: f32, kind: u32, splat: splat_f32s, sum: reduce_sum_f32s, sums: sums_f32, look_up: look_up_f32);

    #[inline(always)]
    fn row<S: Simd>(_: S, [numbers, ..]: OfParticles) -> Self::Row {
        numbers.single
    }

    type WideRow = Self::Row;
    #[inline(always)]
    fn wide_row<S: Simd>(simd: S, numbers: OfParticles) -> Self::WideRow {
        Self::row(simd, numbers)
    }
    #[inline(always)]
    fn look_up_wide<S: Simd>(simd: S, row: Self::WideRow, kinds: S::u32s) -> S::f32s {
        Self::look_up(simd, row, kinds)
    }

    #[inline(always)]
    fn spread<S: Simd>(simd: S, coordinates: &[i32]) -> S::i32s {
        simd.splat_i32s(coordinates[0])
    }

    #[inline(always)]
    fn difference<S: Simd>(simd: S, a: S::i32s, b: S::i32s) -> S::f32s {
        to_numbers(simd, simd.sub_i32s(a, b))
    }

    fixed_point!();
}

/// Converts integers to floating-point numbers.
#[inline(always)]
pub(super) fn to_numbers<S: Simd>(simd: S, integers: S::i32s) -> S::f32s {
    #[cfg(target_arch = "x86_64")]
    if let Some(v4) = x86::as_avx512(simd) {
        return bytemuck::cast(v4.avx512f._mm512_cvtepi32_ps(bytemuck::cast(integers)));
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = x86::as_avx2(simd) {
        return bytemuck::cast(v3.avx._mm256_cvtepi32_ps(bytemuck::cast(integers)));
    }
    let mut numbers = simd.splat_f32s(0.0);
    let from: &[i32] = bytemuck::cast_slice(std::slice::from_ref(&integers));
    let to: &mut [f32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut numbers));
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from as f32;
    }
    numbers
}
