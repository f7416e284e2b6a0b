//! The loops' side: constants in vector registers, with and without the square root that a shifted force needs.

use super::Constants;
use crate::potential::{PairKernel, Squares};
use crate::simd::Arithmetic;
use pulp::Simd;

/// Whether the square root that a shifted force needs is compiled in.
pub(super) trait ForceShiftKind: Copy + Sync {
    fn apply<S: Simd, P: Arithmetic>(
        simd: S,
        force_shift: P::Lanes<S>,
        squares: Squares<P::Lanes<S>>,
        term: (P::Lanes<S>, P::Lanes<S>),
    ) -> (P::Lanes<S>, P::Lanes<S>);
}

#[derive(Clone, Copy)]
pub(super) struct NoForceShift;

#[derive(Clone, Copy)]
pub(super) struct ForceShift;

impl ForceShiftKind for NoForceShift {
    #[inline(always)]
    fn apply<S: Simd, P: Arithmetic>(
        _: S,
        _: P::Lanes<S>,
        _: Squares<P::Lanes<S>>,
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
        Squares { r2, inverse }: Squares<P::Lanes<S>>,
        (force, energy): (P::Lanes<S>, P::Lanes<S>),
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        let per_r = P::mul(simd, shift, P::sqrt(simd, inverse));
        (P::sub(simd, force, per_r), P::mul_add(simd, shift, P::sqrt(simd, r2), energy))
    }
}

/// Constants spread over the lanes.
pub(super) struct Lanes<S: Simd, P: Arithmetic> {
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
    fn pairs<F: ForceShiftKind>(self, simd: S, squares: Squares<P::Lanes<S>>) -> (P::Lanes<S>, P::Lanes<S>) {
        let s = squares.inverse;
        let s2 = P::mul(simd, s, s);
        // Not f12 s^3 and s s^3: a chain of three operations instead of four.
        let bracket = P::mul_add(simd, P::mul(simd, self.f12, s), s2, P::neg(simd, self.f6));
        let force = P::mul(simd, P::mul(simd, s2, s2), bracket);
        let s3 = P::mul(simd, s, s2);
        let well = P::mul_add(simd, self.c12, s3, P::neg(simd, self.c6));
        let energy = P::mul_add(simd, s3, well, P::neg(simd, self.energy_shift));
        F::apply::<S, P>(simd, self.force_shift, squares, (force, energy))
    }
}

/// All constants stay in registers.
#[derive(Clone, Copy)]
pub(super) struct OneSpecies<F>(pub(super) Constants, pub(super) F);

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
        squares: Squares<P::Lanes<S>>,
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        row.pairs::<F>(simd, squares)
    }
}

/// Constants are blended by the partner's species: one comparison and a few selects per further species, no gather.
#[derive(Clone, Copy)]
pub(super) struct ManySpecies<'a, F> {
    pub(super) table: &'a [Constants],
    pub(super) species: usize,
    pub(super) shift: F,
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
        squares: Squares<P::Lanes<S>>,
    ) -> (P::Lanes<S>, P::Lanes<S>) {
        let _ = self.shift;
        let mut lanes = Lanes::<S, P>::splat(simd, &row[0]);
        for (species, constants) in row.iter().enumerate().skip(1) {
            let here = P::is_kind(simd, b, species);
            lanes = Lanes::select(simd, here, Lanes::splat(simd, constants), lanes);
        }
        lanes.pairs::<F>(simd, squares)
    }
}
