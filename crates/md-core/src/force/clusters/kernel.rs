//! The inner loop over cluster pair lists.
//!
//! ```text
//! for each i-cluster: flush the accumulators listed before it (`accumulators`)
//!   coordinates of the i-particles spread over the lanes, forces on them in registers
//!   for each entry: measure, prepare, interact (`pipeline`)
//! ```
//!
//! Lanes beyond the cutoff are computed and masked: a branch would cost more than it saves. A pair
//! is a dependency chain of about 50 cycles, and the CPU's scheduler holds at most two or three
//! entries. The loop is therefore software-pipelined: two or three entries, depending on the number
//! of registers, are in flight at different steps, independent of each other.

use super::accumulators::AccumulatedForces;
use super::entry::Word;
use super::lists::View;
use super::pipeline::{Collected, ICluster, Sweep};
use crate::force::loop_kind::{LoopKind, Vectors};
use crate::force::pair_kernel::{PairKernel, Scale};
use crate::force::shares::Columns;
use crate::force::{Newton, PairSums};
use crate::simd::{Arithmetic, ClusterForces, Inversion, LevelKernel, Pipeline, Registers};
use crate::tensor::SymmetricTensor;
use crate::threads::Placed;
use pulp::Simd;
use std::marker::PhantomData;

/// One sweep over a block. With `SUMS` it also computes energies.
pub(super) struct ClusterSweep<'a, K, P: Arithmetic, const SUMS: bool> {
    pub view: View<'a>,
    pub accumulated: &'a mut AccumulatedForces,
    pub columns: Columns<'a, P>,
    pub cutoff: f64,
    pub kernel: K,
}

impl<K: PairKernel, P: Arithmetic, const SUMS: bool> LevelKernel for ClusterSweep<'_, K, P, SUMS> {
    type Output = PairSums;

    #[inline(always)]
    fn run<S: Simd, R: Registers>(self, simd: S) -> PairSums {
        // Never run, and therefore not compiled.
        if const { !LoopKind::Clusters(P::KIND).runs(K::CONSTANTS, Vectors::of(S::F64_LANES)) } {
            unreachable!(
                "kernel with constants in {:?} and loop {:?}: `species` or `takes_unlike_particles` of the potential does not agree with its table",
                K::CONSTANTS,
                P::KIND
            );
        }
        let Columns { position: [x, y, z], kind, force, unit, i_force } = self.columns;
        // Slices of equal, known length need two bounds checks per entry. (With `map` the compiler
        // would not know the length.)
        let clusters = x.len() / P::width::<S>();
        let ([fx, fy, fz], particle_forces): ([&mut [P::Lanes<S>]; 3], _) = match P::CLUSTER_FORCES {
            ClusterForces::InPlace => {
                let [fx, fy, fz] = force;
                ([vectors_mut(fx), vectors_mut(fy), vectors_mut(fz)], Default::default())
            }
            ClusterForces::InAccumulators => (self.accumulated.vectors(), force),
        };
        let places = fx.len().min(fy.len()).min(fz.len());
        let zero = P::splat(simd, 0.0);
        let mut sweep = Sweep::<S, K, P, R> {
            simd,
            kernel: self.kernel,
            positions: [&vectors(x)[..clusters], &vectors(y)[..clusters], &vectors(z)[..clusters]],
            kinds: &vectors(kind)[..clusters],
            forces: [&mut fx[..places], &mut fy[..places], &mut fz[..places]],
            particle_forces,
            i_force,
            unit,
            cutoff2: P::splat(simd, self.cutoff * self.cutoff / (unit * unit)),
            scale: Scale {
                unit2: P::splat(simd, unit * unit),
                per_unit2: P::splat(simd, 1.0 / (unit * unit)),
                inversion: Inversion::of_this_cpu(),
            },
            lanes: self.view.lanes,
            lane_bits: P::lane_bits(simd),
            i_sums: Collected { energy: zero, virial: [zero; SymmetricTensor::LEN], pairs: zero },
            sums: PairSums::default(),
            newton: self.view.newton,
            registers: PhantomData,
        };
        match self.view.newton {
            Newton::Off if !SUMS => sweep.i_clusters::<SUMS, false>(self.view),
            Newton::On | Newton::Off => sweep.i_clusters::<SUMS, true>(self.view),
        }
        sweep.sums
    }
}

/// Returns the numbers as vectors. Numbers that do not fill the last vector are left out.
#[inline(always)]
pub(super) fn vectors<T: bytemuck::Pod, V: bytemuck::Pod>(numbers: &[T]) -> &[V] {
    let width = size_of::<V>() / size_of::<T>();
    bytemuck::cast_slice(&numbers[..numbers.len() / width * width])
}

#[inline(always)]
fn vectors_mut<T: bytemuck::Pod, V: bytemuck::Pod>(numbers: &mut [T]) -> &mut [V] {
    let width = size_of::<V>() / size_of::<T>();
    let whole = numbers.len() / width * width;
    bytemuck::cast_slice_mut(&mut numbers[..whole])
}

impl<S: Simd, K: PairKernel, P: Arithmetic, R: Registers> Sweep<'_, S, K, P, R> {
    /// Sweeps over all i-clusters of the block.
    #[inline(always)]
    fn i_clusters<const SUMS: bool, const NEWTON: bool>(&mut self, View { entries, i_clusters, .. }: View) {
        self.sums.computed_pairs = (entries * P::lanes::<S>()) as f64;
        for i_cluster in i_clusters {
            for cluster in i_cluster.flushed {
                self.flush(cluster.cluster());
            }
            // The last i-cluster of a section only contains flushes, and so do some of inner lists.
            if i_cluster.entries.is_empty() {
                continue;
            }
            let mut i = self.load(i_cluster.particle);
            self.i_cluster::<SUMS, NEWTON>(&mut i, i_cluster.entries);
            self.store(i_cluster.particle, &i);
            if SUMS {
                self.add_i_sums();
            }
        }
    }

    /// Moves the sums of a cluster's accumulator to its particles.
    #[inline(always)]
    fn flush(&mut self, cluster: usize) {
        let zero = P::splat(self.simd, 0.0);
        let (accumulator, start) = (self.place(cluster), cluster * P::width::<S>());
        for dim in 0..self.particle_forces.len() {
            let sums = std::mem::replace(&mut self.forces[dim][accumulator], zero);
            let to = &mut self.particle_forces[dim][start..];
            let end = P::width::<S>().min(to.len());
            P::add_cluster(self.simd, &mut to[..end], sums, self.unit);
        }
    }

    /// Computes an i-cluster. Several entries are in flight at a time, each a pipeline step ahead
    /// of the next.
    #[inline(always)]
    fn i_cluster<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        i: &mut ICluster<S, P, K::Parameters<S, P>>,
        entries: &[Word],
    ) {
        match R::PIPELINE {
            Pipeline::TwoSteps => self.in_two_steps::<SUMS, NEWTON>(i, entries),
            Pipeline::ThreeSteps => self.in_three_steps::<SUMS, NEWTON>(i, entries),
        }
    }

    #[inline(always)]
    fn in_two_steps<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        i: &mut ICluster<S, P, K::Parameters<S, P>>,
        entries: &[Word],
    ) {
        let Some((first, entries)) = entries.split_first() else { return };
        let mut prepared = self.prepare(self.measure(i, *first));
        for entry in entries {
            let next = self.prepare(self.measure(i, *entry));
            self.interact::<SUMS, NEWTON>(i, prepared);
            prepared = next;
        }
        self.interact::<SUMS, NEWTON>(i, prepared);
    }

    #[inline(always)]
    fn in_three_steps<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        i: &mut ICluster<S, P, K::Parameters<S, P>>,
        entries: &[Word],
    ) {
        let Some((first, entries)) = entries.split_first() else { return };
        let mut measured = self.measure(i, *first);
        let mut prepared = self.prepare(measured);
        let mut in_flight = 1;
        if let Some((second, entries)) = entries.split_first() {
            measured = self.measure(i, *second);
            in_flight = 2;
            for entry in entries {
                let next_measured = self.measure(i, *entry);
                let next_prepared = self.prepare(measured);
                self.interact::<SUMS, NEWTON>(i, prepared);
                (measured, prepared) = (next_measured, next_prepared);
            }
        }
        // A loop, so that the steps are compiled once; what the last pass prepares is not needed.
        for _ in 0..in_flight {
            self.interact::<SUMS, NEWTON>(i, prepared);
            prepared = self.prepare(measured);
        }
    }

    #[inline(always)]
    fn load(&self, i: usize) -> ICluster<S, P, K::Parameters<S, P>> {
        let simd = self.simd;
        let zero = P::splat(simd, 0.0);
        let [x, y, z] = self.positions;
        let own = i..i + P::i_particles::<S>();
        let kind: &[P::SpeciesIndex] = bytemuck::cast_slice(self.kinds);
        ICluster {
            position: [
                P::spread(simd, &bytemuck::cast_slice(x)[own.clone()]),
                P::spread(simd, &bytemuck::cast_slice(y)[own.clone()]),
                P::spread(simd, &bytemuck::cast_slice(z)[own.clone()]),
            ],
            parameters: self.kernel.parameters::<S, P>(simd, &kind[own]),
            force: [zero, zero, zero],
        }
    }

    #[inline(always)]
    fn store(&mut self, particle: usize, i: &ICluster<S, P, K::Parameters<S, P>>) {
        let (first, [x, y, z]): (usize, [&mut [f64]; 3]) = match (&mut self.i_force, P::CLUSTER_FORCES) {
            (Some(Placed { first, columns: [x, y, z] }), _) => (*first, [x, y, z]),
            (None, ClusterForces::InAccumulators) => {
                let [x, y, z] = &mut self.particle_forces;
                (0, [x, y, z])
            }
            (None, ClusterForces::InPlace) => {
                let [x, y, z] = &mut self.forces;
                let cast = bytemuck::cast_slice_mut::<P::Lanes<S>, f64>;
                (0, [cast(x), cast(y), cast(z)])
            }
        };
        let start = particle - first;
        let own = start..start + P::i_particles::<S>();
        let to = [&mut x[own.clone()], &mut y[own.clone()], &mut z[own]];
        P::add_to_i_particles(self.simd, to, i.force, self.unit);
    }
}
