//! The exponential function: exp(x) = 2^n exp(x - n ln 2), where n is the integer nearest to
//! x / ln 2. The second factor is a Taylor polynomial, the first is added to the exponent of the
//! result. Errors are below two units in the last place.

use super::Arithmetic;
use pulp::Simd;
use std::f64::consts::LOG2_E;

/// Parameters that depend on the precision.
pub(super) struct Exponential {
    /// Smallest argument whose result has all digits; below it the result is 0.
    pub least: f64,
    /// Largest argument; larger ones give the same result as this one.
    pub most: f64,
    /// ln 2 as a sum of two numbers. The first has so few digits that its product with n is exact.
    ln2: [f64; 2],
    degree: usize,
}

pub(super) const DOUBLE: Exponential = Exponential {
    least: -708.0,
    most: 709.0,
    ln2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10],
    degree: 13,
};

pub(super) const SINGLE: Exponential =
    Exponential { least: -87.0, most: 88.0, ln2: [0.693_359_375, -2.121_944_400_546_905_8e-4], degree: 7 };

impl Exponential {
    /// Returns n + [`Arithmetic::ROUNDING`], whose last bits are n, and exp(x - n ln 2).
    #[inline(always)]
    pub(super) fn split<S: Simd, P: Arithmetic>(&self, simd: S, x: P::Lanes<S>) -> [P::Lanes<S>; 2] {
        let rounding = P::splat(simd, P::ROUNDING);
        let shifted = P::mul_add(simd, x, P::splat(simd, LOG2_E), rounding);
        let n = P::neg(simd, P::sub(simd, shifted, rounding));
        let [high, low] = self.ln2;
        let rest = P::mul_add(simd, n, P::splat(simd, high), x);
        let rest = P::mul_add(simd, n, P::splat(simd, low), rest);
        [shifted, self.polynomial::<S, P>(simd, rest)]
    }

    /// Evaluates the polynomial. Odd and even powers are independent of each other.
    #[inline(always)]
    fn polynomial<S: Simd, P: Arithmetic>(&self, simd: S, x: P::Lanes<S>) -> P::Lanes<S> {
        let square = P::mul(simd, x, x);
        let mut sums = [P::splat(simd, 0.0); 2];
        for power in (0..=self.degree).rev() {
            let coefficient = P::splat(simd, INVERSE_FACTORIALS[power]);
            let sum = &mut sums[power % 2];
            *sum = P::mul_add(simd, *sum, square, coefficient);
        }
        P::mul_add(simd, sums[1], x, sums[0])
    }
}

const INVERSE_FACTORIALS: [f64; 14] = {
    let (mut inverses, mut factorial, mut n) = ([1.0; 14], 1.0, 1);
    while n < inverses.len() {
        factorial *= n as f64;
        inverses[n] = 1.0 / factorial;
        n += 1;
    }
    inverses
};
