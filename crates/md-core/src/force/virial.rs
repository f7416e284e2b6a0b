//! The virial of a vector of pairs, which both SIMD loops add up on request.

use super::terms::add_product;
use crate::quantum::ENERGY_QUANTUM;
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
    let add = |sum: &mut P::Lanes<S>, f, d| *sum = add_product::<S, P>(simd, f, d, *sum, ENERGY_QUANTUM);
    let [xx, yy, zz, xy, xz, yz] = sums;
    add(xx, fx, dx);
    add(yy, fy, dy);
    add(zz, fz, dz);
    add(xy, fx, dy);
    add(xz, fx, dz);
    add(yz, fy, dz);
}
