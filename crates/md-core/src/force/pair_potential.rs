//! The interface of a pair potential.

use super::{PairLoop, PairSums};
use crate::Dimension;

/// Contribution of one pair, or of each pair in a vector.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairTerm<V = f64> {
    /// Pair energy.
    pub energy: V,
    /// -(dU/dr)/r. Multiplied by the distance vector from j to i, it is the force on i, \[energy /
    /// length^2\].
    pub force_over_r: V,
}

/// Mean-field correction for pairs beyond the cutoff, for the whole system.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tail {
    /// Energy.
    pub energy: f64,
    /// Pressure.
    pub pressure: f64,
}

impl Tail {
    /// Sums over all pairs of species. `of_species` returns the correction for one pair of
    /// particles in unit volume and a factor for it.
    pub(crate) fn of_pairs(
        counts: &[u64],
        volume: f64,
        of_species: impl Fn(usize, usize) -> (f64, Self),
    ) -> Self {
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
///
/// ```
/// use md_core::potential::{LennardJones, Mixing, PotentialError, Shift, Well};
/// use md_core::{Dimension, PairPotential};
///
/// let well = Well { epsilon: 1.0, sigma: 1.0 };
/// let potential = LennardJones::new(&[well], Mixing::default(), &[], 3.0, Shift::None)?;
/// // At the minimum, r = 2^(1/6) sigma, the energy is -epsilon and the force vanishes.
/// let minimum = potential.term(0, 0, 2f64.powf(1.0 / 3.0));
/// assert!((minimum.energy + 1.0).abs() < 1e-14 && minimum.force_over_r.abs() < 1e-13);
/// // NIST's reference value for 800 particles in a box of 10 x 10 x 10.
/// let tail = potential.tail(&[800], 1000.0, Dimension::Three);
/// assert!((tail.energy - -198.49).abs() < 0.005);
/// # Ok::<(), PotentialError>(())
/// ```
pub trait PairPotential: std::fmt::Debug + Send + Sync {
    /// Returns the cutoff radius, \[length\].
    fn cutoff(&self) -> f64;

    /// Returns the number of species for which there are parameters.
    fn species(&self) -> usize {
        1
    }

    /// Returns whether the kernel accepts i-clusters of several species
    /// ([`PairKernel::parameters`](super::PairKernel::parameters)). Otherwise i-clusters have one
    /// particle if there are several species. The default kernel of [`Self::compute`] does not.
    fn takes_unlike_particles(&self) -> bool {
        false
    }

    /// Returns the pair term of species `a` and `b` at the squared distance `r2`, which is less
    /// than the squared cutoff.
    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm;

    /// Returns the mean-field correction of energy and pressure for `counts[species]` particles in
    /// `volume`.
    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail;

    /// Returns whether f32 can represent, without loss of digits, every number in the pair terms of
    /// particles at usual distances. If not, mixed precision is refused.
    fn fits_single_precision(&self) -> bool {
        false
    }

    /// Runs a loop over pairs with the kernel for these parameters. By default [`Self::term`] is
    /// called for each lane of a vector; write a [`PairKernel`](super::PairKernel) if that is too
    /// slow. Both must agree, because loops without vectors always call [`Self::term`].
    fn compute(&self, pairs: PairLoop) -> PairSums {
        pairs.run_terms()
    }
}
