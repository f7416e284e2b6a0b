//! Properties for which a kernel is compiled in addition to the vectors of a level; the vectors of
//! `avx2+fma` and `avx512vl` are the same.

use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// Number of registers for vectors and masks.
pub trait Registers: Copy + Send + Sync + 'static {
    /// Number of entries of a cluster list in flight at a time.
    const PIPELINE: Pipeline;
    /// Source of a mask of lanes.
    const MASKS: Masks;
}

/// Entries in flight at a time. Those at different pipeline steps are independent of each other,
/// but all need registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// For 16 registers. With three steps, too many values would be spilled to memory.
    TwoSteps,
    /// For 32 registers.
    ThreeSteps,
}

/// Conversion of bits to a mask of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masks {
    /// A vector loaded from a table.
    FromTable,
    /// Computed, and moved to a mask register if there are any.
    FromBits,
}

/// 16 vector registers, which hold masks too.
#[derive(Debug, Clone, Copy)]
pub struct Few;

impl Registers for Few {
    const PIPELINE: Pipeline = Pipeline::TwoSteps;
    const MASKS: Masks = Masks::FromTable;
}

/// 32 vector registers; mask registers with AVX-512.
#[derive(Debug, Clone, Copy)]
pub struct Many;

impl Registers for Many {
    const PIPELINE: Pipeline = Pipeline::ThreeSteps;
    const MASKS: Masks = Masks::FromBits;
}

/// A kernel that is compiled for every level. Every [`WithSimd`] is one, independent of the
/// registers.
pub trait LevelKernel {
    /// The result.
    type Output;

    /// Runs the kernel.
    fn run<S: Simd, R: Registers>(self, simd: S) -> Self::Output;
}

impl<K: WithSimd> LevelKernel for K {
    type Output = K::Output;

    #[inline(always)]
    fn run<S: Simd, R: Registers>(self, simd: S) -> K::Output {
        self.with_simd(simd)
    }
}

/// A kernel combined with a set of registers.
pub(super) struct With<K, R>(K, PhantomData<R>);

impl<K, R> With<K, R> {
    #[inline(always)]
    pub(super) fn new(kernel: K) -> Self {
        Self(kernel, PhantomData)
    }
}

impl<K: LevelKernel, R: Registers> WithSimd for With<K, R> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> K::Output {
        self.0.run::<S, R>(simd)
    }
}
