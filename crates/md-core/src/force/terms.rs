//! Terms of sums over pairs. If sums are exact, each is rounded before it is added, and a pair's two
//! terms are the same number, which the compiler computes once.

use crate::simd::Arithmetic;
use pulp::Simd;

/// Returns a b + sum. If sums are exact, the product is rounded to a multiple of `quantum`.
#[inline(always)]
pub(super) fn add_product<S: Simd, P: Arithmetic>(
    simd: S,
    a: P::Lanes<S>,
    b: P::Lanes<S>,
    sum: P::Lanes<S>,
    quantum: f64,
) -> P::Lanes<S> {
    if P::EXACT_SUMS {
        P::add(simd, sum, P::rounded_product(simd, a, b, quantum))
    } else {
        P::mul_add(simd, a, b, sum)
    }
}

/// Returns sum - a b. If sums are exact, the product is rounded to a multiple of `quantum`.
#[inline(always)]
pub(super) fn subtract_product<S: Simd, P: Arithmetic>(
    simd: S,
    a: P::Lanes<S>,
    b: P::Lanes<S>,
    sum: P::Lanes<S>,
    quantum: f64,
) -> P::Lanes<S> {
    if P::EXACT_SUMS {
        P::sub(simd, sum, P::rounded_product(simd, a, b, quantum))
    } else {
        P::mul_add(simd, P::neg(simd, a), b, sum)
    }
}
