//! Verlet cluster lists: for every row of particles i, the clusters of particles j that hold at least one partner within
//! cutoff + skin.
//!
//! ```text
//! row            a few particles i next to each other, mostly of one cell, and their entries: clusters, each tested atom by
//!                atom when the list was made
//! cluster        a few particles j next to each other in memory and thus in space
//! lanes          one per pair: particles of a row times particles of a cluster fill a vector. An entry names those whose pairs
//!                count: a cell pair's run of particles may start or end inside the cluster
//! section        rows of one region (inner, boundary) whose pairs give forces to both or to the first particle
//! ```
//!
//! | vector | row | cluster | pairs computed per atom of a melt |
//! | --- | --- | --- | --- |
//! | 4 f64 | 1 | 4 | 71 |
//! | 8 f64 or f32 | 1 | 8 | 96 |
//! | 16 f32, one species | 4 | 4 | 120 |
//! | 16 f32, several species | 1 | 16 | 130 |
//!
//! (The cell method computes 300.) The list is made from the cell method's spans, so whatever shell, partition and exchange
//! say about who computes which pair holds here too, and every pair is met once. After Verlet (1967) and the cluster pairs of
//! GROMACS (Pall and Hess 2013). With one particle i there is nothing to transpose and fewer pairs beyond the cutoff; with
//! four, rows are fewer and clusters smaller, which pays once one particle's clusters would be wider than the cutoff.
//!
//! In mixed precision the pair arithmetic is done in f32 (`mixed`), and forces on clusters add up apart (`slots`).
//!
//! Advantage: a third of the cell method's arithmetic; the list is made by the same vector instructions, so it costs
//! about as much as one or two steps. Disadvantage: memory for the list, about 100 bytes per atom of a melt in f64.

mod build;
mod candidates;
mod kernel;
mod lists;
mod mixed;
mod near;
mod slots;
mod stages;
mod words;

use super::cells::CellWork;
use super::shares::{self, Columns, Share};
use super::{Loop, PairLoop, PairSums, Precision, Sums, System};
use crate::aligned::Column;
use crate::halo::Region;
use crate::particles::Particles;
use crate::potential::PairKernel;
use crate::simd::{Arithmetic, Double, Quads, SimdLevel, Single};
use build::{ListBuild, Sites, most_ahead};
use kernel::ClusterSweep;
use lists::{Lists, View};
pub use mixed::mixed_precision_problem;
use mixed::{Mixed, Shape};
use slots::SlotForces;

/// In f32, distances within reach may come out longer by this share; a few entries more do no harm.
const ROUNDING: f64 = 1e-5;

/// The lists, made anew at each rebuild.
#[derive(Debug, Clone)]
pub struct ClusterWork {
    skin: f64,
    spans: CellWork,
    /// Every thread's lists.
    shares: Vec<Share<Lists>>,
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
        Self { skin, spans: CellWork::new(), shares: Vec::new(), mixed }
    }

    /// Makes the lists for the present positions.
    pub(super) fn rebuild(&mut self, system: System, particles: &Particles) {
        self.spans.rebuild(system.plan, system.cells);
        for region in Region::ALL {
            let items = (region, self.spans.items(region));
            shares::assign_homes(&mut self.shares, system.threads, items, particles.len());
        }
        let Self { skin, spans, shares, mixed } = self;
        let reach = system.potential.cutoff() + *skin;
        // Of inner work, which is most of it; only slots need it.
        let ahead = match mixed {
            None => 0,
            Some(_) => most_ahead(spans.items(Region::Inner), spans.spans()),
        };
        match mixed {
            None => {
                let position = particles.position.each_ref().map(Column::padded);
                build::<Double>(
                    system,
                    spans,
                    shares,
                    (Sites { position, unit: 1.0 }, particles.len()),
                    (reach, ahead),
                );
            }
            Some(mixed) => {
                mixed.rebuild(particles, system.grid, (system.threads, system.simd));
                let reach = reach * (1.0 + ROUNDING);
                match Shape::of(system) {
                    Shape::One => {
                        build::<Single>(
                            system,
                            spans,
                            shares,
                            (mixed.sites(), particles.len()),
                            (reach, ahead),
                        );
                    }
                    Shape::Quads => {
                        build::<Quads>(
                            system,
                            spans,
                            shares,
                            (mixed.sites(), particles.len()),
                            (reach, ahead),
                        );
                    }
                }
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
        let Self { shares, mixed, .. } = self;
        let total = match mixed {
            None => sweep(system, shares, region, Columns::of(particles), sums, |task| Loop::Double(task)),
            Some(mixed) => {
                let awaited = system.cells.start(system.plan.first_awaited_slot()).unwrap_or(particles.len());
                let new = match region {
                    Region::Inner => 0..awaited,
                    Region::Boundary => awaited..particles.len(),
                };
                mixed.convert(particles, new, (system.threads, system.simd));
                match Shape::of(system) {
                    Shape::One => sweep(system, shares, region, mixed.columns(particles), sums, |task| {
                        Loop::Single(task)
                    }),
                    Shape::Quads => sweep(system, shares, region, mixed.columns(particles), sums, |task| {
                        Loop::Quads(task)
                    }),
                }
            }
        };
        if region == Region::Boundary {
            shares::add_spills(system.threads, shares, particles);
        }
        total
    }
}

/// Every thread makes its own lists for so many particles and ghosts.
fn build<P: Arithmetic>(
    system: System,
    spans: &CellWork,
    shares: &mut [Share<Lists>],
    (sites, len): (Sites<P>, usize),
    (reach, ahead): (f64, usize),
) {
    shares::each(system.threads, shares, |share| {
        share.spill.reset(len);
        for region in Region::ALL {
            let (work, spill) = share.work_mut(region);
            let (items, spans) = (spans.items(region), spans.spans());
            system.simd.dispatch(ListBuild::<P> { items, spans, sites, reach, work, spill, len, ahead });
        }
        share.spill.lay_out(len, system.threads);
    });
}

/// All sections of a region.
fn sweep<P: Arithmetic>(
    system: System,
    shares: &mut [Share<Lists>],
    region: Region,
    columns: Columns<P>,
    sums: Sums,
    to_loop: impl for<'a> Fn(Task<'a, P>) -> Loop<'a> + Sync,
) -> PairSums {
    let (cutoff, simd) = (system.potential.cutoff(), system.simd);
    shares::sweep(system.threads, shares, region, columns, |lists: &mut Lists, mut columns| {
        let mut total = PairSums::default();
        let (views, slot_forces) = lists.views();
        for view in views {
            let columns = columns.reborrowed();
            let task = Task { view, slot_forces: &mut *slot_forces, columns, cutoff, simd, sums };
            total += system.potential.compute(PairLoop(to_loop(task)));
        }
        total
    })
}

/// The sweep over a section, waiting for the potential's kernel.
pub(super) struct Task<'a, P: Arithmetic> {
    view: View<'a>,
    slot_forces: &'a mut SlotForces,
    columns: Columns<'a, P>,
    cutoff: f64,
    simd: SimdLevel,
    sums: Sums,
}

impl<P: Arithmetic> Task<'_, P> {
    pub(super) fn run<K: PairKernel>(self, kernel: K) -> PairSums {
        let Self { view, slot_forces, columns, cutoff, simd, sums } = self;
        match sums {
            Sums::Skip => {
                simd.dispatch(ClusterSweep::<K, P, false> { view, slot_forces, columns, cutoff, kernel })
            }
            Sums::Compute => {
                simd.dispatch(ClusterSweep::<K, P, true> { view, slot_forces, columns, cutoff, kernel })
            }
        }
    }
}
