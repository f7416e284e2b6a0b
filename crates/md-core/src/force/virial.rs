//! The virial of a vector of pairs, which both SIMD loops add up on request.

use crate::simd::Arithmetic;
use crate::tensor::SymmetricTensor;
use pulp::Simd;

/// Adds the virial of a vector of pairs, component by component. The force in masked lanes is zero.
/// The force is multiplied first, so that meaningless distances in these lanes have no effect.
#[inline(always)]
pub(super) fn add_virial<S: Simd, P: Arithmetic>(
    simd: S,
    force_over_r: P::Lanes<S>,
    [dx, dy, dz]: [P::Lanes<S>; 3],
    sums: &mut [P::Lanes<S>; SymmetricTensor::LEN],
) {
    let fx = P::mul(simd, force_over_r, dx);
    let fy = P::mul(simd, force_over_r, dy);
    let fz = P::mul(simd, force_over_r, dz);
    let [xx, yy, zz, xy, xz, yz] = sums;
    *xx = P::mul_add(simd, fx, dx, *xx);
    *yy = P::mul_add(simd, fy, dy, *yy);
    *zz = P::mul_add(simd, fz, dz, *zz);
    *xy = P::mul_add(simd, fx, dy, *xy);
    *xz = P::mul_add(simd, fx, dz, *xz);
    *yz = P::mul_add(simd, fy, dz, *yz);
}
