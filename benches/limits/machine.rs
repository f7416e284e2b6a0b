//! Limits of one core: multiply-adds on registers, and memory traffic.
//!
//! The peak is measured with multiply-adds only, each counted as one operation. A CPU with separate
//! ports for additions or comparisons can exceed it with other operations, so the peak is a
//! reference, not a strict limit.

use std::hint::black_box;
use std::marker::PhantomData;

use md_core::SimdLevel;
use md_core::simd::{Arithmetic, Double, Single};
use pulp::{Simd, WithSimd};

use crate::{GIGA, fastest_s};

/// Number of independent chains: more than latency times ports of any CPU (4 x 2). Together with
/// two constants they fit in the 16 registers of AVX2.
const CHAINS: usize = 12;
const STEPS_OF_CHAIN: usize = 4_000_000;
const SAMPLES: usize = 7;

/// Numbers per array of the triad: 64 MiB, larger than a core's share of any cache.
const TRIAD_LEN: usize = 8 << 20;

/// Bytes moved by the triad. Two arrays are read; the third is fetched, line by line, before it is
/// overwritten (STREAM does not count that).
const TRIAD_BYTES: usize = 4 * size_of::<f64>() * TRIAD_LEN;

/// Measured rates of one core.
pub(crate) struct Limits {
    /// Multiply-adds in f64 per second, counting each lane.
    pub(crate) double_per_s: f64,
    /// Multiply-adds in f32 per second, counting each lane.
    pub(crate) single_per_s: f64,
    /// Triad, in bytes per second.
    pub(crate) memory_bytes_per_s: f64,
}

impl Limits {
    pub(crate) fn measure(simd: SimdLevel) -> Self {
        Self {
            double_per_s: multiply_adds_per_s::<Double>(simd),
            single_per_s: multiply_adds_per_s::<Single>(simd),
            memory_bytes_per_s: triad_bytes_per_s(simd),
        }
    }
}

impl std::fmt::Display for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { double_per_s, single_per_s, memory_bytes_per_s } = self;
        write!(f, "peak {:.1} (f64) and {:.1} (f32) ", double_per_s / GIGA, single_per_s / GIGA)?;
        write!(f, "thousand million multiply-adds per second, triad {:.1} GB/s", memory_bytes_per_s / GIGA)
    }
}

/// Independent chains of multiply-adds. Returns the number of multiply-adds.
struct Chains<P>(PhantomData<P>);

impl<P: Arithmetic> WithSimd for Chains<P> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        // x -> factor x + term converges to 1, without overflow and without slow denormal numbers.
        let factor = P::splat(simd, black_box(0.9375));
        let term = P::splat(simd, black_box(0.0625));
        let mut chains = [P::splat(simd, black_box(0.5)); CHAINS];
        for _ in 0..STEPS_OF_CHAIN {
            for chain in &mut chains {
                *chain = P::mul_add(simd, *chain, factor, term);
            }
        }
        for chain in chains {
            black_box(P::sum(simd, chain));
        }
        CHAINS * STEPS_OF_CHAIN * P::lanes::<S>()
    }
}

fn multiply_adds_per_s<P: Arithmetic>(simd: SimdLevel) -> f64 {
    let mut made = 0;
    let best_s = fastest_s(SAMPLES, || made = simd.dispatch(Chains::<P>(PhantomData)));
    made as f64 / best_s
}

/// Measures a = b + factor c.
fn triad_bytes_per_s(simd: SimdLevel) -> f64 {
    let (mut a, b, c) = (vec![0.0; TRIAD_LEN], vec![1.0; TRIAD_LEN], vec![2.0; TRIAD_LEN]);
    let best_s = fastest_s(SAMPLES, || {
        let factor = black_box(3.0);
        simd.vectorise(|| {
            for ((a, b), c) in a.iter_mut().zip(&b).zip(&c) {
                *a = b + factor * c;
            }
        });
        black_box(&mut a);
    });
    TRIAD_BYTES as f64 / best_s
}
