//! The SIMD side of a pair potential: what the loops over pairs call.

use super::PairTerm;
use crate::simd::{Arithmetic, Inversion};
use pulp::Simd;

/// Energy and force of a vector of pairs at once, in either precision.
///
/// A loop has several vectors of pairs in its pipeline. [`Self::prepare`] begins what takes long and needs the distance
/// alone (a division, a root, the index into a table); [`Self::evaluate`] gets the result a pipeline step later, with the
/// parameters of both species.
///
/// *Masked lanes.* Some lanes of a vector do not count: their pairs are beyond the cutoff, or not to be computed here.
/// The force of such a lane must be 0. [`Distance::inverse_r2`] and [`Distance::inverse_r`] are 0 there and [`Distance::r2`]
/// is finite, so that a force with a factor 1/r or 1/r^2 and otherwise finite numbers is 0 by itself;
/// [`Distance::masked`] is for others. The energy may be anything.
///
/// Mark both functions `#[inline(always)]`: vectors in the registers of an instruction set do not survive a call.
pub trait PairKernel: Copy + Sync {
    /// What is fixed for an i-cluster: the parameters of its particles' species with every other.
    type Parameters<S: Simd, P: Arithmetic>: Copy;
    /// What is known of a vector of pairs after the first pipeline step.
    type Prepared<S: Simd, P: Arithmetic>: Copy;

    /// The parameters of an i-cluster, by the species of its [`Arithmetic::i_particles`] particles. All are of the same species
    /// unless [`takes_unlike_particles`](super::PairPotential::takes_unlike_particles).
    fn parameters<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        kinds: &[P::SpeciesIndex],
    ) -> Self::Parameters<S, P>;

    /// First pipeline step.
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> Self::Prepared<S, P>;

    /// Second pipeline step: energy and -(dU/dr)/r, for partners of the species in `b`.
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        parameters: Self::Parameters<S, P>,
        b: P::SpeciesLanes<S>,
        prepared: Self::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>>;
}

/// How a loop's squared distances become squared lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale<V> {
    /// Squared length of the unit of the coordinates.
    pub unit2: V,
    /// Its inverse.
    pub per_unit2: V,
    pub inversion: Inversion,
}

/// Distances of a vector of pairs. What a kernel does not ask for is not computed.
#[derive(Clone, Copy)]
pub struct Distance<S: Simd, P: Arithmetic> {
    pub(crate) simd: S,
    /// In units of the coordinates.
    pub(crate) square: P::Lanes<S>,
    pub(crate) within: P::Mask<S>,
    pub(crate) scale: Scale<P::Lanes<S>>,
}

impl<S: Simd, P: Arithmetic> Distance<S, P> {
    /// The instruction set.
    #[inline(always)]
    pub fn simd(self) -> S {
        self.simd
    }

    /// r^2; any finite number in masked lanes.
    #[inline(always)]
    pub fn r2(self) -> P::Lanes<S> {
        P::in_lengths(self.simd, self.square, self.scale.unit2)
    }

    /// 1 / r^2; 0 in masked lanes.
    #[inline(always)]
    pub fn inverse_r2(self) -> P::Lanes<S> {
        let Scale { per_unit2, inversion, .. } = self.scale;
        self.masked(P::inverse_in_lengths(self.simd, self.square, per_unit2, inversion))
    }

    /// r; any finite number in masked lanes.
    #[inline(always)]
    pub fn r(self) -> P::Lanes<S> {
        P::sqrt(self.simd, self.r2())
    }

    /// 1 / r; 0 in masked lanes.
    #[inline(always)]
    pub fn inverse_r(self) -> P::Lanes<S> {
        // The root and the division do not wait for each other.
        P::mul(self.simd, self.r(), self.inverse_r2())
    }

    /// The numbers, but 0 in masked lanes.
    #[inline(always)]
    pub fn masked(self, numbers: P::Lanes<S>) -> P::Lanes<S> {
        P::select(self.simd, self.within, numbers, P::splat(self.simd, 0.0))
    }
}
