//! The SIMD interface of a pair potential, which the loops over pairs call.

use super::PairTerm;
use crate::simd::{Arithmetic, Inversion};
use pulp::Simd;

/// Energy and force of a vector of pairs at once, in either precision.
///
/// A loop has several vectors of pairs in its pipeline. [`Self::prepare`] starts slow operations
/// that depend only on the distance (a division, a root, the index into a table).
/// [`Self::evaluate`] receives the result one pipeline step later, together with the parameters of
/// both species.
///
/// *Masked lanes.* Some lanes of a vector do not count, because their pairs are beyond the cutoff
/// or must not be computed here. The force of such a lane must be 0. [`Distance::inverse_r2`] and
/// [`Distance::inverse_r`] are 0 in these lanes and [`Distance::r2`] is finite, so a force with a
/// factor 1/r or 1/r^2 and otherwise finite factors is 0 automatically. For other forces use
/// [`Distance::masked`]. The energy may have any value.
///
/// Mark both functions `#[inline(always)]`: vectors in the registers of an instruction set cannot
/// be passed through a call.
pub trait PairKernel: Copy + Sync {
    /// Source of the constants of a pair of species. Kernels of a [`PairTable`] are compiled only
    /// for the loops that choose their source; other kernels keep the default.
    ///
    /// [`PairTable`]: crate::potential::PairTable
    const CONSTANTS: ConstantSource = ConstantSource::Own;
    /// Parameters that are fixed for an i-cluster: those of its particles' species with every other
    /// species.
    type Parameters<S: Simd, P: Arithmetic>: Copy;
    /// Results of the first pipeline step for a vector of pairs.
    type Prepared<S: Simd, P: Arithmetic>: Copy;

    /// Returns the parameters of an i-cluster from the species of its [`Arithmetic::i_particles`]
    /// particles. All particles have the same species unless
    /// [`takes_unlike_particles`](super::PairPotential::takes_unlike_particles).
    fn parameters<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        kinds: &[P::SpeciesIndex],
    ) -> Self::Parameters<S, P>;

    /// Runs the first pipeline step.
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> Self::Prepared<S, P>;

    /// Runs the second pipeline step. Returns energy and -(dU/dr)/r for partners of the species in
    /// `b`.
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        parameters: Self::Parameters<S, P>,
        b: P::SpeciesLanes<S>,
        prepared: Self::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>>;
}

/// Source of the constants of a pair of species.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantSource {
    /// The kernel has a source of its own for any number of species.
    Own,
    /// The scalar form of a potential.
    Terms,
    /// Registers, for one species.
    Registers,
    /// One register per constant, with a lane per species of the partner.
    Row,
    /// Two registers per constant.
    WideRow,
    /// A table in memory.
    Memory,
}

/// Conversion of a loop's squared distances to squared lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale<V> {
    /// Squared length of the unit of the coordinates.
    pub unit2: V,
    /// Inverse of `unit2`.
    pub per_unit2: V,
    pub inversion: Inversion,
}

/// Distances of a vector of pairs. Only the quantities that a kernel requests are computed.
#[derive(Clone, Copy)]
pub struct Distance<S: Simd, P: Arithmetic> {
    pub(crate) simd: S,
    /// Squared distance in units of the coordinates.
    pub(crate) square: P::Lanes<S>,
    pub(crate) within: P::Mask<S>,
    pub(crate) scale: Scale<P::Lanes<S>>,
}

impl<S: Simd, P: Arithmetic> Distance<S, P> {
    /// Returns the instruction set.
    #[inline(always)]
    pub fn simd(self) -> S {
        self.simd
    }

    /// Returns r^2, which is some finite number in masked lanes.
    #[inline(always)]
    pub fn r2(self) -> P::Lanes<S> {
        P::in_lengths(self.simd, self.square, self.scale.unit2)
    }

    /// Returns 1 / r^2, which is 0 in masked lanes.
    #[inline(always)]
    pub fn inverse_r2(self) -> P::Lanes<S> {
        let Scale { per_unit2, inversion, .. } = self.scale;
        self.masked(P::inverse_in_lengths(self.simd, self.square, per_unit2, inversion))
    }

    /// Returns r, which is some finite number in masked lanes.
    #[inline(always)]
    pub fn r(self) -> P::Lanes<S> {
        P::sqrt(self.simd, self.r2())
    }

    /// Returns 1 / r, which is 0 in masked lanes.
    #[inline(always)]
    pub fn inverse_r(self) -> P::Lanes<S> {
        // The root and the division are independent of each other.
        P::mul(self.simd, self.r(), self.inverse_r2())
    }

    /// Returns `numbers` with 0 in masked lanes.
    #[inline(always)]
    pub fn masked(self, numbers: P::Lanes<S>) -> P::Lanes<S> {
        P::select(self.simd, self.within, numbers, P::splat(self.simd, 0.0))
    }
}
