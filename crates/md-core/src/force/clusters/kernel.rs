//! The inner loop over cluster lists.
//!
//! ```text
//! for each row: particle i spread over the lanes, its force in registers
//!   for each entry: load x, y, z of the cluster; distance, cutoff mask, pair term
//!                   add to i, subtract from the cluster's forces in memory
//! ```
//!
//! Lanes beyond the cutoff are computed and thrown away: a branch would cost more than it saves. The force on i and the
//! cluster's forces are each one fused multiply-add per component.

use super::lists::{Lists, MaskedEntry, Section};
use crate::force::PairSums;
use crate::force::shares::Columns;
use crate::halo::Reach;
use crate::potential::PairKernel;
use crate::simd::Arithmetic;
use pulp::{Simd, WithSimd};

/// Turns "less than" into "not below" for whole numbers.
const HALF_A_LANE: f64 = 0.5;

/// Plain entries computed together: with two, 5 % (f64) and 3 % (f32) faster than one by one.
const TOGETHER: usize = 2;

/// One sweep over a section; `SUMS`: compute energies too.
pub(super) struct ClusterSweep<'a, K, P: Arithmetic, const SUMS: bool> {
    pub section: &'a Section,
    pub lists: &'a Lists,
    pub columns: Columns<'a, P>,
    pub cutoff: f64,
    pub kernel: K,
}

impl<K: PairKernel, P: Arithmetic, const SUMS: bool> WithSimd for ClusterSweep<'_, K, P, SUMS> {
    type Output = PairSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> PairSums {
        let Columns { position: [x, y, z], kind, force: [fx, fy, fz], unit, row_force, first_row } =
            self.columns;
        // Slices of equal, known length: one bounds check per entry instead of six.
        let clusters = x.len() / P::width::<S>();
        let zero = P::splat(simd, 0.0);
        let mut sweep = Sweep::<S, K, P> {
            simd,
            kernel: self.kernel,
            positions: [x, y, z].map(|column| &vectors(column)[..clusters]),
            kinds: &vectors(kind)[..clusters],
            forces: [
                &mut vectors_mut(fx)[..clusters],
                &mut vectors_mut(fy)[..clusters],
                &mut vectors_mut(fz)[..clusters],
            ],
            row_force,
            first_row,
            unit,
            unit2: P::splat(simd, unit * unit),
            cutoff2: P::splat(simd, self.cutoff * self.cutoff),
            lane_numbers: P::lane_numbers(simd),
            row_sums: Collected { energy: zero, virial: zero, pairs: zero },
            sums: PairSums::default(),
        };
        match self.section.reach {
            Reach::Both => sweep.rows::<SUMS, true>(self.lists, self.section),
            Reach::First => sweep.rows::<SUMS, false>(self.lists, self.section),
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

/// Particle i of a row.
struct Centre<S: Simd, P: Arithmetic, R> {
    position: [P::Coordinates<S>; 3],
    parameters: R,
    force: [P::Lanes<S>; 3],
}

struct Sweep<'a, S: Simd, K, P: Arithmetic> {
    simd: S,
    kernel: K,
    positions: [&'a [P::Coordinates<S>]; 3],
    kinds: &'a [P::Kinds<S>],
    forces: [&'a mut [P::Lanes<S>]; 3],
    row_force: Option<[&'a mut [f64]; 3]>,
    first_row: usize,
    unit: f64,
    unit2: P::Lanes<S>,
    cutoff2: P::Lanes<S>,
    lane_numbers: P::Lanes<S>,
    row_sums: Collected<P::Lanes<S>>,
    sums: PairSums,
}

impl<S: Simd, K: PairKernel, P: Arithmetic> Sweep<'_, S, K, P> {
    /// All rows of the section.
    #[inline(always)]
    fn rows<const SUMS: bool, const NEWTON: bool>(&mut self, lists: &Lists, section: &Section) {
        let (mut plain, mut masked) = lists.starts(section.rows.start);
        let before = plain + masked;
        for row in &lists.rows[section.rows.clone()] {
            let (plain_end, masked_end) = (row.plain_end as usize, row.masked_end as usize);
            let mut centre = self.load(row.particle as usize);
            let (together, rest) = lists.plain[plain..plain_end].as_chunks::<TOGETHER>();
            for clusters in together {
                self.pairs::<TOGETHER, SUMS, NEWTON>(&mut centre, *clusters, None);
            }
            for &cluster in rest {
                self.pairs::<1, SUMS, NEWTON>(&mut centre, [cluster], None);
            }
            for entry in &lists.masked[masked..masked_end] {
                let lanes = self.lanes(entry);
                self.pairs::<1, SUMS, NEWTON>(&mut centre, [entry.cluster], Some(lanes));
            }
            self.store(row.particle as usize, &centre);
            if SUMS {
                self.add_row_sums(section.reach);
            }
            (plain, masked) = (plain_end, masked_end);
        }
        self.sums.computed_pairs = ((plain + masked - before) * P::width::<S>()) as f64;
    }

    #[inline(always)]
    fn load(&self, i: usize) -> Centre<S, P, K::Row<S, P>> {
        let simd = self.simd;
        let zero = P::splat(simd, 0.0);
        let column = |dim: usize| bytemuck::cast_slice::<_, P::Coordinate>(self.positions[dim])[i];
        let kind: &[P::Kind] = bytemuck::cast_slice(self.kinds);
        Centre {
            position: [P::spread(simd, column(0)), P::spread(simd, column(1)), P::spread(simd, column(2))],
            parameters: self.kernel.row::<S, P>(simd, P::species(kind[i])),
            force: [zero, zero, zero],
        }
    }

    #[inline(always)]
    fn store(&mut self, i: usize, centre: &Centre<S, P, K::Row<S, P>>) {
        for dim in 0..3 {
            let sum = P::sum(self.simd, centre.force[dim]);
            match &mut self.row_force {
                Some(force) => force[dim][i - self.first_row] += self.unit * sum,
                None => P::increase(&mut bytemuck::cast_slice_mut(self.forces[dim])[i], sum),
            }
        }
    }

    /// The lanes of a masked entry that count.
    #[inline(always)]
    fn lanes(&self, entry: &MaskedEntry) -> P::Mask<S> {
        let simd = self.simd;
        let base = entry.cluster as usize * P::width::<S>();
        let lane = |index: u32| (index as usize).saturating_sub(base).min(P::width::<S>()) as f64;
        let below = P::less_than(simd, self.lane_numbers, P::splat(simd, lane(entry.end)));
        let from = P::less_than(simd, P::splat(simd, lane(entry.first) - HALF_A_LANE), self.lane_numbers);
        P::both(simd, from, below)
    }

    /// Particle i against `N` different clusters, step by step together: one's arithmetic fills the other's latencies.
    #[inline(always)]
    fn pairs<const N: usize, const SUMS: bool, const NEWTON: bool>(
        &mut self,
        centre: &mut Centre<S, P, K::Row<S, P>>,
        clusters: [u32; N],
        lanes: Option<P::Mask<S>>,
    ) {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let [x, y, z] = centre.position;
        let zero = P::splat(simd, 0.0);
        let (mut dx, mut dy, mut dz, mut r2) = ([zero; N], [zero; N], [zero; N], [zero; N]);
        for k in 0..N {
            let cluster = clusters[k] as usize;
            dx[k] = P::difference(simd, x, xs[cluster]);
            dy[k] = P::difference(simd, y, ys[cluster]);
            dz[k] = P::difference(simd, z, zs[cluster]);
            let squares = P::mul_add(simd, dy[k], dy[k], P::mul(simd, dx[k], dx[k]));
            r2[k] = P::in_lengths(simd, P::mul_add(simd, dz[k], dz[k], squares), self.unit2);
        }
        let mut force = [zero; N];
        for k in 0..N {
            let within = P::less_than(simd, r2[k], self.cutoff2);
            let within = match lanes {
                Some(lanes) => P::both(simd, within, lanes),
                None => within,
            };
            let kinds = self.kinds[clusters[k] as usize];
            let (term, energy) = self.kernel.pairs::<S, P>(simd, centre.parameters, kinds, r2[k]);
            force[k] = P::select(simd, within, term, zero);
            if SUMS {
                let Collected { energy: total, virial, pairs } = &mut self.row_sums;
                *total = P::add(simd, *total, P::select(simd, within, energy, zero));
                *virial = P::mul_add(simd, force[k], r2[k], *virial);
                *pairs = P::add(simd, *pairs, P::select(simd, within, P::splat(simd, 1.0), zero));
            }
        }
        let ([cx, cy, cz], [fx, fy, fz]) = (&mut centre.force, &mut self.forces);
        for k in 0..N {
            *cx = P::mul_add(simd, force[k], dx[k], *cx);
            *cy = P::mul_add(simd, force[k], dy[k], *cy);
            *cz = P::mul_add(simd, force[k], dz[k], *cz);
            if NEWTON {
                let (cluster, reaction) = (clusters[k] as usize, P::neg(simd, force[k]));
                fx[cluster] = P::mul_add(simd, reaction, dx[k], fx[cluster]);
                fy[cluster] = P::mul_add(simd, reaction, dy[k], fy[cluster]);
                fz[cluster] = P::mul_add(simd, reaction, dz[k], fz[cluster]);
            }
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
