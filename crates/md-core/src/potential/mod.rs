//! Pair potentials. A potential is one file beside this one and one line in [`Potential`].
//!
//! Each gives the pair term twice: once as plain scalar arithmetic ([`PairPotential::term`], the reference that
//! direct summation and tests use) and once as SIMD kernels, made for the parameters at hand and handed to a
//! [`KernelUser`], so that a loop over pairs is compiled for each.

mod lennard_jones;
mod mixing;

pub use lennard_jones::{LennardJones, LennardJonesError, Shift, Well};
pub use mixing::Mixing;

use crate::simd::Arithmetic;
use pulp::Simd;

/// What one pair contributes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairTerm {
    /// Pair energy.
    pub energy: f64,
    /// -(dU/dr)/r: times the distance vector from j to i it is the force on i, \[energy / length^2\].
    pub force_over_r: f64,
}

/// Mean-field correction for pairs beyond the cutoff, whole system.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tail {
    /// Energy.
    pub energy: f64,
    /// Pressure.
    pub pressure: f64,
}

/// A cut-off, spherically symmetric pair potential.
pub trait PairPotential {
    /// Cutoff radius, \[length\].
    fn cutoff(&self) -> f64;

    /// Number of species.
    fn species(&self) -> usize;

    /// The pair term at squared distance `r2` (less than the cutoff's square) of species `a` and `b`.
    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm;

    /// Mean-field correction of energy and pressure for `counts[species]` particles in `volume`.
    fn tail(&self, counts: &[u64], volume: f64, dimension: crate::Dimension) -> Tail;

    /// Whether f32 holds, without loss of digits, every number that arises in the pair terms of particles at usual distances.
    fn fits_single_precision(&self) -> bool;

    /// Calls `user` with the SIMD kernel for these parameters.
    fn with_kernel<U: KernelUser>(&self, user: U) -> U::Output;
}

/// Squared distances of a vector of pairs.
#[derive(Debug, Clone, Copy)]
pub struct Squares<V> {
    /// r^2; any finite number in lanes that do not count.
    pub r2: V,
    /// 1 / r^2, which takes long and so is begun early; 0 in lanes that do not count.
    pub inverse: V,
}

/// Energy and force of a vector of pairs at once, in either precision.
pub trait PairKernel: Copy + Sync {
    /// What is fixed for one particle i: its row of parameters, spread over the lanes.
    type Row<S: Simd, P: Arithmetic>: Copy;

    /// Prepares the row of species `a`.
    fn row<S: Simd, P: Arithmetic>(&self, simd: S, a: usize) -> Self::Row<S, P>;

    /// -(dU/dr)/r and U, for partners of the species in `b`. In lanes that do not count, the first must be 0; the second
    /// may be anything.
    fn pairs<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        row: Self::Row<S, P>,
        b: P::Kinds<S>,
        squares: Squares<P::Lanes<S>>,
    ) -> (P::Lanes<S>, P::Lanes<S>);
}

/// A loop over pairs that wants a kernel.
pub trait KernelUser {
    /// What the loop returns.
    type Output;

    /// Runs the loop with `kernel`.
    fn with<K: PairKernel>(self, kernel: K) -> Self::Output;
}

/// All potentials.
#[derive(Debug, Clone)]
pub enum Potential {
    /// 12-6 Lennard-Jones.
    LennardJones(LennardJones),
}

macro_rules! each {
    ($potential:expr, $inner:ident => $call:expr) => {
        match $potential {
            Potential::LennardJones($inner) => $call,
        }
    };
}

impl PairPotential for Potential {
    fn cutoff(&self) -> f64 {
        each!(self, inner => inner.cutoff())
    }

    fn species(&self) -> usize {
        each!(self, inner => inner.species())
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        each!(self, inner => inner.term(a, b, r2))
    }

    fn tail(&self, counts: &[u64], volume: f64, dimension: crate::Dimension) -> Tail {
        each!(self, inner => inner.tail(counts, volume, dimension))
    }

    fn fits_single_precision(&self) -> bool {
        each!(self, inner => inner.fits_single_precision())
    }

    fn with_kernel<U: KernelUser>(&self, user: U) -> U::Output {
        each!(self, inner => inner.with_kernel(user))
    }
}
