//! Pair arithmetic in f64.
//!
//! ```text
//! Double         a term f d is added to a force by a fused multiply-add, which rounds the sum: the
//!                last digits depend on the order of the terms
//! Reproducible   a term is first rounded to a multiple of a quantum q, by t = (f d + M) - M with
//!                M = 1.5 2^52 q. Sums of such terms are exact up to 2^53 q, in any order, and a
//!                pair's two terms cancel exactly
//! ```

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{
    Arithmetic, ArithmeticKind, ClusterForces, Inversion, MOST_IN_A_ROW, OfParticles, ROW_BYTES, Registers,
    exp, is_fused,
};
use pulp::Simd;

/// Arithmetic in f64 throughout. With `EXACT_SUMS`, terms are rounded such that their sums are
/// exact.
#[derive(Debug, Clone, Copy)]
pub struct DoubleWith<const EXACT_SUMS: bool>;

/// Arithmetic in f64 throughout.
pub type Double = DoubleWith<false>;

/// Arithmetic in f64 whose sums do not depend on the order of their terms, nor on the instruction
/// set.
pub type Reproducible = DoubleWith<true>;

impl<const EXACT_SUMS: bool> Arithmetic for DoubleWith<EXACT_SUMS> {
    lanes_of! {
        lanes: f64s,
        mask: m64s,
        kinds: u64s,
        number: f64,
        kind: u64,
        width: F64_LANES,
        splat: splat_f64s,
        add: add_f64s,
        sub: sub_f64s,
        mul: mul_f64s,
        mul_add: mul_add_e_f64s,
        sqrt: sqrt_f64s,
        less: less_than_f64s,
        and: and_m64s,
        less_among: _mm512_mask_cmplt_pd_mask,
        select: select_f64s,
        equal: equal_u64s,
        splat_kind: splat_u64s,
        sum: reduce_sum_f64s,
        bits: b8,
        and_kind: and_u64s,
        or_kind: or_u64s,
        not_kind: not_u64s,
        less_lanes: less_f64,
        lanes_table: lanes_f64,
        add_kind: add_u64s,
        min: min_f64s,
        max: max_f64s,
        exponential: exp::DOUBLE,
    }
    type Coordinate = f64;
    type Coordinates<S: Simd> = S::f64s;
    type Cluster<S: Simd> = S::f64s;
    type ClusterSpecies<S: Simd> = S::u64s;
    const KIND: ArithmeticKind =
        if EXACT_SUMS { ArithmeticKind::Reproducible } else { ArithmeticKind::Double };
    const EXACT_SUMS: bool = EXACT_SUMS;
    const CLUSTER_FORCES: ClusterForces = ClusterForces::InPlace;

    one_i_particle!(number: f64, kind: u64, splat: splat_f64s, sum: reduce_sum_f64s, sums: sums_f64, look_up: look_up_f64);

    #[inline(always)]
    fn spread<S: Simd>(simd: S, coordinates: &[f64]) -> S::f64s {
        simd.splat_f64s(coordinates[0])
    }

    #[inline(always)]
    fn difference<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.sub_f64s(a, b)
    }

    #[inline(always)]
    fn row<S: Simd>(simd: S, [numbers, ..]: OfParticles) -> Self::Row {
        let [a, b, c, d, ..] = numbers.double;
        #[cfg(target_arch = "x86_64")]
        if let Some(row) = x86::row_f64(simd, [a, b, c, d]) {
            return row;
        }
        [a, b, c, d]
    }

    /// All numbers in order, or all lower halves and then all upper halves.
    type WideRow = [Self::Row; 2];
    #[inline(always)]
    fn wide_row<S: Simd>(simd: S, [numbers, ..]: OfParticles) -> Self::WideRow {
        let [a, b, c, d, e, f, g, h] = numbers.double;
        let rows = [[a, b, c, d], [e, f, g, h]];
        #[cfg(target_arch = "x86_64")]
        if let Some(halves) = x86::wide_row_f64(simd, rows) {
            return halves;
        }
        rows
    }
    #[inline(always)]
    fn look_up_wide<S: Simd>(simd: S, row: Self::WideRow, kinds: S::u64s) -> S::f64s {
        #[cfg(target_arch = "x86_64")]
        if let Some(numbers) = x86::look_up_wide_f64(simd, row, kinds) {
            return numbers;
        }
        let mut numbers = simd.splat_f64s(0.0);
        let to: &mut [f64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut numbers));
        let kinds: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&kinds));
        for (number, kind) in to.iter_mut().zip(kinds) {
            *number = row.as_flattened()[*kind as usize % MOST_IN_A_ROW];
        }
        numbers
    }

    /// Returns `r2`: the unit of coordinates is the unit of length.
    #[inline(always)]
    fn in_lengths<S: Simd>(_: S, r2: S::f64s, _: S::f64s) -> S::f64s {
        r2
    }

    #[inline(always)]
    fn inverse_in_lengths<S: Simd>(simd: S, r2: S::f64s, _: S::f64s, inversion: Inversion) -> S::f64s {
        if EXACT_SUMS { portable_reciprocal(simd, r2) } else { Double::reciprocal(simd, r2, inversion) }
    }
}

impl Double {
    /// Returns 1 / a, correct up to the last one or two bits. The result for zero and infinity is
    /// unspecified.
    #[inline(always)]
    pub(crate) fn reciprocal<S: Simd>(simd: S, a: S::f64s, inversion: Inversion) -> S::f64s {
        #[cfg(target_arch = "x86_64")]
        if let (Inversion::Newton, Some(v4)) = (inversion, x86::as_avx512(simd)) {
            let estimate: S::f64s = bytemuck::cast(v4.avx512f._mm512_rcp14_pd(bytemuck::cast(a)));
            return newton(simd, a, newton(simd, a, estimate));
        }
        simd.div_f64s(simd.splat_f64s(1.0), a)
    }
}

/// Returns 1 / a, correct up to the last one or two bits and the same on all instruction sets with
/// fused operations. It is y (1 + e + e^2) with e = 1 - a y, where y is a quotient in f32, which
/// takes a third of the time of one in f64. The result for zero, infinity and numbers beyond f32 is
/// unspecified.
#[inline(always)]
fn portable_reciprocal<S: Simd>(simd: S, a: S::f64s) -> S::f64s {
    let mut estimate = a;
    for lane in bytemuck::cast_slice_mut::<_, f64>(std::slice::from_mut(&mut estimate)) {
        *lane = f64::from(1.0 / (*lane as f32));
    }
    let error = Double::mul_add(simd, simd.neg_f64s(a), estimate, simd.splat_f64s(1.0));
    Double::mul_add(simd, estimate, Double::mul_add(simd, error, error, error), estimate)
}

/// Returns y (2 - a y), which has twice as many correct digits of 1 / a as y.
#[inline(always)]
fn newton<S: Simd>(simd: S, a: S::f64s, y: S::f64s) -> S::f64s {
    let error = Double::mul_add(simd, simd.neg_f64s(a), y, simd.splat_f64s(1.0));
    Double::mul_add(simd, y, error, y)
}
