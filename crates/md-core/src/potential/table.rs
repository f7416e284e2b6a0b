//! Constants per pair of species, and the kernels of potentials that are a formula of such
//! constants.

use super::{Distance, PairKernel, PairTerm};
use crate::force::{ConstantSource, PairLoop, PairSums};
use crate::simd::{Arithmetic, BySpecies, MOST_I_PARTICLES, MOST_IN_A_ROW};
use pulp::Simd;

/// Parameters of one pair of species.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeciesPair<T> {
    /// Indices of the two species, in either order.
    pub species: [usize; 2],
    /// Parameters of pairs of these species.
    pub parameters: T,
}

/// Reason why a potential could not be created.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PotentialError {
    /// Parameters for a species that does not exist.
    #[error("parameters for species {} and {}, but there are {count} species", pair[0], pair[1])]
    NoSuchSpecies {
        /// Indices of the two species.
        pair: [usize; 2],
        /// Number of species.
        count: usize,
    },
    /// A pair of species without parameters.
    #[error("no parameters for species {0} and {1}")]
    MissingPair(usize, usize),
    /// A parameter out of its range.
    #[error("{0}")]
    OutOfRange(&'static str),
}

/// An entry for every pair of species.
#[derive(Debug, Clone, PartialEq)]
pub struct PairTable<T> {
    species: usize,
    /// Entries ordered by the first species, then by the second.
    entries: Vec<T>,
}

impl<T: Copy> PairTable<T> {
    /// Creates a table for `species` species with the entries of `pairs`, and of `default` for all
    /// other pairs.
    ///
    /// # Errors
    /// A pair names a species that does not exist, or a pair is neither in `pairs` nor has a
    /// default.
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

    /// Creates a table for one species.
    pub fn of_one_species(entry: T) -> Self {
        Self { species: 1, entries: vec![entry] }
    }

    /// Returns the number of species.
    pub fn species(&self) -> usize {
        self.species
    }

    /// Returns whether the kernels of formulas accept i-clusters of several species
    /// ([`PairPotential::takes_unlike_particles`](super::PairPotential::takes_unlike_particles)).
    pub fn takes_unlike_particles(&self) -> bool {
        self.species <= MOST_IN_A_ROW
    }

    /// Returns the entry of species `a` and `b`.
    pub fn get(&self, a: usize, b: usize) -> T {
        self.entries[a * self.species + b]
    }

    /// Returns all entries, ordered by the first species, then by the second.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.entries.iter().copied()
    }

    /// Returns a table whose entries are computed from those of this one.
    pub fn map<U>(&self, of: impl FnMut(T) -> U) -> PairTable<U> {
        PairTable { species: self.species, entries: self.iter().map(of).collect() }
    }
}

impl<const N: usize> PairTable<[f64; N]> {
    /// Runs a loop over pairs with the formula's kernel.
    pub fn run<F: Formula<N>>(&self, formula: F, pairs: PairLoop) -> PairSums {
        match (pairs.constants(self.species), self.entries.as_slice()) {
            (ConstantSource::Registers, &[constants]) => pairs.run(WithConstants { formula, constants }),
            (ConstantSource::Row, _) => pairs.run(WithConstants { formula, constants: &self.rows() }),
            (ConstantSource::WideRow, _) => {
                pairs.run(WithConstants { formula, constants: Wide(&self.rows()) })
            }
            _ => pairs.run(WithConstants { formula, constants: self }),
        }
    }

    /// Returns the constants by first species and constant, with a lane per second species.
    fn rows(&self) -> Rows<N> {
        let number = |a: usize, b: usize, constant: usize| {
            if a.max(b) < self.species { self.entries[a * self.species + b][constant] } else { 0.0 }
        };
        std::array::from_fn(|a| {
            std::array::from_fn(|constant| std::array::from_fn(|b| number(a, b, constant)).into())
        })
    }
}

type Rows<const N: usize> = [[BySpecies; N]; MOST_IN_A_ROW];

/// Returns the rows of each particle of an i-cluster.
#[inline(always)]
fn of_particles<'a, const N: usize, P: Arithmetic>(
    rows: &'a Rows<N>,
    kinds: &[P::SpeciesIndex],
) -> [&'a [BySpecies; N]; MOST_I_PARTICLES] {
    std::array::from_fn(|particle| &rows[P::species(kinds[particle.min(kinds.len() - 1)]) % MOST_IN_A_ROW])
}

/// A pair potential with `N` constants per pair of species. Its two functions correspond to those
/// of [`PairKernel`].
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

/// The kernel of a formula with a source of constants.
#[derive(Clone, Copy)]
struct WithConstants<F, C, const N: usize> {
    formula: F,
    constants: C,
}

/// Source of the constants of a particle's pairs, by the species of its partners.
trait Constants<const N: usize>: Copy + Sync {
    const SOURCE: ConstantSource;
    /// Parameters for an i-cluster and all partners.
    type Parameters<S: Simd, P: Arithmetic>: Copy;

    /// Returns the parameters of an i-cluster with particles of the species in `kinds`.
    fn parameters<S: Simd, P: Arithmetic>(self, simd: S, kinds: &[P::SpeciesIndex])
    -> Self::Parameters<S, P>;

    /// Returns the constants for partners of the species in `b`.
    fn with<S: Simd, P: Arithmetic>(
        simd: S,
        parameters: Self::Parameters<S, P>,
        b: P::SpeciesLanes<S>,
    ) -> [P::Lanes<S>; N];
}

impl<F: Formula<N>, C: Constants<N>, const N: usize> PairKernel for WithConstants<F, C, N> {
    const CONSTANTS: ConstantSource = C::SOURCE;
    type Parameters<S: Simd, P: Arithmetic> = C::Parameters<S, P>;
    type Prepared<S: Simd, P: Arithmetic> = F::Prepared<S, P>;

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(&self, simd: S, kinds: &[P::SpeciesIndex]) -> C::Parameters<S, P> {
        self.constants.parameters::<S, P>(simd, kinds)
    }

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> F::Prepared<S, P> {
        self.formula.prepare(distance)
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        parameters: C::Parameters<S, P>,
        b: P::SpeciesLanes<S>,
        prepared: F::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        self.formula.evaluate::<S, P>(simd, C::with::<S, P>(simd, parameters, b), prepared)
    }
}

/// One species: all constants stay in registers.
impl<const N: usize> Constants<N> for [f64; N] {
    const SOURCE: ConstantSource = ConstantSource::Registers;
    type Parameters<S: Simd, P: Arithmetic> = [P::Lanes<S>; N];

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(self, simd: S, _: &[P::SpeciesIndex]) -> [P::Lanes<S>; N] {
        let mut lanes = [P::splat(simd, 0.0); N];
        for (lanes, constant) in lanes.iter_mut().zip(self) {
            *lanes = P::splat(simd, constant);
        }
        lanes
    }

    #[inline(always)]
    fn with<S: Simd, P: Arithmetic>(
        _: S,
        constants: [P::Lanes<S>; N],
        _: P::SpeciesLanes<S>,
    ) -> [P::Lanes<S>; N] {
        constants
    }
}

/// A few species: each constant is a register with a lane per species of the partner (and particle
/// i), and one permutation selects the constants.
impl<const N: usize> Constants<N> for &Rows<N> {
    const SOURCE: ConstantSource = ConstantSource::Row;
    type Parameters<S: Simd, P: Arithmetic> = [P::Row; N];

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(self, simd: S, kinds: &[P::SpeciesIndex]) -> [P::Row; N] {
        // Not a closure: a closure that handles vectors is not always inlined.
        let of_particles = of_particles::<N, P>(self, kinds);
        let mut rows = [P::row(simd, of_particles.map(|rows| &rows[0])); N];
        for (constant, row) in rows.iter_mut().enumerate() {
            *row = P::row(simd, of_particles.map(|rows| &rows[constant]));
        }
        rows
    }

    #[inline(always)]
    fn with<S: Simd, P: Arithmetic>(simd: S, rows: [P::Row; N], b: P::SpeciesLanes<S>) -> [P::Lanes<S>; N] {
        let mut lanes = [P::splat(simd, 0.0); N];
        for (lanes, row) in lanes.iter_mut().zip(rows) {
            *lanes = P::look_up(simd, row, b);
        }
        lanes
    }
}

/// Up to [`MOST_IN_A_ROW`] species: each constant takes two registers, in f64 with vectors of 256
/// bits, and with four particles i.
#[derive(Clone, Copy)]
struct Wide<'a, const N: usize>(&'a Rows<N>);

impl<const N: usize> Constants<N> for Wide<'_, N> {
    const SOURCE: ConstantSource = ConstantSource::WideRow;
    type Parameters<S: Simd, P: Arithmetic> = [P::WideRow; N];

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(self, simd: S, kinds: &[P::SpeciesIndex]) -> [P::WideRow; N] {
        let of_particles = of_particles::<N, P>(self.0, kinds);
        let mut rows = [P::wide_row(simd, of_particles.map(|rows| &rows[0])); N];
        for (constant, row) in rows.iter_mut().enumerate() {
            *row = P::wide_row(simd, of_particles.map(|rows| &rows[constant]));
        }
        rows
    }

    #[inline(always)]
    fn with<S: Simd, P: Arithmetic>(
        simd: S,
        rows: [P::WideRow; N],
        b: P::SpeciesLanes<S>,
    ) -> [P::Lanes<S>; N] {
        let mut lanes = [P::splat(simd, 0.0); N];
        for (lanes, row) in lanes.iter_mut().zip(rows) {
            *lanes = P::look_up_wide(simd, row, b);
        }
        lanes
    }
}

/// Many species: constants are loaded lane by lane.
impl<'a, const N: usize> Constants<N> for &'a PairTable<[f64; N]> {
    const SOURCE: ConstantSource = ConstantSource::Memory;
    type Parameters<S: Simd, P: Arithmetic> = &'a [[f64; N]];

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(self, _: S, kinds: &[P::SpeciesIndex]) -> &'a [[f64; N]] {
        &self.entries[P::species(kinds[0]) * self.species..][..self.species]
    }

    #[inline(always)]
    fn with<S: Simd, P: Arithmetic>(
        simd: S,
        table: &'a [[f64; N]],
        b: P::SpeciesLanes<S>,
    ) -> [P::Lanes<S>; N] {
        P::gather_by_species(simd, table, b)
    }
}
