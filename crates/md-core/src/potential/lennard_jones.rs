//! 12-6 Lennard-Jones (Jones 1924): U(r) = 4 epsilon [ (sigma/r)^12 - (sigma/r)^6 ], cut at `cutoff`.
//!
//! In the loops it is written with s = 1/r^2 and four constants per pair of species:
//!
//! ```text
//! U(r)        = s^3 (c12 s^3 - c6) - energy_shift + force_shift r     c12 = 4 eps sigma^12,  c6 = 4 eps sigma^6
//! -(dU/dr)/r  = s s^3 (f12 s^3 - f6) - force_shift / r                f12 = 12 c12,          f6 = 6 c6
//! ```

use super::{KernelUser, Mixing, PairKernel, PairPotential, PairTerm, Tail};
use crate::Dimension;
use crate::simd::Arithmetic;
use pulp::Simd;
use std::f64::consts::PI;

/// Depth and diameter of one pair's potential well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Well {
    /// Depth, \[energy\].
    pub epsilon: f64,
    /// Distance at which the uncut potential is zero, \[length\].
    pub sigma: f64,
}

/// What is subtracted at the cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// Nothing: plain truncation.
    None,
    /// A constant, so that the energy vanishes at the cutoff.
    Energy,
    /// A line, so that energy and force vanish at the cutoff.
    Force,
}

/// Why a potential could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LennardJonesError {
    /// An override for a species that does not exist.
    #[error("pair override for species {0} and {1}, but there are {2} species")]
    NoSuchSpecies(usize, usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Constants {
    c12: f64,
    c6: f64,
    f12: f64,
    f6: f64,
    energy_shift: f64,
    force_shift: f64,
}

/// Lennard-Jones with a table of constants per pair of species.
#[derive(Debug, Clone)]
pub struct LennardJones {
    cutoff: f64,
    shift: Shift,
    wells: Vec<Well>,
    table: Vec<Constants>,
    species: usize,
}

impl LennardJones {
    /// For species with the given wells, mixed by `mixing` except for the `overrides` (a, b, well).
    ///
    /// # Errors
    /// An override names a species that does not exist.
    pub fn new(
        wells: &[Well],
        mixing: Mixing,
        overrides: &[(usize, usize, Well)],
        cutoff: f64,
        shift: Shift,
    ) -> Result<Self, LennardJonesError> {
        let species = wells.len();
        let mut pairs: Vec<Well> =
            wells.iter().flat_map(|&a| wells.iter().map(move |&b| mixing.mix(a, b))).collect();
        for &(a, b, well) in overrides {
            if a.max(b) >= species {
                return Err(LennardJonesError::NoSuchSpecies(a, b, species));
            }
            pairs[a * species + b] = well;
            pairs[b * species + a] = well;
        }
        let table = pairs.iter().map(|&well| Constants::new(well, cutoff, shift)).collect();
        Ok(Self { cutoff, shift, wells: pairs, table, species })
    }
}

impl Constants {
    fn new(well: Well, cutoff: f64, shift: Shift) -> Self {
        let s6 = well.sigma.powi(6);
        let (c12, c6) = (4.0 * well.epsilon * s6 * s6, 4.0 * well.epsilon * s6);
        let plain = Self { c12, c6, f12: 12.0 * c12, f6: 6.0 * c6, energy_shift: 0.0, force_shift: 0.0 };
        let at_cutoff = plain.term(cutoff * cutoff);
        match shift {
            Shift::None => plain,
            Shift::Energy => Self { energy_shift: at_cutoff.energy, ..plain },
            Shift::Force => {
                let force = at_cutoff.force_over_r * cutoff;
                Self { energy_shift: at_cutoff.energy + force * cutoff, force_shift: force, ..plain }
            }
        }
    }

    fn term(&self, r2: f64) -> PairTerm {
        let s = 1.0 / r2;
        let s3 = s * s * s;
        PairTerm {
            energy: s3 * (self.c12 * s3 - self.c6) - self.energy_shift + self.force_shift * r2.sqrt(),
            force_over_r: s * s3 * (self.f12 * s3 - self.f6) - self.force_shift * s.sqrt(),
        }
    }
}

impl PairPotential for LennardJones {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn species(&self) -> usize {
        self.species
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        self.table[a * self.species + b].term(r2)
    }

    /// Integrals of the uncut potential from the cutoff to infinity with g(r) = 1 (Allen & Tildesley, eqs. 2.142f; the
    /// 2D form by the same integral over rings).
    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        let mut tail = Tail::default();
        for (a, &count_a) in counts.iter().enumerate() {
            for (b, &count_b) in counts.iter().enumerate() {
                let Well { epsilon, sigma } = self.wells[a * self.species + b];
                let pairs = count_a as f64 * count_b as f64 / volume;
                let (x, area) = (sigma / self.cutoff, sigma * sigma);
                let (energy, virial) = match dimension {
                    Dimension::Three => (
                        8.0 * PI / 9.0 * area * sigma * (x.powi(9) - 3.0 * x.powi(3)),
                        32.0 * PI / 9.0 * area * sigma * (x.powi(9) - 1.5 * x.powi(3)),
                    ),
                    Dimension::Two => (
                        4.0 * PI * area * (x.powi(10) / 10.0 - x.powi(4) / 4.0),
                        4.0 * PI * area * (0.6 * x.powi(10) - 0.75 * x.powi(4)),
                    ),
                };
                tail.energy += pairs * epsilon * energy;
                tail.pressure += pairs / volume * epsilon * virial;
            }
        }
        tail
    }

    fn with_kernel<U: KernelUser>(&self, user: U) -> U::Output {
        let (table, species) = (self.table.as_slice(), self.species);
        match (self.species, self.shift) {
            (1, Shift::Force) => user.with(OneSpecies::<ForceShift>(self.table[0], ForceShift)),
            (1, _) => user.with(OneSpecies::<NoForceShift>(self.table[0], NoForceShift)),
            (_, Shift::Force) => user.with(ManySpecies { table, species, shift: ForceShift }),
            _ => user.with(ManySpecies { table, species, shift: NoForceShift }),
        }
    }
}

/// Whether the square root that a shifted force needs is compiled in.
trait ForceShiftKind: Copy + Sync {
    fn apply<S: Simd, P: Arithmetic>(
        simd: S,
        force_shift: P::Lanes<S>,
        r2: P::Lanes<S>,
        term: (P::Lanes<S>, P::Lanes<S>),
    ) -> (P::Lanes<S>, P::Lanes<S>);
}

#[derive(Clone, Copy)]
struct NoForceShift;

#[derive(Clone, Copy)]
struct ForceShift;

impl ForceShiftKind for NoForceShift {
    #[inline(always)]
    fn apply<S: Simd, P: Arithmetic>(
        _: S,
        _: P::Lanes<S>,
        _: P::Lanes<S>,
        term: (P::Lanes<S>, P::Lanes<S>),
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        term
    }
}

impl ForceShiftKind for ForceShift {
    #[inline(always)]
    fn apply<S: Simd, P: Arithmetic>(
        simd: S,
        shift: P::Lanes<S>,
        r2: P::Lanes<S>,
        (force, energy): (P::Lanes<S>, P::Lanes<S>),
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        let r = P::sqrt(simd, r2);
        let per_r = P::mul(simd, shift, P::reciprocal(simd, r));
        (P::sub(simd, force, per_r), P::mul_add(simd, shift, r, energy))
    }
}

/// Constants spread over the lanes.
struct Lanes<S: Simd, P: Arithmetic> {
    c12: P::Lanes<S>,
    c6: P::Lanes<S>,
    f12: P::Lanes<S>,
    f6: P::Lanes<S>,
    energy_shift: P::Lanes<S>,
    force_shift: P::Lanes<S>,
}

impl<S: Simd, P: Arithmetic> Clone for Lanes<S, P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd, P: Arithmetic> Copy for Lanes<S, P> {}

impl<S: Simd, P: Arithmetic> Lanes<S, P> {
    #[inline(always)]
    fn splat(simd: S, c: &Constants) -> Self {
        Self {
            c12: P::splat(simd, c.c12),
            c6: P::splat(simd, c.c6),
            f12: P::splat(simd, c.f12),
            f6: P::splat(simd, c.f6),
            energy_shift: P::splat(simd, c.energy_shift),
            force_shift: P::splat(simd, c.force_shift),
        }
    }

    #[inline(always)]
    fn select(simd: S, mask: P::Mask<S>, yes: Self, no: Self) -> Self {
        Self {
            c12: P::select(simd, mask, yes.c12, no.c12),
            c6: P::select(simd, mask, yes.c6, no.c6),
            f12: P::select(simd, mask, yes.f12, no.f12),
            f6: P::select(simd, mask, yes.f6, no.f6),
            energy_shift: P::select(simd, mask, yes.energy_shift, no.energy_shift),
            force_shift: P::select(simd, mask, yes.force_shift, no.force_shift),
        }
    }

    #[inline(always)]
    fn pairs<F: ForceShiftKind>(self, simd: S, r2: P::Lanes<S>) -> (P::Lanes<S>, P::Lanes<S>) {
        let s = P::reciprocal(simd, r2);
        let s3 = P::mul(simd, P::mul(simd, s, s), s);
        let bracket = P::mul_add(simd, self.f12, s3, P::neg(simd, self.f6));
        let force = P::mul(simd, P::mul(simd, s, s3), bracket);
        let well = P::mul_add(simd, self.c12, s3, P::neg(simd, self.c6));
        let energy = P::mul_add(simd, s3, well, P::neg(simd, self.energy_shift));
        F::apply::<S, P>(simd, self.force_shift, r2, (force, energy))
    }
}

/// All constants stay in registers.
#[derive(Clone, Copy)]
struct OneSpecies<F>(Constants, F);

impl<F: ForceShiftKind> PairKernel for OneSpecies<F> {
    type Row<S: Simd, P: Arithmetic> = Lanes<S, P>;

    #[inline(always)]
    fn row<S: Simd, P: Arithmetic>(&self, simd: S, _a: usize) -> Lanes<S, P> {
        Lanes::splat(simd, &self.0)
    }

    #[inline(always)]
    fn pairs<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        row: Lanes<S, P>,
        _b: P::Kinds<S>,
        r2: P::Lanes<S>,
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        row.pairs::<F>(simd, r2)
    }
}

/// Constants are blended by the partner's species: one comparison and a few selects per further species, no gather.
#[derive(Clone, Copy)]
struct ManySpecies<'a, F> {
    table: &'a [Constants],
    species: usize,
    shift: F,
}

impl<'a, F: ForceShiftKind> PairKernel for ManySpecies<'a, F> {
    type Row<S: Simd, P: Arithmetic> = &'a [Constants];

    #[inline(always)]
    fn row<S: Simd, P: Arithmetic>(&self, _simd: S, a: usize) -> &'a [Constants] {
        &self.table[a * self.species..][..self.species]
    }

    #[inline(always)]
    fn pairs<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        row: &'a [Constants],
        b: P::Kinds<S>,
        r2: P::Lanes<S>,
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        let _ = self.shift;
        let mut lanes = Lanes::<S, P>::splat(simd, &row[0]);
        for (species, constants) in row.iter().enumerate().skip(1) {
            let here = P::is_kind(simd, b, species);
            lanes = Lanes::select(simd, here, Lanes::splat(simd, constants), lanes);
        }
        lanes.pairs::<F>(simd, r2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Well = Well { epsilon: 1.0, sigma: 1.0 };

    fn argon(shift: Shift) -> LennardJones {
        LennardJones::new(&[UNIT], Mixing::LorentzBerthelot, &[], 2.5, shift).unwrap()
    }

    #[test]
    fn special_points() {
        let lj = argon(Shift::None);
        let zero_crossing = lj.term(0, 0, 1.0);
        assert_eq!(zero_crossing, PairTerm { energy: 0.0, force_over_r: 24.0 });
        let well = lj.term(0, 0, 2f64.powf(1.0 / 3.0));
        assert!((well.energy + 1.0).abs() < 1e-15 && well.force_over_r.abs() < 1e-13);
        // At r = 2 sigma: 4 (2^-12 - 2^-6) = -63/1024.
        assert_eq!(lj.term(0, 0, 4.0).energy, -63.0 / 1024.0);
    }

    #[test]
    fn shifts_vanish_at_the_cutoff() {
        let just_inside = 2.5f64 * 2.5;
        assert!(argon(Shift::Energy).term(0, 0, just_inside).energy.abs() < 1e-16);
        let force_shifted = argon(Shift::Force).term(0, 0, just_inside);
        assert!(force_shifted.energy.abs() < 1e-15 && force_shifted.force_over_r.abs() < 1e-16);
    }

    #[test]
    fn force_is_the_derivative_of_the_energy() {
        for shift in [Shift::None, Shift::Energy, Shift::Force] {
            let lj = argon(shift);
            for r in [0.9, 1.0, 1.3, 1.9, 2.4] {
                let h = 1e-6;
                let (low, high) = (lj.term(0, 0, (r - h) * (r - h)), lj.term(0, 0, (r + h) * (r + h)));
                let numerical = -(high.energy - low.energy) / (2.0 * h);
                let force = lj.term(0, 0, r * r).force_over_r * r;
                assert!((force - numerical).abs() < 1e-6 * force.abs().max(1.0), "{shift:?} at {r}");
            }
        }
    }

    #[test]
    fn overrides_beat_mixing_in_both_orders() {
        let other = Well { epsilon: 0.25, sigma: 3.0 };
        let special = Well { epsilon: 1.5, sigma: 0.8 };
        let mixed =
            LennardJones::new(&[UNIT, other], Mixing::LorentzBerthelot, &[], 5.0, Shift::None).unwrap();
        assert_eq!(mixed.wells[1], Well { epsilon: 0.5, sigma: 2.0 });
        let lj = LennardJones::new(&[UNIT, other], Mixing::Geometric, &[(1, 0, special)], 5.0, Shift::None)
            .unwrap();
        assert_eq!((lj.wells[1], lj.wells[2]), (special, special));
        assert!(LennardJones::new(&[UNIT], Mixing::Geometric, &[(0, 1, special)], 5.0, Shift::None).is_err());
    }

    #[test]
    fn tails_match_nist_and_a_numerical_integral() {
        let lj = LennardJones::new(&[UNIT], Mixing::LorentzBerthelot, &[], 3.0, Shift::None).unwrap();
        let tail = lj.tail(&[800], 1000.0, Dimension::Three);
        assert!((tail.energy - -198.49).abs() < 0.005, "NIST configuration 1: {}", tail.energy);
        for (dimension, shell) in [(Dimension::Three, 4.0 * PI), (Dimension::Two, 2.0 * PI)] {
            let tail = lj.tail(&[100], 200.0, dimension);
            let d = dimension.count();
            let (mut energy, mut virial, h) = (0.0, 0.0, 1e-3);
            for k in 0..400_000 {
                let r = 3.0 + (f64::from(k) + 0.5) * h;
                let term = lj.term(0, 0, r * r);
                let weight = 0.5 * 100.0 * 0.5 * shell * r.powi(d as i32 - 1) * h;
                energy += weight * term.energy;
                virial += weight * term.force_over_r * r * r;
            }
            assert!((tail.energy / energy - 1.0).abs() < 1e-5, "{dimension:?}: {} {energy}", tail.energy);
            let pressure = virial / (d as f64 * 200.0);
            assert!(
                (tail.pressure / pressure - 1.0).abs() < 1e-5,
                "{dimension:?}: {} {pressure}",
                tail.pressure
            );
        }
    }
}
