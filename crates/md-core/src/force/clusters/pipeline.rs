//! The three pipeline steps of a list entry in the inner loop (`kernel`).
//!
//! ```text
//! measure        load x, y, z of the j-cluster; distances, cutoff mask
//! prepare        slow operations that the kernel starts early: a division, a root
//! interact       pair term; add to the forces on the i-particles in registers, subtract from those
//!                on the j-cluster in memory
//! ```

use super::entry::Word;
use super::lane_codes::{LanesByCode, MOST_DIRECT_LANES};
use crate::force::pair_kernel::{Distance, PairKernel, Scale};
use crate::force::pair_potential::PairTerm;
use crate::force::terms::{add_product, subtract_product};
use crate::force::virial::add_virial;
use crate::force::{Newton, PairSums};
use crate::quantum::{ENERGY_QUANTUM, FORCE_QUANTUM};
use crate::simd::{Arithmetic, ClusterForces, Registers};
use crate::tensor::SymmetricTensor;
use crate::threads::Placed;
use pulp::Simd;
use std::marker::PhantomData;

/// State of a sweep, in registers as far as they suffice.
pub(super) struct Sweep<'a, S: Simd, K, P: Arithmetic, R> {
    pub simd: S,
    pub kernel: K,
    pub positions: [&'a [P::Cluster<S>]; 3],
    pub kinds: &'a [P::ClusterSpecies<S>],
    /// Forces by cluster or by accumulator.
    pub forces: [&'a mut [P::Lanes<S>]; 3],
    /// Forces by particle, to which accumulators are flushed.
    pub particle_forces: [&'a mut [f64]; 3],
    pub i_force: Option<Placed<[&'a mut [f64]; 3]>>,
    pub unit: f64,
    pub scale: Scale<P::Lanes<S>>,
    pub cutoff2: P::Lanes<S>,
    /// The lanes of entries by code.
    pub lanes: &'a LanesByCode,
    pub lane_bits: P::SpeciesLanes<S>,
    pub i_sums: Collected<P::Lanes<S>>,
    pub sums: PairSums,
    pub newton: Newton,
    pub registers: PhantomData<R>,
}

/// Energy, virial and useful pairs of an i-cluster, one sum per lane.
pub(super) struct Collected<V> {
    pub energy: V,
    pub virial: [V; SymmetricTensor::LEN],
    pub pairs: V,
}

/// The i-particles: coordinates, parameters, forces.
pub(super) struct ICluster<S: Simd, P: Arithmetic, R> {
    pub position: [P::Coordinates<S>; 3],
    pub parameters: R,
    pub force: [P::Lanes<S>; 3],
}

/// An i-cluster and a j-cluster after the first pipeline step.
#[derive(Clone, Copy)]
pub(super) struct Measured<S: Simd, P: Arithmetic> {
    pub cluster: usize,
    pub kinds: P::ClusterSpecies<S>,
    pub vector: [P::Lanes<S>; 3],
    pub distance: Distance<S, P>,
}

/// An i-cluster and a j-cluster after the second pipeline step.
#[derive(Clone, Copy)]
pub(super) struct Prepared<S: Simd, P: Arithmetic, R> {
    pub measured: Measured<S, P>,
    pub prepared: R,
}

impl<S: Simd, K: PairKernel, P: Arithmetic, R: Registers> Sweep<'_, S, K, P, R> {
    /// Runs the first pipeline step: distances.
    #[inline(always)]
    pub(super) fn measure(&self, i: &ICluster<S, P, K::Parameters<S, P>>, entry: Word) -> Measured<S, P> {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let [x, y, z] = i.position;
        let cluster = entry.cluster();
        let dx = P::difference(simd, x, xs[cluster]);
        let dy = P::difference(simd, y, ys[cluster]);
        let dz = P::difference(simd, z, zs[cluster]);
        let squares = P::mul_add(simd, dy, dy, P::mul(simd, dx, dx));
        let square = P::mul_add(simd, dz, dz, squares);
        let within = P::less_than::<S, R>(simd, square, self.cutoff2, self.lanes(entry), self.lane_bits);
        let distance = Distance { simd, square, within, scale: self.scale };
        Measured { cluster, kinds: self.kinds[cluster], vector: [dx, dy, dz], distance }
    }

    /// Returns the lanes of an entry.
    #[inline(always)]
    fn lanes(&self, entry: Word) -> u16 {
        if P::lanes::<S>() <= MOST_DIRECT_LANES {
            entry.code().into()
        } else {
            self.lanes[usize::from(entry.code())]
        }
    }

    /// Runs the second pipeline step: the first step of the kernel.
    #[inline(always)]
    pub(super) fn prepare(&self, measured: Measured<S, P>) -> Prepared<S, P, K::Prepared<S, P>> {
        let prepared = self.kernel.prepare(measured.distance);
        Prepared { measured, prepared }
    }

    /// Runs the third pipeline step: the pair term and the forces.
    #[inline(always)]
    pub(super) fn interact<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        i: &mut ICluster<S, P, K::Parameters<S, P>>,
        Prepared { measured, prepared }: Prepared<S, P, K::Prepared<S, P>>,
    ) {
        let simd = self.simd;
        let Measured { cluster, kinds, vector: [dx, dy, dz], distance } = measured;
        let kinds = P::species_lanes(simd, kinds);
        let PairTerm { energy, force_over_r: force } =
            self.kernel.evaluate::<S, P>(simd, i.parameters, kinds, prepared);
        if SUMS {
            let Collected { energy: total, virial, pairs } = &mut self.i_sums;
            // The product with one rounds the energy if sums are exact.
            let one = P::splat(simd, 1.0);
            *total = add_product::<S, P>(simd, distance.masked(energy), one, *total, ENERGY_QUANTUM);
            add_virial::<S, P>(simd, force, [dx, dy, dz], virial);
            *pairs = P::add(simd, *pairs, distance.masked(one));
        }
        let [cx, cy, cz] = &mut i.force;
        *cx = add_product::<S, P>(simd, force, dx, *cx, FORCE_QUANTUM);
        *cy = add_product::<S, P>(simd, force, dy, *cy, FORCE_QUANTUM);
        *cz = add_product::<S, P>(simd, force, dz, *cz, FORCE_QUANTUM);
        // Sweeps with sums are rare, and compiled once for both.
        if NEWTON && (!SUMS || self.newton == Newton::On) {
            let place = self.place(cluster);
            let [fx, fy, fz] = &mut self.forces;
            fx[place] = subtract_product::<S, P>(simd, force, dx, fx[place], FORCE_QUANTUM);
            fy[place] = subtract_product::<S, P>(simd, force, dy, fy[place], FORCE_QUANTUM);
            fz[place] = subtract_product::<S, P>(simd, force, dz, fz[place], FORCE_QUANTUM);
        }
    }

    /// Returns the index at which the forces of a cluster are added up.
    #[inline(always)]
    pub(super) fn place(&self, cluster: usize) -> usize {
        match P::CLUSTER_FORCES {
            ClusterForces::InPlace => cluster,
            // The number of accumulators is a power of two.
            ClusterForces::InAccumulators => cluster & (self.forces[0].len() - 1),
        }
    }

    /// Adds the i-cluster's sums to the section's, in f64.
    #[inline(always)]
    pub(super) fn add_i_sums(&mut self) {
        let weight = self.newton.weight();
        let zero = P::splat(self.simd, 0.0);
        let Collected { energy, virial, pairs } = &mut self.i_sums;
        self.sums.energy += weight * P::sum(self.simd, std::mem::replace(energy, zero));
        // Distances are in units of the coordinates.
        let weight2 = weight * self.unit * self.unit;
        for (total, lanes) in self.sums.virial.0.iter_mut().zip(virial) {
            *total += weight2 * P::sum(self.simd, std::mem::replace(lanes, zero));
        }
        self.sums.useful_pairs += weight * P::sum(self.simd, std::mem::replace(pairs, zero));
    }
}
