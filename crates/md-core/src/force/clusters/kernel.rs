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
use crate::halo::Reach;
use crate::particles::Particles;
use crate::potential::PairKernel;
use crate::simd::multiply_add;
use pulp::{Simd, WithSimd};

const LANE_NUMBERS: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// One sweep over a section; `SUMS`: compute energies too.
pub(super) struct ClusterSweep<'a, K, const SUMS: bool> {
    pub section: &'a Section,
    pub lists: &'a Lists,
    pub particles: &'a mut Particles,
    pub cutoff: f64,
    pub kernel: K,
}

impl<K: PairKernel, const SUMS: bool> WithSimd for ClusterSweep<'_, K, SUMS> {
    type Output = PairSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> PairSums {
        let Particles { position: [x, y, z], force: [fx, fy, fz], species, .. } = self.particles;
        let xs = S::as_simd_f64s(x.padded()).0;
        // Slices of equal, known length: one bounds check per entry instead of six.
        let clusters = xs.len();
        let zero = simd.splat_f64s(0.0);
        let mut sweep = Sweep {
            simd,
            kernel: self.kernel,
            positions: [
                xs,
                &S::as_simd_f64s(y.padded()).0[..clusters],
                &S::as_simd_f64s(z.padded()).0[..clusters],
            ],
            species: &S::as_simd_u64s(species.padded()).0[..clusters],
            forces: [
                &mut S::as_mut_simd_f64s(fx.padded_mut()).0[..clusters],
                &mut S::as_mut_simd_f64s(fy.padded_mut()).0[..clusters],
                &mut S::as_mut_simd_f64s(fz.padded_mut()).0[..clusters],
            ],
            cutoff2: simd.splat_f64s(self.cutoff * self.cutoff),
            lane_numbers: S::as_simd_f64s(&LANE_NUMBERS).0[0],
            sums: Collected { energy: zero, virial: zero, pairs: zero },
        };
        let computed = match self.section.reach {
            Reach::Both => sweep.rows::<SUMS, true>(self.lists, self.section),
            Reach::First => sweep.rows::<SUMS, false>(self.lists, self.section),
        };
        sweep.sums.reduce(simd, self.section.reach, computed)
    }
}

/// Energy, virial and useful pairs, per lane.
#[derive(Clone, Copy)]
struct Collected<S: Simd> {
    energy: S::f64s,
    virial: S::f64s,
    pairs: S::f64s,
}

impl<S: Simd> Collected<S> {
    fn reduce(self, simd: S, reach: Reach, computed: usize) -> PairSums {
        // A pair that its partner's rank computes as well counts half on each side.
        let weight = if reach == Reach::Both { 1.0 } else { 0.5 };
        PairSums {
            energy: weight * simd.reduce_sum_f64s(self.energy),
            virial: weight * simd.reduce_sum_f64s(self.virial),
            useful_pairs: weight * simd.reduce_sum_f64s(self.pairs),
            computed_pairs: computed as f64,
        }
    }
}

/// Particle i of a row.
struct Centre<S: Simd, R> {
    position: [S::f64s; 3],
    parameters: R,
    force: [S::f64s; 3],
}

struct Sweep<'a, S: Simd, K> {
    simd: S,
    kernel: K,
    positions: [&'a [S::f64s]; 3],
    species: &'a [S::u64s],
    forces: [&'a mut [S::f64s]; 3],
    cutoff2: S::f64s,
    lane_numbers: S::f64s,
    sums: Collected<S>,
}

impl<S: Simd, K: PairKernel> Sweep<'_, S, K> {
    /// All rows of the section; returns the number of pairs computed.
    #[inline(always)]
    fn rows<const SUMS: bool, const NEWTON: bool>(&mut self, lists: &Lists, section: &Section) -> usize {
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
            (plain, masked) = (plain_end, masked_end);
        }
        (plain + masked - before) * S::F64_LANES
    }

    #[inline(always)]
    fn load(&self, i: usize) -> Centre<S, K::Row<S>> {
        let simd = self.simd;
        let [x, y, z] = self.positions;
        let [x, y, z]: [&[f64]; 3] =
            [bytemuck::cast_slice(x), bytemuck::cast_slice(y), bytemuck::cast_slice(z)];
        let species = bytemuck::cast_slice::<_, u64>(self.species)[i] as usize;
        Centre {
            position: [simd.splat_f64s(x[i]), simd.splat_f64s(y[i]), simd.splat_f64s(z[i])],
            parameters: self.kernel.row(simd, species),
            force: [simd.splat_f64s(0.0); 3],
        }
    }

    #[inline(always)]
    fn store(&mut self, i: usize, centre: &Centre<S, K::Row<S>>) {
        for (column, force) in self.forces.iter_mut().zip(centre.force) {
            bytemuck::cast_slice_mut::<_, f64>(column)[i] += self.simd.reduce_sum_f64s(force);
        }
    }

    /// The lanes of a masked entry that count.
    #[inline(always)]
    fn lanes(&self, entry: &MaskedEntry) -> S::m64s {
        let simd = self.simd;
        let base = simd.splat_f64s((entry.cluster as usize * S::F64_LANES) as f64);
        let index = simd.add_f64s(base, self.lane_numbers);
        let below = simd.less_than_f64s(index, simd.splat_f64s(f64::from(entry.end)));
        let from = simd.greater_than_or_equal_f64s(index, simd.splat_f64s(f64::from(entry.first)));
        simd.and_m64s(from, below)
    }

    /// Particle i against one cluster.
    #[inline(always)]
    fn pairs<const SUMS: bool, const NEWTON: bool>(
        &mut self,
        centre: &mut Centre<S, K::Row<S>>,
        cluster: usize,
        lanes: Option<S::m64s>,
    ) {
        let (simd, [xs, ys, zs]) = (self.simd, self.positions);
        let [x, y, z] = centre.position;
        let dx = simd.sub_f64s(x, xs[cluster]);
        let dy = simd.sub_f64s(y, ys[cluster]);
        let dz = simd.sub_f64s(z, zs[cluster]);
        let r2 = multiply_add(simd, dz, dz, multiply_add(simd, dy, dy, simd.mul_f64s(dx, dx)));
        let within = simd.less_than_f64s(r2, self.cutoff2);
        let within = match lanes {
            Some(lanes) => simd.and_m64s(within, lanes),
            None => within,
        };
        let (force, energy) = self.kernel.pairs(simd, centre.parameters, self.species[cluster], r2);
        let zero = simd.splat_f64s(0.0);
        let force = simd.select_f64s(within, force, zero);
        let [fx, fy, fz] = centre.force;
        centre.force = [
            multiply_add(simd, force, dx, fx),
            multiply_add(simd, force, dy, fy),
            multiply_add(simd, force, dz, fz),
        ];
        if NEWTON {
            let reaction = simd.neg_f64s(force);
            let [fx, fy, fz] = &mut self.forces;
            fx[cluster] = multiply_add(simd, reaction, dx, fx[cluster]);
            fy[cluster] = multiply_add(simd, reaction, dy, fy[cluster]);
            fz[cluster] = multiply_add(simd, reaction, dz, fz[cluster]);
        }
        if SUMS {
            let Collected { energy: total, virial, pairs } = self.sums;
            self.sums = Collected {
                energy: simd.add_f64s(total, simd.select_f64s(within, energy, zero)),
                virial: multiply_add(simd, force, r2, virial),
                pairs: simd.add_f64s(pairs, simd.select_f64s(within, simd.splat_f64s(1.0), zero)),
            };
        }
    }
}
