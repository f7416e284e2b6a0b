//! Verlet cluster lists: for every particle i, the clusters of particles j that hold at least one partner within
//! cutoff + skin.
//!
//! ```text
//! cluster        as many particles as a vector has lanes, next to each other in memory and thus in space
//! row            one particle i and its entries: clusters, each tested atom by atom when the list was made
//! plain entry    all particles of the cluster are partners as far as the cutoff allows
//! masked entry   only those in a run of indices: where a cell pair's run starts or ends inside the cluster
//! section        rows of one region (inner, boundary) whose pairs give forces to both or to the first particle
//! ```
//!
//! The list is made from the cell method's spans, so whatever shell, partition and exchange say about who computes which
//! pair holds here too, and every pair is met once. After Verlet (1967) and the cluster pairs of GROMACS (Pall and Hess
//! 2013), with one particle i instead of four: fewer pairs beyond the cutoff are computed (in a melt 95 per atom with
//! eight lanes, against 141 and more; the cell method computes 300), and there is nothing to transpose.
//!
//! In mixed precision a cluster has twice as many particles and the pair arithmetic is done in f32 (`mixed`).
//!
//! Advantage: a third of the cell method's arithmetic; the list is made by the same vector instructions, so it costs
//! less than a step. Disadvantage: memory for the list, about 70 bytes per atom of a melt.

mod kernel;
mod lists;
mod mixed;

use super::cells::CellWork;
use super::{PairSums, Precision, Sums, System};
use crate::aligned::Column;
use crate::halo::Region;
use crate::particles::Particles;
use crate::potential::{KernelUser, PairKernel, PairPotential};
use crate::simd::{Arithmetic, Double, SimdLevel, Single};
use kernel::{ClusterSweep, Columns};
use lists::{ListBuild, Lists, Section};
use mixed::Mixed;

/// In f32, distances within reach may come out longer by this share; a few entries more do no harm.
const ROUNDING: f64 = 1e-5;

/// The lists, made anew at each rebuild.
#[derive(Debug, Clone)]
pub struct ClusterWork {
    skin: f64,
    spans: CellWork,
    lists: Lists,
    /// Where the pair arithmetic is done in f32: the particles in that form.
    mixed: Option<Mixed>,
}

impl ClusterWork {
    /// No lists yet. They will hold for displacements up to half the skin.
    pub fn new(skin: f64, precision: Precision) -> Self {
        let mixed = match precision {
            Precision::Double => None,
            Precision::Mixed => Some(Mixed::default()),
        };
        Self { skin, spans: CellWork::new(), lists: Lists::default(), mixed }
    }

    /// Makes the lists for the present positions.
    pub(super) fn rebuild(&mut self, system: System, particles: &Particles) {
        self.spans.rebuild(system.plan, system.cells);
        self.lists.clear();
        let Self { skin, spans, lists, mixed } = self;
        let reach = system.potential.cutoff() + *skin;
        match mixed {
            None => {
                let positions = particles.position.each_ref().map(Column::padded);
                build::<Double>(system, spans, (positions, 1.0), reach, lists);
            }
            Some(mixed) => {
                mixed.rebuild(particles, system.simd);
                build::<Single>(system, spans, mixed.positions(), reach * (1.0 + ROUNDING), lists);
            }
        }
    }

    pub(super) fn add_forces(
        &mut self,
        system: System,
        particles: &mut Particles,
        region: Region,
        sums: Sums,
    ) -> PairSums {
        let (cutoff, lists) = (system.potential.cutoff(), &self.lists);
        let sections = || lists.sections.iter().filter(|section| section.region == region);
        let mut total = PairSums::default();
        if let Some(mixed) = &mut self.mixed {
            mixed.refresh(particles, region, system.simd);
            for section in sections() {
                let columns = mixed.columns(particles);
                let task = Task { section, lists, columns, cutoff, simd: system.simd, sums };
                total += system.potential.with_kernel(task);
            }
            mixed.return_forces(particles, region, system.simd);
        } else {
            for section in sections() {
                let columns = Columns::of(particles);
                let task = Task { section, lists, columns, cutoff, simd: system.simd, sums };
                total += system.potential.with_kernel(task);
            }
        }
        total
    }
}

/// Appends the sections; the positions come with the length of their unit.
fn build<P: Arithmetic>(
    system: System,
    spans: &CellWork,
    (positions, unit): ([&[P::Coordinate]; 3], f64),
    reach: f64,
    lists: &mut Lists,
) {
    for region in [Region::Inner, Region::Boundary] {
        for items in spans.items(region).chunk_by(|a, b| a.reach == b.reach) {
            let first = lists.rows.len();
            let spans = spans.spans();
            system.simd.dispatch(ListBuild::<P> { items, spans, positions, unit, reach, lists });
            let rows = first..lists.rows.len();
            lists.sections.push(Section { rows, reach: items[0].reach, region });
        }
    }
}

/// The sweep over a section, waiting for the potential's kernel.
struct Task<'a, P: Arithmetic> {
    section: &'a Section,
    lists: &'a Lists,
    columns: Columns<'a, P>,
    cutoff: f64,
    simd: SimdLevel,
    sums: Sums,
}

impl<P: Arithmetic> KernelUser for Task<'_, P> {
    type Output = PairSums;

    fn with<K: PairKernel>(self, kernel: K) -> PairSums {
        let Self { section, lists, columns, cutoff, simd, sums } = self;
        match sums {
            Sums::Skip => {
                simd.dispatch(ClusterSweep::<K, P, false> { section, lists, columns, cutoff, kernel })
            }
            Sums::Compute => {
                simd.dispatch(ClusterSweep::<K, P, true> { section, lists, columns, cutoff, kernel })
            }
        }
    }
}
