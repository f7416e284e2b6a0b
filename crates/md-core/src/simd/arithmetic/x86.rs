//! What the arithmetic does by instructions of its own.

use bytemuck::{Pod, cast};
use pulp::x86::{V3, V4};
use pulp::{Simd, f32x4, f64x2};
use std::any::Any;
use std::arch::x86_64::{__m256, __m256d};

/// The level, if it is AVX-512 on whole vectors.
#[inline(always)]
pub(super) fn as_avx512<S: Simd>(simd: S) -> Option<V4> {
    (&simd as &dyn Any).downcast_ref::<V4>().copied()
}

/// The level, if vectors have 256 bits.
#[inline(always)]
pub(super) fn as_avx2<S: Simd>(simd: S) -> Option<V3> {
    (&simd as &dyn Any).downcast_ref::<V3>().copied()
}

/// Three sums together take half as many instructions as one by one.
#[inline(always)]
pub(super) fn sums_f32<S: Simd, V: Pod>(simd: S, a: [V; 3]) -> Option<[f64; 3]> {
    let (v3, [x, y, z]) = if let Some(v4) = as_avx512(simd) {
        let folded = |a: V| {
            let [low, high]: [__m256; 2] = cast(a);
            v4.avx._mm256_add_ps(low, high)
        };
        (*v4, [folded(a[0]), folded(a[1]), folded(a[2])])
    } else {
        (as_avx2(simd)?, [cast(a[0]), cast(a[1]), cast(a[2])])
    };
    let all = v3.avx._mm256_hadd_ps(v3.avx._mm256_hadd_ps(x, y), v3.avx._mm256_hadd_ps(z, z));
    let [low, high]: [f32x4; 2] = cast(all);
    let [x, y, z, _]: [f32; 4] = cast(v3.sse._mm_add_ps(cast(low), cast(high)));
    Some([f64::from(x), f64::from(y), f64::from(z)])
}

/// The same in f64.
#[inline(always)]
pub(super) fn sums_f64<S: Simd, V: Pod>(simd: S, a: [V; 3]) -> Option<[f64; 3]> {
    let (v3, [x, y, z]) = if let Some(v4) = as_avx512(simd) {
        let folded = |a: V| {
            let [low, high]: [__m256d; 2] = cast(a);
            v4.avx._mm256_add_pd(low, high)
        };
        (*v4, [folded(a[0]), folded(a[1]), folded(a[2])])
    } else {
        (as_avx2(simd)?, [cast(a[0]), cast(a[1]), cast(a[2])])
    };
    let [low, high]: [f64x2; 2] = cast(v3.avx._mm256_hadd_pd(x, y));
    let [x, y]: [f64; 2] = cast(v3.sse2._mm_add_pd(cast(low), cast(high)));
    let [z, _, rest, _]: [f64; 4] = cast(v3.avx._mm256_hadd_pd(z, z));
    Some([x, y, z + rest])
}
