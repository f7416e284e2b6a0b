//! The inner loop over cluster lists.
//!
//! ```text
//! for each row: particle i spread over the lanes, its force in registers
//!   for each entry, in three stages
//!     measure     load x, y, z of the cluster; distances, cutoff mask
//!     invert      1 / r^2, or 0 beyond the cutoff
//!     interact    pair term; add to i, subtract from the cluster's forces in memory
//! ```
//!
//! Lanes beyond the cutoff are computed and thrown away: a branch would cost more than it saves. The force on i and the
//! cluster's forces are each one fused multiply-add per component. A pair is a chain of about 50 cycles, of which
//! the CPU's scheduler sees no more than two or three entries; so the loop is written with three entries at different
//! stages, whose instructions do not wait for each other.

use super::lists::{Entry, View};
use super::slots::LaneSums;
use crate::force::PairSums;
use crate::force::shares::Columns;
use crate::halo::Reach;
use crate::potential::{PairKernel, Squares};
use crate::simd::{Arithmetic, Inversion, WhereSumsGrow};
use crate::threads::Placed;
use pulp::{Simd, WithSimd};

/// One sweep over a section; `SUMS`: compute energies too.
pub(super) struct ClusterSweep<'a, K, P: Arithmetic, const SUMS: bool> {
    pub view: View<'a>,
    pub sums: &'a mut LaneSums,
    pub columns: Columns<'a, P>,
    pub cutoff: f64,
    pub kernel: K,
}

impl<K: PairKernel, P: Arithmetic, const SUMS: bool> WithSimd for ClusterSweep<'_, K, P, SUMS> {
    type Output = PairSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> PairSums {
        let Columns { position: [x, y, z], kind, force, unit, row_force } = self.columns;
        // Slices of equal, known length: two bounds checks per entry. (Through `map` it would not be known.)
        let clusters = x.len() / P::width::<S>();
        let ([fx, fy, fz], numbers): ([&mut [P::Lanes<S>]; 3], _) = match P::SUMS {
            WhereSumsGrow::AtTheParticles => {
                let [fx, fy, fz] = force;
                ([vectors_mut(fx), vectors_mut(fy), vectors_mut(fz)], Default::default())
            }
            WhereSumsGrow::Apart => (self.sums.vectors(), force),
        };
        let places = fx.len().min(fy.len()).min(fz.len());
        let zero = P::splat(simd, 0.0);
        let mut sweep = Sweep::<S, K, P> {
            simd,
            kernel: self.kernel,
            positions: [&vectors(x)[..clusters], &vectors(y)[..clusters], &vectors(z)[..clusters]],
            kinds: &vectors(kind)[..clusters],
            forces: [&mut fx[..places], &mut fy[..places], &mut fz[..places]],
            numbers,
            row_force,
            unit,
            unit2: P::splat(simd, unit * unit),
            cutoff2: P::splat(simd, self.cutoff * self.cutoff / (unit * unit)),
            per_unit2: P::splat(simd, 1.0 / (unit * unit)),
            inversion: Inversion::of_this_cpu(),
            lane_bits: P::lane_bits(simd),
            row_sums: Collected { energy: zero, virial: zero, pairs: zero },
            sums: PairSums::default(),
        };
        match self.view.section.reach {
            Reach::Both => sweep.batches::<SUMS, true>(self.view),
            Reach::First => sweep.batches::<SUMS, false>(self.view),
        }
        sweep.sums
    }
}

/// Numbers as vectors; what does not fill the last one is left out.
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

/// Energy, virial and useful pairs of a row, per lane.
struct Collected<V> {
    energy: V,
    virial: V,
    pairs: V,
}

/// Particles i of a row.
struct Centre<S: Simd, P: Arithmetic, R> {
    position: [P::Coordinates<S>; 3],
    parameters: R,
    force: [P::Lanes<S>; 3],
}

/// A row's particles and a cluster after the first stage.
struct Measured<S: Simd, P: Arithmetic> {
    cluster: usize,
    kinds: P::ClusterKinds<S>,
    distance: [P::Lanes<S>; 3],
    r2: P::Lanes<S>,
    /// Partners within the cutoff.
    within: P::Mask<S>,
}

/// The same after the second.
struct Inverted<S: Simd, P: Arithmetic> {
    measured: Measured<S, P>,
    squares: Squares<P::Lanes<S>>,
}

struct Sweep<'a, S: Simd, K, P: Arithmetic> {
    simd: S,
    kernel: K,
    positions: [&'a [P::Cluster<S>]; 3],
    kinds: &'a [P::ClusterKinds<S>],
    /// Of clusters, or of slots.
    forces: [&'a mut [P::Lanes<S>]; 3],
    /// Of particles, where slots are emptied.
    numbers: [&'a mut [f64]; 3],
    row_force: Option<Placed<[&'a mut [f64]; 3]>>,
    unit: f64,
    unit2: P::Lanes<S>,
    cutoff2: P::Lanes<S>,
    per_unit2: P::Lanes<S>,
    inversion: Inversion,
    lane_bits: P::Kinds<S>,
    row_sums: Collected<P::Lanes<S>>,
    sums: PairSums,
}

impl<S: Simd, K: PairKernel, P: Arithmetic> Sweep<'_, S, K, P> {
    /// All rows of the section.
    #[inline(always)]
    fn batches<const SUMS: bool, const NEWTON: bool>(&mut self, view: View) {
        let View { section, mut rows, mut entries, batches, mut emptied } = view;
        self.sums.computed_pairs = (entries.len() * P::lanes::<S>()) as f64;
        for batch in batches {
            let (now, later) = emptied.split_at(batch.emptied as usize);
            for cluster in now {
                self.empty(*cluster as usize);
            }
            let (own, others) = rows.split_at(batch.rows as usize);
            for row in own {
                let (own, others) = entries.split_at(row.entries as usize);
                let mut centre = self.load(row.particle as usize);
                self.row::<SUMS, NEWTON>(&mut centre, own);
                self.store(row.particle as usize, &centre);
                if SUMS {
                    self.add_row_sums(section.reach);
                }
                entries = others;
            }
            (rows, emptied) = (others, later);
        }
    }

    /// Moves the sums of a cluster's slot to its particles.
    #[inline(always)]
    fn empty(&mut self, cluster: usize) {
        let zero = P::splat(self.simd, 0.0);
        let (slot, start) = (self.place(cluster), cluster * P::width::<S>());
        for dim in 0..self.numbers.len() {
            let sums = std::mem::replace(&mut self.forces[dim][slot], zero);
            let to = &mut self.numbers[dim][start..];
            let end = P::width::<S>().min(to.len());
            P::add_cluster(self.simd, &mut to[..end], sums, self.unit);
        }
    }

    /// Three entries are under way at a time, each a stage further than the next.
    #[inline(always)]
    fn row<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        centre: &mut Centre<S, P, K::Row<S, P>>,
        entries: &[Entry],
    ) {
        let Some((first, entries)) = entries.split_first() else { return };
        let mut measured = self.measure(centre, *first);
        if let Some((second, entries)) = entries.split_first() {
            let mut inverted = self.invert(measured);
            measured = self.measure(centre, *second);
            for entry in entries {
                let next_measured = self.measure(centre, *entry);
                let next_inverted = self.invert(measured);
                self.interact::<SUMS, NEWTON>(centre, inverted);
                (measured, inverted) = (next_measured, next_inverted);
            }
            self.interact::<SUMS, NEWTON>(centre, inverted);
        }
        let inverted = self.invert(measured);
        self.interact::<SUMS, NEWTON>(centre, inverted);
    }

    #[inline(always)]
    fn load(&self, i: usize) -> Centre<S, P, K::Row<S, P>> {
        let simd = self.simd;
        let zero = P::splat(simd, 0.0);
        let [x, y, z] = self.positions;
        let own = i..i + P::rows::<S>();
        let kind: &[P::Kind] = bytemuck::cast_slice(self.kinds);
        Centre {
            position: [
                P::spread(simd, &bytemuck::cast_slice(x)[own.clone()]),
                P::spread(simd, &bytemuck::cast_slice(y)[own.clone()]),
                P::spread(simd, &bytemuck::cast_slice(z)[own]),
            ],
            parameters: self.kernel.row::<S, P>(simd, P::species(kind[i])),
            force: [zero, zero, zero],
        }
    }

    #[inline(always)]
    fn store(&mut self, i: usize, centre: &Centre<S, P, K::Row<S, P>>) {
        let (first, [x, y, z]): (usize, [&mut [f64]; 3]) = match (&mut self.row_force, P::SUMS) {
            (Some(Placed { first, columns: [x, y, z] }), _) => (*first, [x, y, z]),
            (None, WhereSumsGrow::Apart) => {
                let [x, y, z] = &mut self.numbers;
                (0, [x, y, z])
            }
            (None, WhereSumsGrow::AtTheParticles) => {
                let [x, y, z] = &mut self.forces;
                let cast = bytemuck::cast_slice_mut::<P::Lanes<S>, f64>;
                (0, [cast(x), cast(y), cast(z)])
            }
        };
        let own = i - first..i - first + P::rows::<S>();
        let to = [&mut x[own.clone()], &mut y[own.clone()], &mut z[own]];
        P::add_rows(self.simd, to, centre.force, self.unit);
    }

    /// First stage: distances.
    #[inline(always)]
    fn measure(&self, centre: &Centre<S, P, K::Row<S, P>>, entry: Entry) -> Measured<S, P> {
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
    fn invert(&self, measured: Measured<S, P>) -> Inverted<S, P> {
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
    fn interact<const SUMS: bool, const NEWTON: bool>(
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
    fn place(&self, cluster: usize) -> usize {
        match P::SUMS {
            WhereSumsGrow::AtTheParticles => cluster,
            // Their number is a power of two.
            WhereSumsGrow::Apart => cluster & (self.forces[0].len() - 1),
        }
    }

    /// Adds the row's sums to the section's, in f64.
    #[inline(always)]
    fn add_row_sums(&mut self, reach: Reach) {
        // A pair that its partner's rank computes as well counts half on each side.
        let weight = if reach == Reach::Both { 1.0 } else { 0.5 };
        let zero = P::splat(self.simd, 0.0);
        let Collected { energy, virial, pairs } = &mut self.row_sums;
        self.sums.energy += weight * P::sum(self.simd, std::mem::replace(energy, zero));
        self.sums.virial += weight * P::sum(self.simd, std::mem::replace(virial, zero));
        self.sums.useful_pairs += weight * P::sum(self.simd, std::mem::replace(pairs, zero));
    }
}
