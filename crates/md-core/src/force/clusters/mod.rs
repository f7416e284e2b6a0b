//! Verlet cluster lists: for every i-cluster, the j-clusters with at least one partner within the
//! list radius.
//!
//! ```text
//! i-cluster      one to four particles i that are adjacent in memory, mostly of one cell
//! j-cluster      a few particles j that are adjacent in memory and thus in space
//! lanes          one per pair: i-particles times j-particles fill a vector
//! list entry     a j-cluster and the lanes whose pairs count, because a cell pair may start or end
//!                inside the cluster
//! section        i-clusters of one region, with Newton's third law on or off; cut into blocks
//! ```
//!
//! | vector | i-cluster | j-cluster | pairs computed per atom of a melt |
//! | --- | --- | --- | --- |
//! | 4 f64 | 1 | 4 | 71 |
//! | 8 f64 | 1 | 8 | 96 |
//! | 8 f32, up to eight species; more | 2; 1 | 4; 8 | 89; 96 |
//! | 16 f32, up to eight species; more | 4; 1 | 4; 16 | 115; 130 |
//!
//! (The cell method computes 300.) The list is made from the spans of the cell method, so shell and
//! partition determine here too which rank computes which pair. The method follows Verlet (1967)
//! and the cluster pairs of GROMACS (Pall and Hess 2013). With one particle i no transposition is
//! needed. Several particles i with shorter j-clusters have fewer pairs beyond the cutoff and fewer
//! lists.
//!
//! In mixed precision pairs are computed in f32 (`mixed`), and forces on j-clusters are added up in
//! `accumulators`. Between rebuilds the lists are pruned if that saves time (`pruning`, `trial`).
//!
//! Advantage: a third of the arithmetic of the cell method. The list is made with the same vector
//! instructions, at the cost of one or two steps. Disadvantage: memory for the list, about 50 bytes
//! per atom of a melt in f64 and 30 in mixed precision, and nearly as much for an inner list.

mod accumulators;
mod build;
mod candidates;
mod distances;
mod entry;
mod finder;
mod kernel;
mod lane_codes;
mod lists;
mod mixed;
mod near;
mod pipeline;
mod prune;
mod pruning;
mod shape;
#[cfg(test)]
mod tests;
mod trial;
mod words;

use super::Sweep as PairSweep;
use super::cell_pairs::CellPairCounts;
use super::cells::CellWork;
use super::shares::{self, Columns, Share, Work};
use super::{Evaluation, PairLoop, PairSums, Part, Precision, Summation, System, block_pairs};
use crate::force::Region;
use crate::force::pair_kernel::PairKernel;
use crate::particles::Particles;
use crate::simd::{Arithmetic, ClusterForces, Double, Quads, SimdLevel, Single};
use accumulators::AccumulatedForces;
use build::{Accumulation, ListBuild, ListInput, most_ahead};
use kernel::ClusterSweep;
use lists::{Lists, View};
pub use mixed::mixed_precision_problem;
use mixed::{Mixed, Shape};
use prune::Prune;
use pruning::{Due, ListKind, Pruning, Upcoming};
use shape::ClusterShape;
use std::time::Instant;

/// The lists, recreated at each rebuild.
#[derive(Debug, Clone)]
pub struct ClusterWork {
    spans: CellWork,
    /// The lists of each thread.
    shares: Vec<Share<Lists>>,
    /// The particles in fixed point, if pairs are computed in f32.
    mixed: Option<Mixed>,
    /// How forces in double precision are added up.
    summation: Summation,
    pruning: Pruning,
}

impl ClusterWork {
    /// Creates a method without lists. Its lists will be valid for displacements up to half the
    /// skin.
    pub fn new(skin: f64, precision: Precision, summation: Summation) -> Self {
        let mixed = (precision == Precision::Mixed).then(Mixed::default);
        let pruning = Pruning::new(skin);
        Self { spans: CellWork::default(), shares: Vec::new(), mixed, summation, pruning }
    }

    /// Returns the skin of the inner lists, if any are used.
    pub(super) fn inner_skin(&self) -> Option<f64> {
        self.pruning.is_used().then(|| self.pruning.inner_skin())
    }

    /// Makes the lists for the current positions.
    pub(super) fn rebuild(&mut self, system: System, particles: &Particles) {
        self.spans.rebuild(system.pairs, system.cells);
        let len = particles.len();
        for &region in Region::ALL {
            let items = self.spans.items(region);
            shares::assign_homes(&mut self.shares, system.threads, region, items, len);
        }
        let System { grid, potential, threads, simd, .. } = system;
        self.pruning.restart(grid.domain(), particles, threads, simd);
        let input = ListInput {
            position: self.pruning.reference(),
            list_radius: potential.cutoff() + self.pruning.skin + self.pruning.precision,
            len,
            block_pairs: block_pairs(system.plan),
        };
        let (spans, shares) = (&self.spans, &mut self.shares);
        match &mut self.mixed {
            None => build::<Double>(system, spans, shares, input),
            Some(mixed) => {
                mixed.rebuild(particles, grid);
                match Shape::of(system) {
                    Shape::One => build::<Single>(system, spans, shares, input),
                    Shape::Quads => build::<Quads>(system, spans, shares, input),
                }
            }
        }
        if self.pruning.trial.has_rejected_inner_lists() {
            let works = self.shares.iter_mut().flat_map(Share::works_mut);
            works.for_each(|work| [&mut work.local, &mut work.cross].into_iter().for_each(Lists::drop_inner));
        }
    }

    #[allow(clippy::redundant_closure, reason = "a variant is not general over the lifetime of its task")]
    pub(super) fn add_forces(
        &mut self,
        system: System,
        particles: &mut Particles,
        part: &Part,
        evaluation: Evaluation,
    ) -> PairSums {
        let begun = self.pruning.trial.is_measuring().then(Instant::now);
        let region = part.region;
        if part.blocks.start == 0 {
            self.begin_region(system, particles, region);
        }
        let kind = match evaluation {
            Evaluation::ForcesOnly => self.pruning.kind(region),
            // The number of computed pairs must not depend on measured times.
            Evaluation::WithEnergyAndVirial => ListKind::Outer,
        };
        let sweep = Sweep { system, part, evaluation, kind };
        let Self { shares, mixed, summation, .. } = self;
        let total = match mixed {
            None if *summation == Summation::Exact => {
                sweep.run(shares, Columns::of(particles), |task| PairSweep::Reproducible(task))
            }
            None => sweep.run(shares, Columns::of(particles), |task| PairSweep::Double(task)),
            Some(mixed) => match Shape::of(system) {
                Shape::One => sweep.run(shares, mixed.columns(particles), |task| PairSweep::Single(task)),
                Shape::Quads => sweep.run(shares, mixed.columns(particles), |task| PairSweep::Quads(task)),
            },
        };
        shares::add_reactions_after(part, system.threads, shares, particles);
        if let Some(begun) = begun {
            self.pruning.trial.add(begun.elapsed());
        }
        total
    }

    /// Takes note of the positions that are new since the previous region, and prunes lists.
    fn begin_region(&mut self, system: System, particles: &Particles, region: Region) {
        let System { threads, simd, .. } = system;
        let awaited = system.cells.start(system.plan.first_awaited_cell()).unwrap_or(particles.len());
        let new = match region {
            Region::InnerFirst => 0..awaited,
            Region::Boundary => awaited..particles.len(),
            Region::InnerSecond => 0..0,
        };
        if let Some(mixed) = &mut self.mixed {
            mixed.convert(particles, new.clone(), threads, simd);
        }
        if self.pruning.choose(&Upcoming { region, new, particles, threads, simd }) == Due::Pruning {
            self.prune(system, region);
        }
    }

    /// Prunes the lists of a region.
    fn prune(&mut self, system: System, region: Region) {
        let position = self.pruning.reference();
        let radius = system.potential.cutoff() + self.pruning.inner_skin();
        shares::each(system.threads, &mut self.shares, |share| {
            let Work { home, local, cross } = share.work_mut(region).0;
            let len = position[0].len();
            let home = home.start.min(len)..home.end.min(len);
            let own = position.map(|column| &column[home.clone()]);
            for (lists, position) in [(local, own), (cross, position)] {
                lists.shape.dispatch(system.simd, Prune { lists, position, radius });
            }
        });
    }

    /// Adds the pairs, by cell.
    pub(super) fn count_pairs(&self, counts: &mut CellPairCounts) {
        for work in self.shares.iter().flat_map(Share::works) {
            for (lists, first) in [(&work.local, work.home.start), (&work.cross, 0)] {
                for i_cluster in lists.views().flat_map(|view| view.i_clusters) {
                    // The first cluster determines the cell for all entries, because nearly all of
                    // them belong to the same anchor.
                    let Some(j_cluster) = i_cluster.entries.first() else { continue };
                    let [i, j] = [i_cluster.particle, lists.first_particle(*j_cluster)].map(|at| first + at);
                    counts.add(i, j, lists.pairs_in(i_cluster.entries.len()));
                }
            }
        }
    }

    pub(super) fn blocks(&self, region: Region) -> usize {
        shares::blocks(&self.shares, region)
    }
}

/// Makes the lists of each thread.
fn build<P: Arithmetic>(system: System, spans: &CellWork, shares: &mut [Share<Lists>], input: ListInput) {
    let shape = ClusterShape::of::<P>(system.simd);
    let accumulation = Accumulation {
        forces: P::CLUSTER_FORCES,
        ahead: match P::CLUSTER_FORCES {
            ClusterForces::InPlace => 0,
            // Only for inner work, which is most of it.
            ClusterForces::InAccumulators => [Region::InnerFirst, Region::InnerSecond]
                .map(|region| most_ahead(spans.items(region), spans.spans()))
                .into_iter()
                .fold(0, usize::max),
        },
    };
    shares::each(system.threads, shares, |share| {
        share.reactions.reset(input.len);
        for &region in Region::ALL {
            let (work, reactions) = share.work_mut(region);
            let (items, spans) = (spans.items(region), spans.spans());
            let build = ListBuild { items, spans, input, accumulation, work, reactions };
            shape.dispatch(system.simd, build);
        }
        share.reactions.lay_out(input.len, system.threads);
    });
}

/// A sweep over blocks of a region.
struct Sweep<'a> {
    system: System<'a>,
    part: &'a Part,
    evaluation: Evaluation,
    kind: ListKind,
}

impl Sweep<'_> {
    fn run<P: Arithmetic>(
        &self,
        shares: &mut [Share<Lists>],
        columns: Columns<P>,
        to_sweep: impl for<'a> Fn(Task<'a, P>) -> PairSweep<'a> + Sync,
    ) -> PairSums {
        let &Self { system: System { potential, simd, threads, .. }, part, evaluation, kind } = self;
        let cutoff = potential.cutoff();
        shares::sweep(threads, shares, part, columns, |lists: &mut Lists, block, columns| {
            let (view, accumulated) = lists.view(block, kind);
            let task = Task { view, accumulated, columns, cutoff, evaluation };
            potential.compute(PairLoop { sweep: to_sweep(task), potential, simd })
        })
    }
}

/// The sweep over a block, ready to run with the potential's kernel.
pub(super) struct Task<'a, P: Arithmetic> {
    view: View<'a>,
    accumulated: &'a mut AccumulatedForces,
    columns: Columns<'a, P>,
    cutoff: f64,
    evaluation: Evaluation,
}

impl<P: Arithmetic> Task<'_, P> {
    pub(super) fn run<K: PairKernel>(self, level: SimdLevel, kernel: K) -> PairSums {
        let Self { view, accumulated, columns, cutoff, evaluation } = self;
        match evaluation {
            Evaluation::ForcesOnly => {
                level.dispatch(ClusterSweep::<K, P, false> { view, accumulated, columns, cutoff, kernel })
            }
            Evaluation::WithEnergyAndVirial => {
                level.dispatch(ClusterSweep::<K, P, true> { view, accumulated, columns, cutoff, kernel })
            }
        }
    }
}
