//! Morse (1929): U(r) = D [ exp(-2 alpha (r - r0)) - 2 exp(-alpha (r - r0)) ], cut at `cutoff`.
//!
//! ```text
//! U(r)        = D e (e - 2) - energy_shift + force_shift r          e = exp(alpha (r0 - r))
//! -(dU/dr)/r  = [ 2 alpha D e (e - 1) - force_shift ] / r
//! ```

#[cfg(test)]
mod tests;

use super::{
    Distance, Formula, PairPotential, PairTable, PairTerm, PotentialError, Shift, SpeciesPair, Tail,
};
use crate::Dimension;
use crate::force::{PairLoop, PairSums};
use crate::simd::Arithmetic;
use pulp::Simd;
use std::f64::consts::PI;
use std::ops::RangeInclusive;

/// Parameters of one pair of species.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MorsePair {
    /// D, the depth of the well, \[energy\].
    pub depth: f64,
    /// Inverse width of the well, \[1 / length\].
    pub alpha: f64,
    /// Distance of the minimum, \[length\].
    pub r0: f64,
}

/// alpha, r0, D, 2 alpha D, energy shift, force shift.
type Constants = [f64; 6];

/// Morse with a table of constants per pair of species.
#[derive(Debug, Clone)]
pub struct Morse {
    cutoff: f64,
    pairs: PairTable<MorsePair>,
    constants: PairTable<Constants>,
}

impl MorsePair {
    /// Depths, other than 0, for which constants and pair terms neither overflow nor underflow.
    pub const DEPTHS: RangeInclusive<f64> = 1e-50..=1e40;
    /// Largest alpha r0. It keeps e^2 finite at any distance, including masked lanes.
    pub const STEEPEST: f64 = 300.0;
}

impl Morse {
    /// Creates the potential for `species` species. All pairs must be in `pairs`, because there is
    /// no mixing rule.
    ///
    /// # Errors
    /// A pair is missing or names a species that does not exist; alpha or r0 is not positive, or
    /// alpha r0 exceeds 300; or the products of a depth are beyond the range of numbers.
    pub fn new(
        species: usize,
        pairs: &[SpeciesPair<MorsePair>],
        cutoff: f64,
        shift: Shift,
    ) -> Result<Self, PotentialError> {
        let pairs = PairTable::new(species, pairs, |_, _| None)?;
        let is_valid =
            |MorsePair { alpha, r0, .. }| alpha > 0.0 && r0 > 0.0 && alpha * r0 <= MorsePair::STEEPEST;
        if !pairs.iter().all(is_valid) {
            return Err(PotentialError::OutOfRange(
                "alpha and r0 must be positive, their product at most 300",
            ));
        }
        if !pairs.iter().all(|pair| pair.depth == 0.0 || MorsePair::DEPTHS.contains(&pair.depth.abs())) {
            return Err(PotentialError::OutOfRange("the depth must be 0 or from 1e-50 to 1e40"));
        }
        let constants = pairs.map(|pair| constants(pair, cutoff, shift));
        Ok(Self { cutoff, pairs, constants })
    }
}

fn constants(MorsePair { depth, alpha, r0 }: MorsePair, cutoff: f64, shift: Shift) -> Constants {
    let slope = 2.0 * alpha * depth;
    let at_cutoff = term([alpha, r0, depth, slope, 0.0, 0.0], cutoff);
    let [energy_shift, force_shift] = shift.constants(at_cutoff, cutoff);
    [alpha, r0, depth, slope, energy_shift, force_shift]
}

fn term([alpha, r0, depth, slope, energy_shift, force_shift]: Constants, r: f64) -> PairTerm {
    let e = (alpha * (r0 - r)).exp();
    PairTerm {
        energy: depth * e * (e - 2.0) - energy_shift + force_shift * r,
        force_over_r: (slope * e * (e - 1.0) - force_shift) / r,
    }
}

/// Returns the integrals of the uncut potential from the cutoff to infinity with g(r) = 1, in units
/// of the depth.
fn tail(MorsePair { alpha, r0, .. }: MorsePair, cutoff: f64, dimension: Dimension) -> Tail {
    let at_cutoff = term([alpha, r0, 1.0, 0.0, 0.0, 0.0], cutoff).energy;
    // Integral of r^2 exp(k (r0 - r)), or r exp(k (r0 - r)) in two dimensions.
    let integral = |k: f64| {
        let polynomial = match dimension {
            Dimension::Three => ((cutoff * k + 2.0) * cutoff * k + 2.0) / k.powi(3),
            Dimension::Two => (cutoff * k + 1.0) / k.powi(2),
        };
        polynomial * (k * (r0 - cutoff)).exp()
    };
    let (half_shell, power) = match dimension {
        Dimension::Three => (2.0 * PI, 3),
        Dimension::Two => (PI, 2),
    };
    let energy = half_shell * (integral(2.0 * alpha) - 2.0 * integral(alpha));
    // The integral of the virial, by parts.
    let pressure = energy + half_shell * cutoff.powi(power) * at_cutoff / f64::from(power);
    Tail { energy, pressure }
}

impl PairPotential for Morse {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn species(&self) -> usize {
        self.pairs.species()
    }

    fn takes_unlike_particles(&self) -> bool {
        self.pairs.takes_unlike_particles()
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        term(self.constants.get(a, b), r2.sqrt())
    }

    /// Checks the parameters, the force at zero distance, and the unit of fixed-point coordinates,
    /// which is about 1e-9 cutoffs.
    fn fits_single_precision(&self) -> bool {
        let is_normal = |number: f64| number == 0.0 || (number as f32).is_normal();
        let unit2 = (1e-9 * self.cutoff).powi(2);
        let square = self.cutoff.powi(2);
        self.constants.iter().all(|[alpha, r0, depth, slope, ..]| {
            let steepest = slope * (2.0 * alpha * r0).exp();
            [alpha, r0, depth, slope, steepest, unit2, 1.0 / unit2, square].into_iter().all(is_normal)
        })
    }

    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        Tail::of_pairs(counts, volume, |a, b| {
            let pair = self.pairs.get(a, b);
            (pair.depth, tail(pair, self.cutoff, dimension))
        })
    }

    fn compute(&self, pairs: PairLoop) -> PairSums {
        self.constants.run(Exponentials, pairs)
    }
}

#[derive(Clone, Copy)]
struct Exponentials;

impl Formula<6> for Exponentials {
    /// r and 1 / r.
    type Prepared<S: Simd, P: Arithmetic> = [P::Lanes<S>; 2];

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(self, distance: Distance<S, P>) -> [P::Lanes<S>; 2] {
        [distance.r(), distance.inverse_r()]
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        self,
        simd: S,
        [alpha, r0, depth, slope, energy_shift, force_shift]: [P::Lanes<S>; 6],
        [r, inverse_r]: [P::Lanes<S>; 2],
    ) -> PairTerm<P::Lanes<S>> {
        let e = P::exp(simd, P::mul(simd, alpha, P::sub(simd, r0, r)));
        let minus = |number| P::sub(simd, e, P::splat(simd, number));
        let force = P::mul_add(simd, P::mul(simd, slope, e), minus(1.0), P::neg(simd, force_shift));
        let energy = P::mul_add(simd, P::mul(simd, depth, e), minus(2.0), P::neg(simd, energy_shift));
        PairTerm {
            energy: P::mul_add(simd, force_shift, r, energy),
            force_over_r: P::mul(simd, force, inverse_r),
        }
    }
}
