//! The kernel of potentials that have only a scalar form.

use super::{ConstantSource, Distance, PairKernel, PairPotential, PairTerm};
use crate::simd::Arithmetic;
use pulp::Simd;

/// Calls [`PairPotential::term`] for each lane. The potential is not a type parameter, so that
/// loops are compiled once for all potentials.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermKernel<'p>(pub(super) &'p dyn PairPotential);

impl PairKernel for TermKernel<'_> {
    const CONSTANTS: ConstantSource = ConstantSource::Terms;
    /// Species of the i-cluster.
    type Parameters<S: Simd, P: Arithmetic> = usize;
    type Prepared<S: Simd, P: Arithmetic> = Distance<S, P>;

    #[inline(always)]
    fn parameters<S: Simd, P: Arithmetic>(&self, _: S, kinds: &[P::SpeciesIndex]) -> usize {
        debug_assert!(
            kinds.iter().all(|kind| P::species(*kind) == P::species(kinds[0])),
            "a potential that takes unlike particles needs a kernel of its own"
        );
        P::species(kinds[0])
    }

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(&self, distance: Distance<S, P>) -> Distance<S, P> {
        distance
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        &self,
        simd: S,
        a: usize,
        b: P::SpeciesLanes<S>,
        distance: Distance<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        // Masked lanes may be beyond the cutoff, where the potential need not have a value, and
        // those within may have been rounded up to it.
        let cutoff2 = self.0.cutoff().powi(2);
        // Lanes of padding may have any species.
        let last = self.0.species().saturating_sub(1);
        let r2 =
            P::select(simd, distance.within, distance.r2(), P::splat(simd, MASKED_OVER_CUTOFF * cutoff2));
        let [energy, force_over_r] = P::map_lanes(simd, r2, b, |r2, b| {
            let PairTerm { energy, force_over_r } = self.0.term(a, b.min(last), r2.min(cutoff2.next_down()));
            [energy, force_over_r]
        });
        PairTerm { energy, force_over_r: distance.masked(force_over_r) }
    }
}

/// Squared distance at which masked lanes are evaluated, over the squared cutoff.
const MASKED_OVER_CUTOFF: f64 = 0.5;
