//! Potentials that md-core does not contain, as another crate would define them: a formula and a
//! table.

mod support;

use md_core::force::{PairLoop, PairSums};
use md_core::potential::{Distance, Formula, PairKernel, PairTable, PairTerm, Tail};
use md_core::simd::{Arithmetic, Simd};
use md_core::{Dimension, PairPotential};
use support::assert_methods_agree;

const CUTOFF: f64 = 2.2;

/// Buckingham (1938): U(r) = A exp(-B r) - C / r^6, truncated. One species.
#[derive(Debug)]
struct Buckingham {
    /// The constants A, B, C.
    constants: PairTable<[f64; 3]>,
}

impl PairPotential for Buckingham {
    fn cutoff(&self) -> f64 {
        CUTOFF
    }

    fn species(&self) -> usize {
        self.constants.species()
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        let [a, b, c] = self.constants.get(a, b);
        let r = r2.sqrt();
        let (repulsion, attraction) = (a * (-b * r).exp(), c / r2.powi(3));
        PairTerm { energy: repulsion - attraction, force_over_r: (b * repulsion - 6.0 * attraction / r) / r }
    }

    fn tail(&self, _: &[u64], _: f64, _: Dimension) -> Tail {
        Tail::default()
    }

    fn fits_single_precision(&self) -> bool {
        true
    }

    fn compute(&self, pairs: PairLoop) -> PairSums {
        self.constants.run(ExpSix, pairs)
    }
}

#[derive(Clone, Copy)]
struct ExpSix;

impl Formula<3> for ExpSix {
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
        [a, b, c]: [P::Lanes<S>; 3],
        [r, inverse]: [P::Lanes<S>; 2],
    ) -> PairTerm<P::Lanes<S>> {
        let repulsion = P::mul(simd, a, P::exp(simd, P::neg(simd, P::mul(simd, b, r))));
        let cube = P::mul(simd, inverse, P::mul(simd, inverse, inverse));
        let attraction = P::mul(simd, c, P::mul(simd, cube, cube));
        let of_attraction = P::mul(simd, P::splat(simd, 6.0), P::mul(simd, attraction, inverse));
        let force = P::sub(simd, P::mul(simd, b, repulsion), of_attraction);
        PairTerm { energy: P::sub(simd, repulsion, attraction), force_over_r: P::mul(simd, force, inverse) }
    }
}

/// [`Buckingham`] without a kernel of its own.
#[derive(Debug)]
struct OnlyTerms(Buckingham);

impl PairPotential for OnlyTerms {
    fn cutoff(&self) -> f64 {
        CUTOFF
    }

    fn species(&self) -> usize {
        self.0.species()
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        assert!(r2 < CUTOFF * CUTOFF, "no potential has a value beyond its cutoff");
        self.0.term(a, b, r2)
    }

    fn tail(&self, _: &[u64], _: f64, _: Dimension) -> Tail {
        Tail::default()
    }
}

/// Returns potentials of one, few, and more species than any row of constants holds.
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn of_species() -> [Buckingham; 4] {
    let depth = |a: usize, b: usize| 300.0 + 5.0 * (a + b) as f64;
    [1, 2, 5, 9].map(|species| {
        let constants = PairTable::new(species, &[], |a, b| Some([depth(a, b), 5.0, 1.5])).unwrap();
        Buckingham { constants }
    })
}

#[test]
fn scalar_terms() {
    of_species().into_iter().for_each(|potential| assert_methods_agree(&OnlyTerms(potential)));
}

#[test]
fn formula() {
    of_species().iter().for_each(|potential| assert_methods_agree(potential));
}

/// Energy and -(dU/dr)/r at equidistant r^2, with linear interpolation. One species.
#[derive(Debug)]
struct Table {
    energy: Vec<f64>,
    force_over_r: Vec<f64>,
    /// Number of intervals per unit of r^2.
    density: f64,
}

impl Table {
    fn new(term: impl Fn(f64) -> PairTerm, intervals: u32) -> Self {
        let density = f64::from(intervals) / (CUTOFF * CUTOFF);
        // r^2 starts at a quarter, closer than any particles are.
        let terms = || (0..=intervals).map(|n| term((f64::from(n) / density).max(0.25)));
        let force_over_r = terms().map(|term| term.force_over_r).collect();
        Self { energy: terms().map(|term| term.energy).collect(), force_over_r, density }
    }
}

impl PairPotential for Table {
    fn cutoff(&self) -> f64 {
        CUTOFF
    }

    fn species(&self) -> usize {
        1
    }

    fn term(&self, _: usize, _: usize, r2: f64) -> PairTerm {
        let (place, index) = (r2 * self.density, (r2 * self.density) as usize);
        let between =
            |table: &[f64]| table[index] + (place - index as f64) * (table[index + 1] - table[index]);
        PairTerm { energy: between(&self.energy), force_over_r: between(&self.force_over_r) }
    }

    fn tail(&self, _: &[u64], _: f64, _: Dimension) -> Tail {
        Tail::default()
    }

    fn fits_single_precision(&self) -> bool {
        true
    }

    fn compute(&self, pairs: PairLoop) -> PairSums {
        pairs.run(TableKernel(self))
    }
}

#[derive(Clone, Copy)]
struct TableKernel<'a>(&'a Table);

impl PairKernel for TableKernel<'_> {
    type Parameters<S: Simd, P: Arithmetic> = ();
    /// Index and position between the table points, from 0 to 1. The distances are kept because
    /// they contain the masked lanes.
    type Prepared<S: Simd, P: Arithmetic> = (Distance<S, P>, [P::Lanes<S>; 2]);

    fn parameters<S: Simd, P: Arithmetic>(&self, _: S, _: &[P::SpeciesIndex]) {}

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> Self::Prepared<S, P> {
        let simd = distance.simd();
        let place = P::mul(simd, distance.r2(), P::splat(simd, self.0.density));
        let index = P::round(simd, P::sub(simd, place, P::splat(simd, 0.5)));
        (distance, [index, P::sub(simd, place, index)])
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        (): (),
        _: P::SpeciesLanes<S>,
        (distance, [index, place]): Self::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        let between = |table: &[f64]| {
            let start = P::gather(simd, table, index);
            let end = P::gather(simd, &table[1..], index);
            P::mul_add(simd, place, P::sub(simd, end, start), start)
        };
        PairTerm {
            energy: between(&self.0.energy),
            force_over_r: distance.masked(between(&self.0.force_over_r)),
        }
    }
}

#[test]
fn table() {
    let constants = PairTable::new(1, &[], |_, _| Some([300.0, 5.0, 1.5])).unwrap();
    let buckingham = Buckingham { constants };
    let table = Table::new(|r2| buckingham.term(0, 0, r2), 2000);
    let (exact, tabulated) = (buckingham.term(0, 0, 1.3), table.term(0, 0, 1.3));
    assert!((exact.energy - tabulated.energy).abs() < 1e-4 && exact != tabulated);
    assert_methods_agree(&table);
}
