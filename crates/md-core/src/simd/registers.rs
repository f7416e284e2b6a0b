//! What a kernel is compiled for beside the vectors of a level: `avx2+fma` and `avx512vl` have the same.

use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// How many registers vectors and masks have.
pub trait Registers: Copy + Send + Sync + 'static {
    /// How many entries of a cluster list are under way at a time.
    const PIPELINE: Pipeline;
    /// Where a mask of lanes comes from.
    const MASKS: Masks;
}

/// Entries under way at a time: those at different pipeline steps do not wait for each other, but all need registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// For 16 registers; with three steps too much is moved to memory and back.
    TwoSteps,
    /// For 32.
    ThreeSteps,
}

/// How bits become a mask of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masks {
    /// A vector loaded from a table.
    FromTable,
    /// Computed; a move to a mask register where there are any.
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

/// What is compiled for every level. Every [`WithSimd`] is, whatever the registers.
pub trait LevelKernel {
    /// The result.
    type Output;

    /// Runs it.
    fn run<S: Simd, R: Registers>(self, simd: S) -> Self::Output;
}

impl<K: WithSimd> LevelKernel for K {
    type Output = K::Output;

    #[inline(always)]
    fn run<S: Simd, R: Registers>(self, simd: S) -> K::Output {
        self.with_simd(simd)
    }
}

/// A kernel with these registers.
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
