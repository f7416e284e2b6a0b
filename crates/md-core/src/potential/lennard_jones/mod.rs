//! 12-6 Lennard-Jones (Jones 1924): U(r) = 4 epsilon [ (sigma/r)^12 - (sigma/r)^6 ], cut at
//! `cutoff`.
//!
//! The loops use s = 1/r^2 and six constants per pair of species:
//!
//! ```text
//! U(r)        = s^3 (c12 s^3 - c6) - energy_shift + force_shift r     c12 = 4 eps sigma^12,  c6 = 4 eps sigma^6
//! -(dU/dr)/r  = s s^3 (f12 s^3 - f6) - force_shift / r                f12 = 12 c12,          f6 = 6 c6
//! ```

#[cfg(test)]
mod tests;

use super::{Distance, Formula, Mixing, PairPotential, PairTable, PairTerm, PotentialError};
use super::{Shift, SpeciesPair, Tail, Well};
use crate::Dimension;
use crate::force::{PairLoop, PairSums};
use crate::simd::Arithmetic;
use pulp::Simd;
use std::f64::consts::PI;

/// c12, c6, f12, f6, energy shift, force shift.
type Constants = [f64; 6];

/// Lennard-Jones with a table of constants per pair of species.
#[derive(Debug, Clone)]
pub struct LennardJones {
    cutoff: f64,
    shift: Shift,
    wells: PairTable<Well>,
    constants: PairTable<Constants>,
}

impl LennardJones {
    /// Creates the potential for species with the given wells, mixed by `mixing` except for the
    /// `overrides`.
    ///
    /// # Errors
    /// An override names a species that does not exist, or the powers of an epsilon or sigma are
    /// beyond the range of numbers.
    pub fn new(
        wells: &[Well],
        mixing: Mixing,
        overrides: &[SpeciesPair<Well>],
        cutoff: f64,
        shift: Shift,
    ) -> Result<Self, PotentialError> {
        let mixed = |a: usize, b: usize| Some(mixing.mix(wells[a], wells[b]));
        let given = wells.iter().chain(overrides.iter().map(|pair| &pair.parameters));
        if !given.copied().all(Well::is_in_range) {
            return Err(PotentialError::OutOfRange(
                "epsilon must be 0 or from 1e-50 to 1e50, sigma from 1e-15 to 1e15: beyond, their products and powers are \
                 no numbers any more",
            ));
        }
        let wells = PairTable::new(wells.len(), overrides, mixed)?;
        let constants = wells.map(|well| constants(well, cutoff, shift));
        Ok(Self { cutoff, shift, wells, constants })
    }

    /// Creates the potential of one species with epsilon = sigma = 1, truncated without a shift.
    pub fn reduced(cutoff: f64) -> Self {
        let (wells, shift) = (PairTable::of_one_species(Well { epsilon: 1.0, sigma: 1.0 }), Shift::None);
        Self { cutoff, shift, constants: wells.map(|well| constants(well, cutoff, shift)), wells }
    }
}

fn constants(well: Well, cutoff: f64, shift: Shift) -> Constants {
    let s6 = well.sigma.powi(6);
    let (c12, c6) = (4.0 * well.epsilon * s6 * s6, 4.0 * well.epsilon * s6);
    let plain = [c12, c6, 12.0 * c12, 6.0 * c6, 0.0, 0.0];
    let [energy_shift, force_shift] = shift.constants(term(plain, cutoff * cutoff), cutoff);
    [c12, c6, 12.0 * c12, 6.0 * c6, energy_shift, force_shift]
}

fn term([c12, c6, f12, f6, energy_shift, force_shift]: Constants, r2: f64) -> PairTerm {
    let s = 1.0 / r2;
    let s3 = s * s * s;
    PairTerm {
        energy: s3 * (c12 * s3 - c6) - energy_shift + force_shift * r2.sqrt(),
        force_over_r: s * s3 * (f12 * s3 - f6) - force_shift * s.sqrt(),
    }
}

/// Returns whether f32 can represent the numbers that the kernel computes at this distance.
fn fit_single_precision([c12, _, f12, f6, ..]: Constants, r2: f64) -> bool {
    let s = 1.0 / r2;
    let s4 = s.powi(4);
    let repulsion = f12 * s.powi(3);
    [s4, f6, f12 * s, repulsion, s4 * repulsion, s4 * f6, c12 * s.powi(6)]
        .into_iter()
        .all(|number| number == 0.0 || (number as f32).is_normal())
}

/// Returns the integrals of the uncut potential from the cutoff to infinity with g(r) = 1 (Allen &
/// Tildesley, eqs. 2.142f; in 2D the same integral over rings), in units of epsilon.
fn tail(sigma: f64, cutoff: f64, dimension: Dimension) -> Tail {
    let (x, area) = (sigma / cutoff, sigma * sigma);
    let (energy, pressure) = match dimension {
        Dimension::Three => (
            8.0 * PI / 9.0 * area * sigma * (x.powi(9) - 3.0 * x.powi(3)),
            32.0 * PI / 9.0 * area * sigma * (x.powi(9) - 1.5 * x.powi(3)),
        ),
        Dimension::Two => (
            4.0 * PI * area * (x.powi(10) / 10.0 - x.powi(4) / 4.0),
            4.0 * PI * area * (0.6 * x.powi(10) - 0.75 * x.powi(4)),
        ),
    };
    Tail { energy, pressure }
}

impl PairPotential for LennardJones {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn species(&self) -> usize {
        self.wells.species()
    }

    fn takes_unlike_particles(&self) -> bool {
        self.wells.takes_unlike_particles()
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        term(self.constants.get(a, b), r2)
    }

    /// Checks the range from half of sigma, where forces are ten thousand times as strong as at
    /// sigma, to the cutoff.
    fn fits_single_precision(&self) -> bool {
        self.constants.iter().zip(self.wells.iter()).all(|(constants, well)| {
            [0.5 * well.sigma, self.cutoff].into_iter().all(|r| fit_single_precision(constants, r * r))
        })
    }

    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        Tail::of_pairs(counts, volume, |a, b| {
            let Well { epsilon, sigma } = self.wells.get(a, b);
            (epsilon, tail(sigma, self.cutoff, dimension))
        })
    }

    fn compute(&self, pairs: PairLoop) -> PairSums {
        match self.shift {
            Shift::None | Shift::Energy => self.constants.run(TwelveSix, pairs),
            Shift::Force => self.constants.run(ForceShifted, pairs),
        }
    }
}

/// The formula without the square root that a shifted force needs.
#[derive(Clone, Copy)]
struct TwelveSix;

impl Formula<6> for TwelveSix {
    /// 1 / r^2.
    type Prepared<S: Simd, P: Arithmetic> = P::Lanes<S>;

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(self, distance: Distance<S, P>) -> P::Lanes<S> {
        distance.inverse_r2()
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        self,
        simd: S,
        [c12, c6, f12, f6, energy_shift, _]: [P::Lanes<S>; 6],
        s: P::Lanes<S>,
    ) -> PairTerm<P::Lanes<S>> {
        let s2 = P::mul(simd, s, s);
        // Factored to a chain of three operations; f12 s^3 and s s^3 would be a chain of four.
        let bracket = P::mul_add(simd, P::mul(simd, f12, s), s2, P::neg(simd, f6));
        let force_over_r = P::mul(simd, P::mul(simd, s2, s2), bracket);
        let s3 = P::mul(simd, s, s2);
        let well = P::mul_add(simd, c12, s3, P::neg(simd, c6));
        let energy = P::mul_add(simd, s3, well, P::neg(simd, energy_shift));
        PairTerm { energy, force_over_r }
    }
}

#[derive(Clone, Copy)]
struct ForceShifted;

impl Formula<6> for ForceShifted {
    /// 1 / r^2 and r^2.
    type Prepared<S: Simd, P: Arithmetic> = [P::Lanes<S>; 2];

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(self, distance: Distance<S, P>) -> [P::Lanes<S>; 2] {
        [distance.inverse_r2(), distance.r2()]
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        self,
        simd: S,
        constants: [P::Lanes<S>; 6],
        [s, r2]: [P::Lanes<S>; 2],
    ) -> PairTerm<P::Lanes<S>> {
        let PairTerm { energy, force_over_r } = TwelveSix.evaluate::<S, P>(simd, constants, s);
        let force_shift = constants[5];
        let per_r = P::mul(simd, force_shift, P::sqrt(simd, s));
        PairTerm {
            energy: P::mul_add(simd, force_shift, P::sqrt(simd, r2), energy),
            force_over_r: P::sub(simd, force_over_r, per_r),
        }
    }
}
