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
//! Advantage: a third of the cell method's arithmetic; the list is made by the same vector instructions, so it costs
//! less than a step. Disadvantage: memory for the list, about 70 bytes per atom of a melt.

mod kernel;
mod lists;

use super::cells::CellWork;
use super::{PairSums, Sums, System};
use crate::halo::Region;
use crate::particles::Particles;
use crate::potential::{KernelUser, PairKernel, PairPotential};
use crate::simd::SimdLevel;
use kernel::ClusterSweep;
use lists::{ListBuild, Lists, Section};

/// The lists, made anew at each rebuild.
#[derive(Debug, Clone)]
pub struct ClusterWork {
    skin: f64,
    spans: CellWork,
    lists: Lists,
}

impl ClusterWork {
    /// No lists yet. They will hold for displacements up to half the skin.
    pub fn new(skin: f64) -> Self {
        Self { skin, spans: CellWork::new(), lists: Lists::default() }
    }

    /// Makes the lists for the present positions.
    pub(super) fn rebuild(&mut self, system: System, particles: &Particles) {
        let Self { skin, spans, lists } = self;
        spans.rebuild(system.plan, system.cells);
        lists.clear();
        let reach = system.potential.cutoff() + *skin;
        for region in [Region::Inner, Region::Boundary] {
            for items in spans.items(region).chunk_by(|a, b| a.reach == b.reach) {
                let first = lists.rows.len();
                system.simd.dispatch(ListBuild { items, spans: spans.spans(), particles, reach, lists });
                let rows = first..lists.rows.len();
                lists.sections.push(Section { rows, reach: items[0].reach, region });
            }
        }
    }

    pub(super) fn add_forces(
        &self,
        system: System,
        particles: &mut Particles,
        region: Region,
        sums: Sums,
    ) -> PairSums {
        let cutoff = system.potential.cutoff();
        let mut total = PairSums::default();
        for section in self.lists.sections.iter().filter(|section| section.region == region) {
            let lists = &self.lists;
            let task = Task { section, lists, particles, cutoff, simd: system.simd, sums };
            total += system.potential.with_kernel(task);
        }
        total
    }
}

/// The sweep over a section, waiting for the potential's kernel.
struct Task<'a> {
    section: &'a Section,
    lists: &'a Lists,
    particles: &'a mut Particles,
    cutoff: f64,
    simd: SimdLevel,
    sums: Sums,
}

impl KernelUser for Task<'_> {
    type Output = PairSums;

    fn with<K: PairKernel>(self, kernel: K) -> PairSums {
        let Self { section, lists, particles, cutoff, simd, sums } = self;
        match sums {
            Sums::Skip => {
                simd.dispatch(ClusterSweep::<K, false> { section, lists, particles, cutoff, kernel })
            }
            Sums::Compute => {
                simd.dispatch(ClusterSweep::<K, true> { section, lists, particles, cutoff, kernel })
            }
        }
    }
}
