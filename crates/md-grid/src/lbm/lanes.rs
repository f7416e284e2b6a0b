//! Vectors of `f32` or `f64`, so that kernels are generic over both.

use md_core::simd::{Arithmetic, Double, Simd, Single};

use super::kernel::{Pass, Run, Sweeper};
use crate::Real;

/// Number types that the lattice Boltzmann kernels are compiled for. Each operation rounds once, as
/// in IEEE 754, and none is fused with another, so the bits of the results do not depend on the
/// width of the vectors.
pub trait LaneReal: Real {
    /// Arithmetic of vectors of these numbers.
    type Numbers: Arithmetic;

    /// Returns a / b.
    fn div_lanes<S: Simd>(simd: S, a: Lanes<S, Self>, b: Lanes<S, Self>) -> Lanes<S, Self>;
    /// Returns the vector with one lane replaced.
    fn with_lane<S: Simd>(simd: S, lanes: Lanes<S, Self>, lane: usize, value: Self) -> Lanes<S, Self>;
    /// Returns a mutable slice as whole vectors, without the remainder.
    fn vectors_mut<S: Simd>(simd: S, slice: &mut [Self]) -> &mut [Lanes<S, Self>];
    /// Sweeps over numbers of this type; compiled with this crate's optimisation, not in the crates
    /// that use flows.
    #[doc(hidden)]
    fn sweep(sweeper: &Sweeper<Self>, pass: Pass<'_, Self>, runs: &[Run]);
}

/// Vector of an instruction set.
pub(super) type Lanes<S, T> = <<T as LaneReal>::Numbers as Arithmetic>::Lanes<S>;

/// Distance in bytes from the data being computed to the data being prefetched. A sweep reads so
/// many rows at once that the hardware prefetchers do not follow all of them, mainly where rows end
/// and the next ones begin. On Zen 3 one grid is 1.2 to 1.3 times as fast as with 640 (its
/// first-level cache has 32 KiB in 8 ways); Intel family 6 model 207 showed no difference.
const AHEAD_BYTES: usize = 384;

const LINE_BYTES: usize = 64;

/// Prefetches the line of a row that a sweep reaches `AHEAD_BYTES` after this vector.
#[inline(always)]
pub(super) fn fetch_ahead<V>(row: &[V], at: usize) {
    if at.is_multiple_of((LINE_BYTES / size_of::<V>()).max(1)) {
        fetch(row.as_ptr().wrapping_add(at).wrapping_byte_add(AHEAD_BYTES).cast());
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(line: *const i8) {
    use pulp::core_arch::x86::Sse;
    if let Some(sse) = Sse::try_new() {
        sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch(_line: *const i8) {}

macro_rules! lane_real {
    ($kind:ty, $numbers:ty, $lanes:ident, $splat:ident, $div:ident, $vectors_mut:ident, $select:ident, $between:ident, $index:ty) => {
        impl LaneReal for $kind {
            type Numbers = $numbers;

            #[inline(always)]
            fn div_lanes<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
                simd.$div(a, b)
            }

            #[inline(always)]
            fn with_lane<S: Simd>(simd: S, lanes: S::$lanes, lane: usize, value: Self) -> S::$lanes {
                let lane = lane as $index;
                simd.$select(simd.$between(lane, lane + 1).mask(), simd.$splat(value), lanes)
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(_: S, slice: &mut [Self]) -> &mut [S::$lanes] {
                S::$vectors_mut(slice).0
            }

            fn sweep(sweeper: &Sweeper<Self>, pass: Pass<'_, Self>, runs: &[Run]) {
                sweeper.sweep_here(pass, runs);
            }
        }
    };
}

lane_real!(f32, Single, f32s, splat_f32s, div_f32s, as_mut_simd_f32s, select_f32s, mask_between_m32s, u32);
lane_real!(f64, Double, f64s, splat_f64s, div_f64s, as_mut_simd_f64s, select_f64s, mask_between_m64s, u64);
