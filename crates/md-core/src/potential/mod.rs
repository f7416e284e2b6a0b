//! Pair potentials.
//!
//! A potential gives the pair term twice: as plain scalar arithmetic ([`PairPotential::term`], the reference that direct
//! summation and tests use) and as a SIMD kernel ([`PairKernel`]), with which [`PairPotential::compute`] runs a loop over
//! pairs. The loop is compiled for each kernel, in the crate that implements the potential: one of your own crate is as
//! fast as those here. Where a potential is a formula of a few constants per pair of species, implement [`Formula`] and
//! keep the constants in a [`PairTable`], which has kernels for one species and for many.
//!
//! A potential of this crate is one file beside this one.

mod kernel;
mod lennard_jones;
mod mixing;
mod morse;
mod shift;
mod table;

pub use kernel::{Distance, PairKernel};
pub use lennard_jones::{LennardJones, Well};
pub use mixing::Mixing;
pub use morse::{Morse, MorsePair};
pub use shift::Shift;
pub use table::{Formula, PairTable, PotentialError, SpeciesPair};

pub(crate) use kernel::Scale;

use crate::Dimension;
use crate::force::{PairLoop, PairSums};

/// What one pair contributes, or each of a vector of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairTerm<V = f64> {
    /// Pair energy.
    pub energy: V,
    /// -(dU/dr)/r: times the distance vector from j to i it is the force on i, \[energy / length^2\].
    pub force_over_r: V,
}

/// Mean-field correction for pairs beyond the cutoff, whole system.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tail {
    /// Energy.
    pub energy: f64,
    /// Pressure.
    pub pressure: f64,
}

impl Tail {
    /// Sums over all pairs of species, given a factor and what it multiplies for one pair of particles in unit volume.
    fn of_pairs(counts: &[u64], volume: f64, of_species: impl Fn(usize, usize) -> (f64, Self)) -> Self {
        let mut tail = Self::default();
        for (a, &count_a) in counts.iter().enumerate() {
            for (b, &count_b) in counts.iter().enumerate() {
                let pairs = count_a as f64 * count_b as f64 / volume;
                let (factor, Self { energy, pressure }) = of_species(a, b);
                tail.energy += pairs * factor * energy;
                tail.pressure += pairs / volume * factor * pressure;
            }
        }
        tail
    }
}

/// A cut-off, spherically symmetric pair potential.
pub trait PairPotential: std::fmt::Debug + Send + Sync {
    /// Cutoff radius, \[length\].
    fn cutoff(&self) -> f64;

    /// Number of species.
    fn species(&self) -> usize;

    /// Whether the kernel takes i-clusters of several species ([`PairKernel::parameters`]); else they are of one particle
    /// where there are several species.
    fn takes_unlike_particles(&self) -> bool {
        false
    }

    /// The pair term at squared distance `r2` (less than the cutoff's square) of species `a` and `b`.
    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm;

    /// Mean-field correction of energy and pressure for `counts[species]` particles in `volume`.
    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail;

    /// Whether f32 holds, without loss of digits, every number that arises in the pair terms of particles at usual distances.
    fn fits_single_precision(&self) -> bool;

    /// Runs a loop over pairs with the kernel for these parameters.
    fn compute(&self, pairs: PairLoop) -> PairSums;
}
