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
fn vectors<T: bytemuck::Pod, V: bytemuck::Pod>(numbers: &[T]) -> &[V] {
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
            for &cluster in &lists.plain[plain..plain_end] {
                self.pairs::<SUMS, NEWTON>(&mut centre, cluster as usize, None);
            }
            for entry in &lists.masked[masked..masked_end] {
                let lanes = self.lanes(entry);
                self.pairs::<SUMS, NEWTON>(&mut centre, entry.cluster as usize, Some(lanes));
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

    /// Particle i against one cluster.
    #[inline(always)]
    fn pairs<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        centre: &mut Centre<S, P, K::Row<S, P>>,
        cluster: usize,
        lanes: Option<P::Mask<S>>,
    ) {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let [x, y, z] = centre.position;
        let dx = P::difference(simd, x, xs[cluster]);
        let dy = P::difference(simd, y, ys[cluster]);
        let dz = P::difference(simd, z, zs[cluster]);
        let r2 = P::mul_add(simd, dz, dz, P::mul_add(simd, dy, dy, P::mul(simd, dx, dx)));
        let r2 = P::in_lengths(simd, r2, self.unit2);
        let within = P::less_than(simd, r2, self.cutoff2);
        let within = match lanes {
            Some(lanes) => P::both(simd, within, lanes),
            None => within,
        };
        let (force, energy) = self.kernel.pairs::<S, P>(simd, centre.parameters, self.kinds[cluster], r2);
        let zero = P::splat(simd, 0.0);
        let force = P::select(simd, within, force, zero);
        let [fx, fy, fz] = centre.force;
        centre.force = [
            P::mul_add(simd, force, dx, fx),
            P::mul_add(simd, force, dy, fy),
            P::mul_add(simd, force, dz, fz),
        ];
        if NEWTON {
            let reaction = P::neg(simd, force);
            let [fx, fy, fz] = &mut self.forces;
            fx[cluster] = P::mul_add(simd, reaction, dx, fx[cluster]);
            fy[cluster] = P::mul_add(simd, reaction, dy, fy[cluster]);
            fz[cluster] = P::mul_add(simd, reaction, dz, fz[cluster]);
        }
        if SUMS {
            let Collected { energy: total, virial, pairs } = &mut self.row_sums;
            *total = P::add(simd, *total, P::select(simd, within, energy, zero));
            *virial = P::mul_add(simd, force, r2, *virial);
            *pairs = P::add(simd, *pairs, P::select(simd, within, P::splat(simd, 1.0), zero));
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
