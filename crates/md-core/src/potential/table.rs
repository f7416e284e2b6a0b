//! Constants per pair of species, and the kernels for potentials that are a formula of such constants.

use super::{Distance, PairKernel, PairTerm};
use crate::force::{PairLoop, PairSums};
use crate::simd::Arithmetic;
use pulp::Simd;

/// Parameters of one pair of species.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeciesPair<T> {
    /// Indices of the two, in either order.
    pub species: [usize; 2],
    /// Of pairs of these two.
    pub parameters: T,
}

/// Why a potential could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PotentialError {
    /// Parameters for a species that does not exist.
    #[error("parameters for species {} and {}, but there are {count} species", pair[0], pair[1])]
    NoSuchSpecies {
        /// Indices of the two.
        pair: [usize; 2],
        /// Species there are.
        count: usize,
    },
    /// A pair of species without parameters.
    #[error("no parameters for species {0} and {1}")]
    MissingPair(usize, usize),
    /// A parameter without meaning.
    #[error("{0}")]
    OutOfRange(&'static str),
}

/// Something for every pair of species.
#[derive(Debug, Clone, PartialEq)]
pub struct PairTable<T> {
    species: usize,
    /// By the first species, then by the second.
    entries: Vec<T>,
}

impl<T: Copy> PairTable<T> {
    /// For so many species: what `default` says, except for `pairs`.
    ///
    /// # Errors
    /// A pair names a species that does not exist, or there is no default for one that is not named.
    pub fn new(
        species: usize,
        pairs: &[SpeciesPair<T>],
        default: impl Fn(usize, usize) -> Option<T>,
    ) -> Result<Self, PotentialError> {
        let mut entries: Vec<_> = (0..species * species).map(|n| default(n / species, n % species)).collect();
        for &SpeciesPair { species: [a, b], parameters } in pairs {
            if a.max(b) >= species {
                return Err(PotentialError::NoSuchSpecies { pair: [a, b], count: species });
            }
            entries[a * species + b] = Some(parameters);
            entries[b * species + a] = Some(parameters);
        }
        let missing = |n: usize| PotentialError::MissingPair(n / species, n % species);
        let entries = entries.into_iter().enumerate().map(|(n, entry)| entry.ok_or_else(|| missing(n)));
        Ok(Self { species, entries: entries.collect::<Result<_, _>>()? })
    }

    /// For one species.
    pub fn of_one_species(entry: T) -> Self {
        Self { species: 1, entries: vec![entry] }
    }

    /// Number of species.
    pub fn species(&self) -> usize {
        self.species
    }

    /// That of species `a` and `b`.
    pub fn get(&self, a: usize, b: usize) -> T {
        self.entries[a * self.species + b]
    }

    /// All, by the first species, then by the second.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.entries.iter().copied()
    }

    /// A table made of this one.
    pub fn map<U>(&self, of: impl FnMut(T) -> U) -> PairTable<U> {
        PairTable { species: self.species, entries: self.iter().map(of).collect() }
    }
}

impl<const N: usize> PairTable<[f64; N]> {
    /// Runs a loop over pairs with the formula's kernel.
    pub fn run<F: Formula<N>>(&self, formula: F, pairs: PairLoop) -> PairSums {
        match self.entries.as_slice() {
            [constants] => pairs.run(OneSpecies { formula, constants: *constants }),
            &[first, mixed, _, second] => {
                pairs.run(TwoSpecies { formula, constants: [[first, mixed], [mixed, second]] })
            }
            _ => pairs.run(ManySpecies { formula, table: self }),
        }
    }
}

/// A pair potential with `N` constants per pair of species; its two functions are those of [`PairKernel`].
pub trait Formula<const N: usize>: Copy + Sync {
    /// See [`PairKernel::Prepared`].
    type Prepared<S: Simd, P: Arithmetic>: Copy;

    /// See [`PairKernel::prepare`].
    fn prepare<S: Simd, P: Arithmetic>(self, distance: Distance<S, P>) -> Self::Prepared<S, P>;

    /// See [`PairKernel::evaluate`].
    fn evaluate<S: Simd, P: Arithmetic>(
        self,
        simd: S,
        constants: [P::Lanes<S>; N],
        prepared: Self::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>>;
}

/// All constants stay in registers.
#[derive(Clone, Copy)]
struct OneSpecies<F, const N: usize> {
    formula: F,
    constants: [f64; N],
}

impl<F: Formula<N>, const N: usize> PairKernel for OneSpecies<F, N> {
    type Parameters<S: Simd, P: Arithmetic> = [P::Lanes<S>; N];
    type Prepared<S: Simd, P: Arithmetic> = F::Prepared<S, P>;

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(&self, simd: S, _: usize) -> [P::Lanes<S>; N] {
        splat::<S, P, N>(simd, &self.constants)
    }

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> F::Prepared<S, P> {
        self.formula.prepare(distance)
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        constants: [P::Lanes<S>; N],
        _: P::SpeciesLanes<S>,
        prepared: F::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        self.formula.evaluate::<S, P>(simd, constants, prepared)
    }
}

/// A particle's constants with both species stay in registers, or near; one comparison and a select per constant.
#[derive(Clone, Copy)]
struct TwoSpecies<F, const N: usize> {
    formula: F,
    constants: [[[f64; N]; 2]; 2],
}

impl<F: Formula<N>, const N: usize> PairKernel for TwoSpecies<F, N> {
    type Parameters<S: Simd, P: Arithmetic> = [[P::Lanes<S>; N]; 2];
    type Prepared<S: Simd, P: Arithmetic> = F::Prepared<S, P>;

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(&self, simd: S, a: usize) -> [[P::Lanes<S>; N]; 2] {
        let [first, second] = &self.constants[a];
        [splat::<S, P, N>(simd, first), splat::<S, P, N>(simd, second)]
    }

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> F::Prepared<S, P> {
        self.formula.prepare(distance)
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        [mut constants, second]: [[P::Lanes<S>; N]; 2],
        b: P::SpeciesLanes<S>,
        prepared: F::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        let is_second = P::is_species(simd, b, 1);
        for (constant, second) in constants.iter_mut().zip(second) {
            *constant = P::select(simd, is_second, second, *constant);
        }
        self.formula.evaluate::<S, P>(simd, constants, prepared)
    }
}

/// Constants are blended by the partner's species: one comparison and a few selects per further species, no gather.
#[derive(Clone, Copy)]
struct ManySpecies<'a, F, const N: usize> {
    formula: F,
    table: &'a PairTable<[f64; N]>,
}

impl<'a, F: Formula<N>, const N: usize> PairKernel for ManySpecies<'a, F, N> {
    type Parameters<S: Simd, P: Arithmetic> = &'a [[f64; N]];
    type Prepared<S: Simd, P: Arithmetic> = F::Prepared<S, P>;

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(&self, _: S, a: usize) -> &'a [[f64; N]] {
        &self.table.entries[a * self.table.species..][..self.table.species]
    }

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> F::Prepared<S, P> {
        self.formula.prepare(distance)
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        parameters: &'a [[f64; N]],
        b: P::SpeciesLanes<S>,
        prepared: F::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        let mut constants = splat::<S, P, N>(simd, &parameters[0]);
        for (species, of_species) in parameters.iter().enumerate().skip(1) {
            let here = P::is_species(simd, b, species);
            for (constant, &number) in constants.iter_mut().zip(of_species) {
                *constant = P::select(simd, here, P::splat(simd, number), *constant);
            }
        }
        self.formula.evaluate::<S, P>(simd, constants, prepared)
    }
}

#[inline(always)]
fn splat<S: Simd, P: Arithmetic, const N: usize>(simd: S, constants: &[f64; N]) -> [P::Lanes<S>; N] {
    let mut lanes = [P::splat(simd, 0.0); N];
    for (lanes, &constant) in lanes.iter_mut().zip(constants) {
        *lanes = P::splat(simd, constant);
    }
    lanes
}
