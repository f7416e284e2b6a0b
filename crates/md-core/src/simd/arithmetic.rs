//! Pair arithmetic in double or single precision, written once: kernels are generic over [`Arithmetic`].
//!
//! | | [`Double`] | [`Single`] |
//! | --- | --- | --- |
//! | lanes (AVX-512) | 8 | 16 |
//! | coordinates | f64 | fixed point, 32 bits over the rank's extent |
//! | distances, pair terms | f64 | f32 |
//!
//! Why fixed point: a difference of two f32 coordinates loses digits far from the origin, a difference of two integers
//! does not. It costs one conversion per component. The resolution is the rank's extent / 2^31, finer than f32's at
//! distance 1 as long as the extent is below 250.

use pulp::Simd;

/// What a lane holds and how it is computed with.
pub trait Arithmetic: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// One coordinate in memory.
    type Coordinate: bytemuck::Pod + Send + Sync;
    /// One species index in memory.
    type Kind: bytemuck::Pod + Send + Sync;
    /// One force component in memory.
    type Number: bytemuck::Pod + Send + Sync;
    /// A vector of coordinates.
    type Coordinates<S: Simd>: bytemuck::Pod;
    /// A vector of numbers.
    type Lanes<S: Simd>: bytemuck::Pod;
    /// A vector of species indices.
    type Kinds<S: Simd>: bytemuck::Pod;
    /// A choice of lanes.
    type Mask<S: Simd>: Copy;

    /// Lanes of a vector.
    fn width<S: Simd>() -> usize;
    /// A coordinate in all lanes.
    fn spread<S: Simd>(simd: S, coordinate: Self::Coordinate) -> Self::Coordinates<S>;
    /// a - b.
    fn difference<S: Simd>(simd: S, a: Self::Coordinates<S>, b: Self::Coordinates<S>) -> Self::Lanes<S>;
    /// A number in all lanes.
    fn splat<S: Simd>(simd: S, value: f64) -> Self::Lanes<S>;
    /// 0, 1, 2, ...
    fn lane_numbers<S: Simd>(simd: S) -> Self::Lanes<S>;
    /// a + b.
    fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a - b.
    fn sub<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a b.
    fn mul<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a b + c: fused where the CPU fuses. `pulp` would otherwise call a software routine for the exactly rounded
    /// result, at ten times the cost of the whole kernel.
    fn mul_add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>, c: Self::Lanes<S>) -> Self::Lanes<S>;
    /// -a.
    fn neg<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// 1 / a, to the last bit or two; anything for zero and infinity.
    fn reciprocal<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Square root.
    fn sqrt<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a < b.
    fn less_than<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Mask<S>;
    /// a and b.
    fn both<S: Simd>(simd: S, a: Self::Mask<S>, b: Self::Mask<S>) -> Self::Mask<S>;
    /// Whether the mask is set in any lane.
    fn any<S: Simd>(simd: S, mask: Self::Mask<S>) -> bool;
    /// `yes` where the mask is set, else `no`.
    fn select<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        yes: Self::Lanes<S>,
        no: Self::Lanes<S>,
    ) -> Self::Lanes<S>;
    /// Lanes of that species.
    fn is_kind<S: Simd>(simd: S, kinds: Self::Kinds<S>, species: usize) -> Self::Mask<S>;
    /// The species of an index in memory.
    fn species(kind: Self::Kind) -> usize;
    /// number += value.
    fn increase(number: &mut Self::Number, value: f64);
    /// The number as f64.
    fn value(number: Self::Number) -> f64;
    /// A squared distance of coordinates as a squared length, given the squared length of their unit.
    fn in_lengths<S: Simd>(simd: S, r2: Self::Lanes<S>, unit2: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Sum over the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Lanes<S>) -> f64;
}

/// Everything in f64.
#[derive(Debug, Clone, Copy)]
pub struct Double;

/// Pair arithmetic in f32, from fixed-point coordinates.
#[derive(Debug, Clone, Copy)]
pub struct Single;

/// The part in which both precisions differ by names alone.
macro_rules! lanes_of {
    (
        $lanes:ident, $mask:ident, $kinds:ident, $number:ty, $kind:ty, $width:ident,
        $splat:ident, $add:ident, $sub:ident, $mul:ident, $mul_add:ident, $neg:ident, $sqrt:ident, $less:ident,
        $and:ident, $first:ident, $select:ident, $equal:ident, $splat_kind:ident, $sum:ident
    ) => {
        type Kind = $kind;
        type Number = $number;
        type Lanes<S: Simd> = S::$lanes;
        type Kinds<S: Simd> = S::$kinds;
        type Mask<S: Simd> = S::$mask;

        #[inline(always)]
        fn width<S: Simd>() -> usize {
            S::$width
        }
        #[inline(always)]
        fn splat<S: Simd>(simd: S, value: f64) -> S::$lanes {
            simd.$splat(value as $number)
        }
        #[inline(always)]
        fn lane_numbers<S: Simd>(simd: S) -> S::$lanes {
            let mut lanes = simd.$splat(0.0);
            for (number, lane) in bytemuck::cast_slice_mut::<_, $number>(std::slice::from_mut(&mut lanes))
                .iter_mut()
                .enumerate()
            {
                *lane = number as $number;
            }
            lanes
        }
        #[inline(always)]
        fn add<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
            simd.$add(a, b)
        }
        #[inline(always)]
        fn sub<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
            simd.$sub(a, b)
        }
        #[inline(always)]
        fn mul<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
            simd.$mul(a, b)
        }
        #[inline(always)]
        fn mul_add<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes, c: S::$lanes) -> S::$lanes {
            if is_fused::<S>() { simd.$mul_add(a, b, c) } else { simd.$add(simd.$mul(a, b), c) }
        }
        #[inline(always)]
        fn neg<S: Simd>(simd: S, a: S::$lanes) -> S::$lanes {
            simd.$neg(a)
        }
        #[inline(always)]
        fn sqrt<S: Simd>(simd: S, a: S::$lanes) -> S::$lanes {
            simd.$sqrt(a)
        }
        #[inline(always)]
        fn less_than<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$mask {
            simd.$less(a, b)
        }
        #[inline(always)]
        fn both<S: Simd>(simd: S, a: S::$mask, b: S::$mask) -> S::$mask {
            simd.$and(a, b)
        }
        #[inline(always)]
        fn any<S: Simd>(simd: S, mask: S::$mask) -> bool {
            simd.$first(mask) < S::$width
        }
        #[inline(always)]
        fn select<S: Simd>(simd: S, mask: S::$mask, yes: S::$lanes, no: S::$lanes) -> S::$lanes {
            simd.$select(mask, yes, no)
        }
        #[inline(always)]
        fn is_kind<S: Simd>(simd: S, kinds: S::$kinds, species: usize) -> S::$mask {
            simd.$equal(kinds, simd.$splat_kind(species as $kind))
        }
        #[inline(always)]
        fn species(kind: $kind) -> usize {
            kind as usize
        }
        #[inline(always)]
        fn increase(number: &mut $number, value: f64) {
            *number += value as $number;
        }
        #[inline(always)]
        fn value(number: $number) -> f64 {
            f64::from(number)
        }
        #[inline(always)]
        fn sum<S: Simd>(simd: S, a: S::$lanes) -> f64 {
            f64::from(simd.$sum(a))
        }
    };
}

impl Arithmetic for Double {
    lanes_of!(
        f64s,
        m64s,
        u64s,
        f64,
        u64,
        F64_LANES,
        splat_f64s,
        add_f64s,
        sub_f64s,
        mul_f64s,
        mul_add_e_f64s,
        neg_f64s,
        sqrt_f64s,
        less_than_f64s,
        and_m64s,
        first_true_m64s,
        select_f64s,
        equal_u64s,
        splat_u64s,
        reduce_sum_f64s
    );
    type Coordinate = f64;
    type Coordinates<S: Simd> = S::f64s;

    #[inline(always)]
    fn spread<S: Simd>(simd: S, coordinate: f64) -> S::f64s {
        simd.splat_f64s(coordinate)
    }

    #[inline(always)]
    fn difference<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.sub_f64s(a, b)
    }

    /// The unit is the unit of length.
    #[inline(always)]
    fn in_lengths<S: Simd>(_: S, r2: S::f64s, _: S::f64s) -> S::f64s {
        r2
    }

    /// Where the CPU has a 14-bit estimate (AVX-512), two Newton steps replace a division, which takes longer than the
    /// rest of a pair.
    #[inline(always)]
    fn reciprocal<S: Simd>(simd: S, a: S::f64s) -> S::f64s {
        #[cfg(target_arch = "x86_64")]
        if let Some(v4) = as_avx512(simd) {
            let estimate: S::f64s = bytemuck::cast(v4.avx512f._mm512_rcp14_pd(bytemuck::cast(a)));
            return newton::<Self, S>(simd, a, newton::<Self, S>(simd, a, estimate));
        }
        simd.div_f64s(simd.splat_f64s(1.0), a)
    }
}

impl Arithmetic for Single {
    lanes_of!(
        f32s,
        m32s,
        u32s,
        f32,
        u32,
        F32_LANES,
        splat_f32s,
        add_f32s,
        sub_f32s,
        mul_f32s,
        mul_add_e_f32s,
        neg_f32s,
        sqrt_f32s,
        less_than_f32s,
        and_m32s,
        first_true_m32s,
        select_f32s,
        equal_u32s,
        splat_u32s,
        reduce_sum_f32s
    );
    type Coordinate = i32;
    type Coordinates<S: Simd> = S::i32s;

    #[inline(always)]
    fn spread<S: Simd>(simd: S, coordinate: i32) -> S::i32s {
        simd.splat_i32s(coordinate)
    }

    #[inline(always)]
    fn difference<S: Simd>(simd: S, a: S::i32s, b: S::i32s) -> S::f32s {
        let difference = simd.sub_i32s(a, b);
        #[cfg(target_arch = "x86_64")]
        if let Some(v4) = as_avx512(simd) {
            return bytemuck::cast(v4.avx512f._mm512_cvtepi32_ps(bytemuck::cast(difference)));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = (&simd as &dyn std::any::Any).downcast_ref::<pulp::x86::V3>() {
            return bytemuck::cast(v3.avx._mm256_cvtepi32_ps(bytemuck::cast(difference)));
        }
        let mut numbers = simd.splat_f32s(0.0);
        let from: &[i32] = bytemuck::cast_slice(std::slice::from_ref(&difference));
        let to: &mut [f32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut numbers));
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from as f32;
        }
        numbers
    }

    #[inline(always)]
    fn in_lengths<S: Simd>(simd: S, r2: S::f32s, unit2: S::f32s) -> S::f32s {
        simd.mul_f32s(r2, unit2)
    }

    /// As for [`Double`], with one Newton step.
    #[inline(always)]
    fn reciprocal<S: Simd>(simd: S, a: S::f32s) -> S::f32s {
        #[cfg(target_arch = "x86_64")]
        if let Some(v4) = as_avx512(simd) {
            let estimate: S::f32s = bytemuck::cast(v4.avx512f._mm512_rcp14_ps(bytemuck::cast(a)));
            return newton::<Self, S>(simd, a, estimate);
        }
        simd.div_f32s(simd.splat_f32s(1.0), a)
    }
}

/// y (2 - a y): twice as many right digits of 1 / a.
#[inline(always)]
fn newton<P: Arithmetic, S: Simd>(simd: S, a: P::Lanes<S>, y: P::Lanes<S>) -> P::Lanes<S> {
    let error = P::mul_add(simd, P::neg(simd, a), y, P::splat(simd, 1.0));
    P::mul_add(simd, y, error, y)
}

/// Whether a multiply-add is one instruction.
#[inline(always)]
fn is_fused<S: Simd>() -> bool {
    const LANES_OF_THE_BASELINE: usize = 2;
    S::F64_LANES > LANES_OF_THE_BASELINE || cfg!(target_arch = "aarch64")
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn as_avx512<S: Simd>(simd: S) -> Option<pulp::x86::V4> {
    (&simd as &dyn std::any::Any).downcast_ref::<pulp::x86::V4>().copied()
}
