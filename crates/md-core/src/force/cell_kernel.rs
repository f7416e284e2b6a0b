//! The inner loop of the linked-cell method.
//!
//! ```text
//! for a block of I_PARTICLES particles i of one cell
//!     spread the coordinates of i over the lanes; keep the forces on i in registers
//!     for each span, for each vector of LANES particles j
//!         load x, y, z of j once; for each i: distance, mask, kernel, add to i, collect for j
//!         subtract the collected force from j once
//! ```
//!
//! Vectors are aligned. A span that starts or ends inside a vector has masked lanes there, and only
//! there; the vectors in between are processed without any test other than the cutoff. Particles i
//! beyond the end of the cell get a position far outside, which the cutoff masks. Lanes beyond the
//! cutoff are computed and masked: a branch would cost more than it saves.

use super::PairSums;
use super::cell_spans::{CellItem, CellSpan};
use super::shares::Columns;
use super::virial::add_virial;
use crate::force::Newton;
use crate::force::loop_kind::{LoopKind, Vectors};
use crate::force::pair_kernel::{Distance, PairKernel, Scale};
use crate::force::pair_potential::PairTerm;
use crate::simd::{Arithmetic, Double, Inversion};
use crate::tensor::SymmetricTensor;
use crate::threads::Placed;
use pulp::{Simd, WithSimd};

/// Particles i per block: enough to be worth loading and storing j, few enough for the registers.
const I_PARTICLES: usize = 2;

/// A distance beyond any cutoff whose square is still finite.
const FAR_AWAY: f64 = 1e150;

const LANE_NUMBERS: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// One sweep over items. With `SUMS` it also computes energies.
pub(super) struct CellSweep<'a, K, const SUMS: bool> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub columns: Columns<'a, Double>,
    pub cutoff: f64,
    pub kernel: K,
}

impl<K: PairKernel, const SUMS: bool> WithSimd for CellSweep<'_, K, SUMS> {
    type Output = PairSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> PairSums {
        // Never run, and therefore not compiled.
        if const { !LoopKind::Cells.runs(K::CONSTANTS, Vectors::of(S::F64_LANES)) } {
            unreachable!("kernel with constants in {:?} and linked cells", K::CONSTANTS);
        }
        let Columns { position, kind, force, i_force, .. } = self.columns;
        let mut sweep = Sweep {
            simd,
            kernel: self.kernel,
            positions: position.map(|column| S::as_simd_f64s(column).0),
            species: S::as_simd_u64s(kind).0,
            forces: force.map(|column| S::as_mut_simd_f64s(column).0),
            i_force,
            cutoff2: simd.splat_f64s(self.cutoff * self.cutoff),
            scale: Scale {
                unit2: simd.splat_f64s(1.0),
                per_unit2: simd.splat_f64s(1.0),
                inversion: Inversion::of_this_cpu(),
            },
            lane_numbers: S::as_simd_f64s(&LANE_NUMBERS).0[0],
            sums: Collected::zero(simd),
            computed: 0,
            newton: Newton::On,
        };
        let mut total = PairSums::default();
        for item in self.items {
            let spans = &self.spans[item.spans.clone()];
            sweep.newton = item.newton;
            sweep.item::<SUMS>(item.particles, spans);
            if SUMS {
                total += sweep.take_sums();
            }
        }
        total
    }
}

/// Energy, virial and useful pairs, one sum per lane.
#[derive(Clone, Copy)]
struct Collected<S: Simd> {
    energy: S::f64s,
    virial: [S::f64s; SymmetricTensor::LEN],
    pairs: S::f64s,
}

impl<S: Simd> Collected<S> {
    #[inline(always)]
    fn zero(simd: S) -> Self {
        let zero = simd.splat_f64s(0.0);
        Self { energy: zero, virial: [zero; SymmetricTensor::LEN], pairs: zero }
    }
}

struct Sweep<'a, S: Simd, K> {
    simd: S,
    kernel: K,
    positions: [&'a [S::f64s]; 3],
    species: &'a [S::u64s],
    forces: [&'a mut [S::f64s]; 3],
    i_force: Option<Placed<[&'a mut [f64]; 3]>>,
    cutoff2: S::f64s,
    scale: Scale<S::f64s>,
    lane_numbers: S::f64s,
    sums: Collected<S>,
    computed: usize,
    /// Whether the current item computes reactions.
    newton: Newton,
}

/// A block of particles i.
struct Block<S: Simd, R> {
    first: usize,
    scale: Scale<S::f64s>,
    position: [[S::f64s; 3]; I_PARTICLES],
    force: [[S::f64s; 3]; I_PARTICLES],
    parameters: [R; I_PARTICLES],
}

impl<S: Simd, K: PairKernel> Sweep<'_, S, K> {
    #[inline(always)]
    fn item<const SUMS: bool>(&mut self, cell: CellSpan, spans: &[CellSpan]) {
        let (first, end) = (cell.first as usize, cell.end as usize);
        for i in (first..end).step_by(I_PARTICLES) {
            let count = (end - i).min(I_PARTICLES);
            let mut block = self.load_block(i, count);
            for span in spans {
                self.sweep_span::<SUMS>(&mut block, *span);
            }
            self.store_block(&block, count);
        }
    }

    #[inline(always)]
    fn load_block(&self, first: usize, count: usize) -> Block<S, K::Parameters<S, Double>> {
        let simd = self.simd;
        let all_kinds: &[u64] = bytemuck::cast_slice(self.species);
        let [a, b] = [0, 1].map(|k| &all_kinds[first + usize::min(k, count - 1)..][..1]);
        // Loops and arrays instead of closures: closures that handle vectors are not always
        // inlined.
        let mut position = [[simd.splat_f64s(FAR_AWAY); 3]; I_PARTICLES];
        for (k, position) in position.iter_mut().enumerate().take(count) {
            for (to, column) in position.iter_mut().zip(self.positions) {
                let column: &[f64] = bytemuck::cast_slice(column);
                *to = simd.splat_f64s(column[first + k]);
            }
        }
        Block {
            first,
            scale: self.scale,
            position,
            force: [[simd.splat_f64s(0.0); 3]; I_PARTICLES],
            parameters: [self.kernel.parameters(simd, a), self.kernel.parameters(simd, b)],
        }
    }

    #[inline(always)]
    fn store_block(&mut self, block: &Block<S, K::Parameters<S, Double>>, count: usize) {
        for dim in 0..3 {
            let column = match &mut self.i_force {
                Some(Placed { first, columns }) => &mut columns[dim][block.first - *first..],
                None => &mut bytemuck::cast_slice_mut(self.forces[dim])[block.first..],
            };
            for (to, force) in column.iter_mut().zip(&block.force).take(count) {
                *to += self.simd.reduce_sum_f64s(force[dim]);
            }
        }
    }

    /// Computes the block's pairs with one span, with masked vectors at the ends and plain ones
    /// between.
    #[inline(always)]
    fn sweep_span<const SUMS: bool>(
        &mut self,
        block: &mut Block<S, K::Parameters<S, Double>>,
        span: CellSpan,
    ) {
        let lanes = S::F64_LANES;
        let (first, end) = (span.first as usize, span.end as usize);
        let is_own_cell = (first..end).contains(&block.first);
        // Inside its own cell, i-particle k is paired with the particles after it.
        let start = if is_own_cell { block.first + 1 } else { first };
        let plain_start = if is_own_cell { block.first + I_PARTICLES } else { first };
        let (head, tail) = (start / lanes, end.div_ceil(lanes));
        let plain =
            plain_start.div_ceil(lanes).min(tail)..(end / lanes).max(plain_start.div_ceil(lanes)).min(tail);
        let lower = std::array::from_fn(|k| if is_own_cell { block.first + k + 1 } else { first });
        // A loop, so that masked vectors are compiled once.
        for (masked, plain) in [(head..plain.start, plain.clone()), (plain.end..tail, 0..0)] {
            for vector in masked {
                self.masked::<SUMS>(block, vector, lower, end);
            }
            self.plain::<SUMS>(block, plain);
        }
        if SUMS {
            self.computed += (tail - head) * lanes * I_PARTICLES;
        }
    }

    #[inline(always)]
    fn plain<const SUMS: bool>(
        &mut self,
        block: &mut Block<S, K::Parameters<S, Double>>,
        vectors: std::ops::Range<usize>,
    ) {
        let simd = self.simd;
        // Slices of equal, known length, so that the compiler drops the bounds checks below.
        let count = vectors.len();
        let [xs, ys, zs] = self.positions.map(|column| &column[vectors.clone()][..count]);
        let species = &self.species[vectors.clone()][..count];
        let [fx, fy, fz] = self.forces.each_mut().map(|column| &mut column[vectors.clone()][..count]);
        let (newton, mut sums) = (self.newton, self.sums);
        for v in 0..count {
            let partner = Partner { position: [xs[v], ys[v], zs[v]], species: species[v] };
            let cutoff = Mask::<S> { cutoff2: self.cutoff2, lanes: None };
            let force = block_against::<S, K, SUMS>(simd, self.kernel, block, partner, |_| cutoff, &mut sums);
            if newton == Newton::On {
                fx[v] = simd.sub_f64s(fx[v], force[0]);
                fy[v] = simd.sub_f64s(fy[v], force[1]);
                fz[v] = simd.sub_f64s(fz[v], force[2]);
            }
        }
        self.sums = sums;
    }

    /// Computes the pairs with one vector, of which only the particles from `lower[k]` up to `end`
    /// count.
    #[inline(always)]
    fn masked<const SUMS: bool>(
        &mut self,
        block: &mut Block<S, K::Parameters<S, Double>>,
        vector: usize,
        lower: [usize; I_PARTICLES],
        end: usize,
    ) {
        let simd = self.simd;
        let base = simd.splat_f64s((vector * S::F64_LANES) as f64);
        let index = simd.add_f64s(base, self.lane_numbers);
        let below_end = simd.less_than_f64s(index, simd.splat_f64s(end as f64));
        let mask = |k: usize| {
            let from = simd.greater_than_or_equal_f64s(index, simd.splat_f64s(lower[k] as f64));
            Mask::<S> { cutoff2: self.cutoff2, lanes: Some(simd.and_m64s(from, below_end)) }
        };
        let position = self.positions.map(|column| column[vector]);
        let partner = Partner { position, species: self.species[vector] };
        let force = block_against::<S, K, SUMS>(simd, self.kernel, block, partner, mask, &mut self.sums);
        if self.newton == Newton::On {
            for (column, force) in self.forces.iter_mut().zip(force) {
                column[vector] = simd.sub_f64s(column[vector], force);
            }
        }
    }

    fn take_sums(&mut self) -> PairSums {
        let weight = self.newton.weight();
        let sums = std::mem::replace(&mut self.sums, Collected::zero(self.simd));
        let reduce = |lanes| weight * self.simd.reduce_sum_f64s(lanes);
        PairSums {
            energy: reduce(sums.energy),
            virial: SymmetricTensor(sums.virial.map(reduce)),
            useful_pairs: reduce(sums.pairs),
            computed_pairs: std::mem::take(&mut self.computed) as f64,
        }
    }
}

/// A vector of particles j.
#[derive(Clone, Copy)]
struct Partner<S: Simd> {
    position: [S::f64s; 3],
    species: S::u64s,
}

/// Selection of the lanes that count.
#[derive(Clone, Copy)]
struct Mask<S: Simd> {
    cutoff2: S::f64s,
    lanes: Option<S::m64s>,
}

impl<S: Simd> Mask<S> {
    #[inline(always)]
    fn within(self, simd: S, r2: S::f64s) -> S::m64s {
        let near = simd.less_than_f64s(r2, self.cutoff2);
        match self.lanes {
            Some(lanes) => simd.and_m64s(near, lanes),
            None => near,
        }
    }
}

/// Computes the pairs of all i-particles of a block with one vector of partners. Returns the force
/// to subtract from the partners.
#[inline(always)]
fn block_against<S: Simd, K: PairKernel, const SUMS: bool>(
    simd: S,
    kernel: K,
    block: &mut Block<S, K::Parameters<S, Double>>,
    partner: Partner<S>,
    mask: impl Fn(usize) -> Mask<S>,
    sums: &mut Collected<S>,
) -> [S::f64s; 3] {
    let zero = simd.splat_f64s(0.0);
    let mut on_partner = [zero; 3];
    for k in 0..I_PARTICLES {
        let [dx, dy, dz]: [S::f64s; 3] =
            std::array::from_fn(|dim| simd.sub_f64s(block.position[k][dim], partner.position[dim]));
        let r2 = Double::mul_add(simd, dz, dz, Double::mul_add(simd, dy, dy, simd.mul_f64s(dx, dx)));
        let within = mask(k).within(simd, r2);
        let distance = Distance::<S, Double> { simd, square: r2, within, scale: block.scale };
        let prepared = kernel.prepare(distance);
        let PairTerm { energy, force_over_r: force } =
            kernel.evaluate::<S, Double>(simd, block.parameters[k], partner.species, prepared);
        for (dim, d) in [dx, dy, dz].into_iter().enumerate() {
            let f = simd.mul_f64s(force, d);
            block.force[k][dim] = simd.add_f64s(block.force[k][dim], f);
            on_partner[dim] = simd.add_f64s(on_partner[dim], f);
        }
        if SUMS {
            sums.energy = simd.add_f64s(sums.energy, distance.masked(energy));
            add_virial::<S, Double>(simd, force, [dx, dy, dz], &mut sums.virial);
            sums.pairs = simd.add_f64s(sums.pairs, distance.masked(simd.splat_f64s(1.0)));
        }
    }
    on_partner
}
