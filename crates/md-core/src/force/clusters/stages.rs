//! The three stages of an entry in the inner loop (`kernel`).
//!
//! ```text
//! measure     load x, y, z of the cluster; distances, cutoff mask
//! invert      1 / r^2, or 0 beyond the cutoff
//! interact    pair term; add to the row's particles, subtract from the cluster's forces in memory
//! ```

use super::kernel::Sweep;
use super::words::Entry;
use crate::force::Newton;
use crate::potential::{PairKernel, Squares};
use crate::simd::{Arithmetic, ClusterForces};
use pulp::Simd;

/// Energy, virial and useful pairs of a row, per lane.
pub(super) struct Collected<V> {
    pub energy: V,
    pub virial: V,
    pub pairs: V,
}

/// Particles i of a row.
pub(super) struct Centre<S: Simd, P: Arithmetic, R> {
    pub position: [P::Coordinates<S>; 3],
    pub parameters: R,
    pub force: [P::Lanes<S>; 3],
}

/// A row's particles and a cluster after the first stage.
pub(super) struct Measured<S: Simd, P: Arithmetic> {
    pub cluster: usize,
    pub kinds: P::ClusterKinds<S>,
    pub distance: [P::Lanes<S>; 3],
    pub r2: P::Lanes<S>,
    /// Partners within the cutoff.
    pub within: P::Mask<S>,
}

/// The same after the second.
pub(super) struct Inverted<S: Simd, P: Arithmetic> {
    pub measured: Measured<S, P>,
    pub squares: Squares<P::Lanes<S>>,
}

impl<S: Simd, K: PairKernel, P: Arithmetic> Sweep<'_, S, K, P> {
    /// First stage: distances.
    #[inline(always)]
    pub(super) fn measure(&self, centre: &Centre<S, P, K::Row<S, P>>, entry: Entry) -> Measured<S, P> {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let [x, y, z] = centre.position;
        let cluster = entry.cluster();
        let dx = P::difference(simd, x, xs[cluster]);
        let dy = P::difference(simd, y, ys[cluster]);
        let dz = P::difference(simd, z, zs[cluster]);
        let squares = P::mul_add(simd, dy, dy, P::mul(simd, dx, dx));
        let r2 = P::mul_add(simd, dz, dz, squares);
        let within = P::less_than(simd, (r2, self.cutoff2), (entry.lanes(), self.lane_bits));
        Measured { cluster, kinds: self.kinds[cluster], distance: [dx, dy, dz], r2, within }
    }

    /// Second stage: the reciprocal, in those lanes that count.
    #[inline(always)]
    pub(super) fn invert(&self, measured: Measured<S, P>) -> Inverted<S, P> {
        let (simd, r2) = (self.simd, measured.r2);
        let inverse = P::select(
            simd,
            measured.within,
            P::inverse_in_lengths(simd, r2, self.per_unit2, self.inversion),
            P::splat(simd, 0.0),
        );
        Inverted { measured, squares: Squares { r2: P::in_lengths(simd, r2, self.unit2), inverse } }
    }

    /// Third stage: the pair term and the forces.
    #[inline(always)]
    pub(super) fn interact<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        centre: &mut Centre<S, P, K::Row<S, P>>,
        Inverted { measured: Measured { cluster, kinds, distance: [dx, dy, dz], within, .. }, squares }: Inverted<S, P>,
    ) {
        let simd = self.simd;
        let kinds = P::kinds(simd, kinds);
        let (force, energy) = self.kernel.pairs::<S, P>(simd, centre.parameters, kinds, squares);
        if SUMS {
            let zero = P::splat(simd, 0.0);
            let Collected { energy: total, virial, pairs } = &mut self.row_sums;
            *total = P::add(simd, *total, P::select(simd, within, energy, zero));
            *virial = P::mul_add(simd, force, squares.r2, *virial);
            *pairs = P::add(simd, *pairs, P::select(simd, within, P::splat(simd, 1.0), zero));
        }
        let [cx, cy, cz] = &mut centre.force;
        *cx = P::mul_add(simd, force, dx, *cx);
        *cy = P::mul_add(simd, force, dy, *cy);
        *cz = P::mul_add(simd, force, dz, *cz);
        if NEWTON {
            let place = self.place(cluster);
            let [fx, fy, fz] = &mut self.forces;
            let reaction = P::neg(simd, force);
            fx[place] = P::mul_add(simd, reaction, dx, fx[place]);
            fy[place] = P::mul_add(simd, reaction, dy, fy[place]);
            fz[place] = P::mul_add(simd, reaction, dz, fz[place]);
        }
    }

    /// Where the forces of a cluster add up.
    #[inline(always)]
    pub(super) fn place(&self, cluster: usize) -> usize {
        match P::CLUSTER_FORCES {
            ClusterForces::InPlace => cluster,
            // Their number is a power of two.
            ClusterForces::InSlots => cluster & (self.forces[0].len() - 1),
        }
    }

    /// Adds the row's sums to the section's, in f64.
    #[inline(always)]
    pub(super) fn add_row_sums(&mut self, reach: Newton) {
        // A pair that its partner's rank computes as well counts half on each side.
        let weight = if reach == Newton::On { 1.0 } else { 0.5 };
        let zero = P::splat(self.simd, 0.0);
        let Collected { energy, virial, pairs } = &mut self.row_sums;
        self.sums.energy += weight * P::sum(self.simd, std::mem::replace(energy, zero));
        self.sums.virial += weight * P::sum(self.simd, std::mem::replace(virial, zero));
        self.sums.useful_pairs += weight * P::sum(self.simd, std::mem::replace(pairs, zero));
    }
}
