//! One binary for every CPU: the vector width is chosen when the program starts.
//!
//! Kernels are written once, generic over [`pulp::Simd`], and compiled for each level.
//! [`SimdLevel::dispatch`] calls the version for the level that [`SimdLevel::detect`] or
//! [`SimdLevel::for_clusters`] has chosen for the CPU. `pulp` encapsulates the unsafe part (calling
//! a function compiled for another instruction set) in a safe token, which can only be obtained
//! after a check of the CPU.

mod arithmetic;
mod cpu;
mod registers;

pub(crate) use registers::Pipeline;
pub use registers::{Few, LevelKernel, Many, Registers};

pub use arithmetic::{
    Arithmetic, ArithmeticKind, ClusterForces, Double, DoubleWith, Quads, Reproducible, Single,
};
pub(crate) use arithmetic::{BySpecies, MOST_I_PARTICLES, MOST_IN_A_ROW, is_fused, less_in, pack};
pub use cpu::Inversion;

pub use pulp::Simd;

use cpu::has_half_units;
use pulp::WithSimd;
use registers::With;

/// An instruction set for which kernels are compiled, from narrow to wide.
///
/// ```
/// use md_core::SimdLevel;
///
/// let simd = SimdLevel::detect();
/// assert!(simd.is_available());
/// let sum = simd.vectorise(#[inline(always)] || (1..=100).sum::<u64>());
/// assert_eq!(sum, 5050);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
pub enum SimdLevel {
    /// The set that every CPU of the architecture has (`x86_64`: SSE2), one pair at a time.
    Baseline,
    /// Two lanes: `x86_64` since 2009.
    Sse4,
    /// Two lanes, 64-bit ARM.
    Neon,
    /// Four lanes and fused multiply-add.
    Avx2,
    /// Four lanes with AVX-512's 32 registers and its masks (the VL extension).
    Avx512Vl,
    /// Eight lanes.
    Avx512,
}

impl SimdLevel {
    /// All levels, narrow to wide.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the levels of this CPU, from narrow to wide.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.iter().copied().filter(|level| level.is_available())
    }

    /// Returns whether a b + c is one operation with one rounding.
    pub fn has_fused_multiply_add(self) -> bool {
        !matches!(self, Self::Baseline | Self::Sse4)
    }

    /// Returns the widest level of this CPU.
    pub fn detect() -> Self {
        Self::available().next_back().unwrap_or(Self::Baseline)
    }

    /// Returns the level for cluster lists, in which an i-cluster and a cluster fill a vector.
    /// Shorter vectors contain fewer pairs beyond the cutoff, so vectors of 256 bits are better on
    /// CPUs that execute those of 512 bits in two halves.
    pub fn for_clusters() -> Self {
        match Self::detect() {
            Self::Avx512 if has_half_units() => Self::Avx512Vl,
            level => level,
        }
    }

    /// Returns whether this CPU has the level.
    pub fn is_available(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => pulp::x86::V2::try_new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => pulp::x86::V3::try_new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vl | Self::Avx512 => pulp::x86::V4::try_new().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => pulp::aarch64::Neon::try_new().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Sse4 | Self::Avx2 | Self::Avx512Vl | Self::Avx512 => false,
            #[cfg(not(target_arch = "aarch64"))]
            Self::Neon => false,
        }
    }

    /// Returns this level, or if the CPU does not have it, the widest narrower one that it has.
    pub fn or_narrower(self) -> Self {
        // The usual case, in many small loops.
        if self.is_available() {
            return self;
        }
        Self::available().rev().find(|level| *level <= self).unwrap_or(Self::Baseline)
    }

    /// Returns the name used in summary.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline if cfg!(target_arch = "x86_64") => "sse2",
            Self::Baseline => "baseline",
            Self::Sse4 => "sse4.2",
            Self::Avx2 => "avx2+fma",
            Self::Avx512Vl => "avx512vl",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// Runs `kernel` compiled for this level, or for a narrower one if the CPU does not have it.
    #[inline]
    pub fn dispatch<K: LevelKernel>(self, kernel: K) -> K::Output {
        match self.or_narrower() {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => match pulp::x86::V4::try_new() {
                Some(simd) => Simd::vectorize(simd, With::<_, Many>::new(kernel)),
                None => Self::Avx2.dispatch(kernel),
            },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vl => match pulp::x86::V4::try_new() {
                Some(simd) => Simd::vectorize(simd, OnHalves { simd, kernel }),
                None => Self::Avx2.dispatch(kernel),
            },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => match pulp::x86::V3::try_new() {
                Some(simd) => Simd::vectorize(simd, With::<_, Few>::new(kernel)),
                None => Self::Sse4.dispatch(kernel),
            },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => match pulp::aarch64::Neon::try_new() {
                Some(simd) => Simd::vectorize(simd, With::<_, Many>::new(kernel)),
                None => Self::Baseline.dispatch(kernel),
            },
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => match pulp::x86::V2::try_new() {
                Some(simd) => Simd::vectorize(simd, With::<_, Many>::new(kernel)),
                None => Self::Baseline.dispatch(kernel),
            },
            #[cfg(not(target_arch = "x86_64"))]
            Self::Sse4 | Self::Avx2 | Self::Avx512Vl | Self::Avx512 => Self::Baseline.dispatch(kernel),
            #[cfg(not(target_arch = "aarch64"))]
            Self::Neon => Self::Baseline.dispatch(kernel),
            Self::Baseline => Simd::vectorize(pulp::Scalar, With::<_, Many>::new(kernel)),
        }
    }

    /// Runs a plain loop compiled for this level, for the compiler to vectorise. The closure and
    /// all functions and closures that it calls need `#[inline(always)]`, because functions that
    /// are not inlined are compiled for the baseline.
    #[inline]
    pub fn vectorise<R>(self, work: impl FnOnce() -> R) -> R {
        struct Plain<F>(F);
        impl<R, F: FnOnce() -> R> WithSimd for Plain<F> {
            type Output = R;
            #[inline(always)]
            fn with_simd<S: Simd>(self, _simd: S) -> R {
                (self.0)()
            }
        }
        self.dispatch(Plain(work))
    }
}

/// A kernel on vectors of 256 bits, compiled with the registers and masks of AVX-512.
#[cfg(target_arch = "x86_64")]
struct OnHalves<K> {
    simd: pulp::x86::V4,
    kernel: K,
}

#[cfg(target_arch = "x86_64")]
impl<K: LevelKernel> WithSimd for OnHalves<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> K::Output {
        self.kernel.run::<_, Many>(*self.simd)
    }
}
