//! Systems for the benchmarks: one rank's particles, sorted and with their ghosts, taken from a
//! simulation.

#![allow(dead_code, reason = "every benchmark takes what it needs")]

use std::hint::black_box;
use std::time::Duration;

use md_comm::local;
use md_core::analysis::DistanceBins;
use md_core::force::{MethodKind, PairSums, PairWork, Precision, Summation, System};
use md_core::halo::{self, HaloPlan, Images, StageSelections};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::{LennardJones, Mixing, Shift, Well};
use md_core::{
    CellGrid, Domain, Evaluation, Field, LocalCells, Method, PairPotential, Particles, Shell, SimdLevel,
    Threads,
};
use md_engine::{Config, EngineError, Force, ForceContext, Forces, Setup, Simulation};

const SEED: u64 = 87287;
const LIMIT: Duration = Duration::from_secs(600);
/// Numbers per particle of a position or a force.
const DIMENSIONS: usize = 3;
const POSITIONS: &[Field] = &[Field::POSITION];
const FORCES: &[Field] = &[Field::FORCE];
pub(crate) const ONE_SPECIES: &[Well] = &[Well { epsilon: 1.0, sigma: 1.0 }];
pub(crate) const TWO_SPECIES: &[Well] =
    &[Well { epsilon: 1.0, sigma: 1.0 }, Well { epsilon: 0.7, sigma: 0.9 }];

/// A simulated system with equal shares of the species.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) lattice: LatticeKind,
    pub(crate) spacing: f64,
    pub(crate) cells: [u32; 3],
    /// Standard deviation of the distance from the lattice site, per dimension.
    pub(crate) displacement: f64,
    pub(crate) cutoff: f64,
    pub(crate) skin: f64,
    pub(crate) wells: &'static [Well],
}

impl Scenario {
    fn config(&self, shell: Shell) -> Config {
        let Self { lattice, spacing, cells, displacement, cutoff, skin, wells } = *self;
        let lattice = Lattice::new(lattice, spacing, cells);
        let mut config = Config::new(lattice, Forces::own(cutoff));
        config.masses = vec![1.0; wells.len()];
        config.shares = vec![1.0 / wells.len() as f64; wells.len()];
        // The standard deviation of numbers that are uniform between -1 and 1 is the square root of
        // a third.
        (config.displacement, config.seed) = (displacement * 3_f64.sqrt(), SEED);
        (config.temperature, config.neighbor.skin) = (Some(1.0), skin);
        config.parallel.shell = shell;
        config
    }
}

/// Returns the standard melt: fcc, density 0.8442, cutoff 2.5, skin 0.3, displaced about as much as
/// in the liquid.
pub(crate) fn melt(cells: u32, wells: &'static [Well]) -> Scenario {
    let lattice = LatticeKind::Fcc;
    let (spacing, cells) = (lattice.spacing(0.8442), [cells; 3]);
    Scenario { lattice, spacing, cells, displacement: 0.06, cutoff: 2.5, skin: 0.3, wells }
}

/// A method with the precision of its pair arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub(crate) enum Kernel {
    ClustersDouble,
    ClustersMixed,
    CellsDouble,
}

impl Kernel {
    pub(crate) const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClustersDouble => "clusters double",
            Self::ClustersMixed => "clusters mixed",
            Self::CellsDouble => "cells double",
        }
    }

    /// Returns the level that a run uses.
    pub(crate) fn level(self) -> SimdLevel {
        asked_level().unwrap_or_else(|| self.kind().0.best_simd())
    }

    fn kind(self) -> (MethodKind, Precision) {
        match self {
            Self::ClustersDouble => (MethodKind::Clusters, Precision::Double),
            Self::ClustersMixed => (MethodKind::Clusters, Precision::Mixed),
            Self::CellsDouble => (MethodKind::Cells, Precision::Double),
        }
    }
}

/// Returns the levels of this machine, from narrow to wide.
pub(crate) fn levels() -> impl Iterator<Item = SimdLevel> {
    SimdLevel::available()
}

/// Returns the level that `MD_SIMD` selects, as in `md-cli`.
pub(crate) fn asked_level() -> Option<SimdLevel> {
    let wanted = std::env::var("MD_SIMD").ok()?;
    Some(levels().find(|level| level.name() == wanted).expect("MD_SIMD names a level of this CPU"))
}

/// One rank's part of a system.
pub(crate) struct Sample {
    pub(crate) domain: Domain,
    pub(crate) grid: CellGrid,
    pub(crate) plan: HaloPlan,
    pairs: PairWork,
    pub(crate) particles: Particles,
    pub(crate) cells: LocalCells,
    pub(crate) selections: StageSelections,
    method: Method,
    potential: LennardJones,
    simd: SimdLevel,
    pub(crate) threads: Threads,
}

impl Sample {
    /// Returns the whole system on one rank, ready for [`Sample::forces`].
    pub(crate) fn new(scenario: &Scenario, shell: Shell, kernel: Kernel, simd: SimdLevel) -> Self {
        let mut sample = Self::of_first_rank(scenario, shell, kernel, simd, 1);
        sample.build_lists();
        sample
    }

    /// Returns the particles of the first of `ranks` ranks, sorted and with their ghosts.
    fn of_first_rank(
        scenario: &Scenario,
        shell: Shell,
        kernel: Kernel,
        simd: SimdLevel,
        ranks: usize,
    ) -> Self {
        let Scenario { cutoff, skin, wells, .. } = *scenario;
        let potential = LennardJones::new(wells, Mixing::LorentzBerthelot, &[], cutoff, Shift::None);
        let (method, precision) = kernel.kind();
        let sample = |context: &ForceContext| Self {
            domain: *context.domain,
            grid: context.grid.clone(),
            plan: context.plan.clone(),
            pairs: context.pairs.clone(),
            particles: context.particles.clone(),
            cells: context.cells.clone(),
            selections: StageSelections::default(),
            method: Method::new(method, skin, precision, Summation::Rounded),
            potential: potential.clone().expect("there are no overrides"),
            threads: context.threads.clone(),
            simd,
        };
        let setup = Setup::new(scenario.config(shell), ranks).expect("the box is large enough");
        let samples = local::run(ranks, LIMIT, |world| {
            let mut taken = None;
            let take = Take { cutoff, sample, taken: &mut taken };
            let taken_from =
                Simulation::with_forces(world, &setup, vec![Box::new(take)]).expect("it can be set up");
            taken_from.finalise().expect("no rank has failed");
            taken
        });
        let first = samples.into_iter().next().expect("a rank");
        let mut sample = first.expect("it has not panicked").expect("forces were asked for");
        sample.selections.rebuild(&sample.plan.stages[0], &sample.cells, &sample.domain);
        sample
    }

    /// Sorts the particles and creates their images.
    pub(crate) fn sort(&mut self) {
        self.domain.wrap(&mut self.particles, &self.threads);
        self.cells.sort(&mut self.particles, &self.grid, &self.plan, &self.threads);
        self.cells.clear_ghosts(&self.plan);
        let stage = &self.plan.stages[0];
        self.selections.rebuild(stage, &self.cells, &self.domain);
        halo::copy_images(
            stage,
            &self.selections.images,
            &mut self.particles,
            &mut self.cells,
            &self.threads,
        );
    }

    /// Builds the lists of the method, as at a rebuild.
    pub(crate) fn build_lists(&mut self) {
        let Self { grid, plan, pairs, cells, potential, simd, threads, .. } = self;
        let system = System { grid, potential, plan, pairs, cells, simd: *simd, threads };
        self.method.rebuild(system, &self.particles);
    }

    /// Computes the forces of all pairs. Forces on images are not returned.
    pub(crate) fn forces(&mut self, evaluation: Evaluation) -> PairSums {
        let Self { grid, plan, pairs, cells, potential, simd, threads, .. } = self;
        let system = System { grid, potential, plan, pairs, cells, simd: *simd, threads };
        self.particles.clear_forces(threads);
        black_box(self.method.add_all_forces(system, &mut self.particles, evaluation))
    }

    /// Counts pairs by distance in 200 classes up to the cutoff, as `output.rdf` does, and returns
    /// the number of pairs found.
    pub(crate) fn count_distances(&self) -> u64 {
        let Self { grid, plan, pairs, cells, potential, threads, simd, .. } = self;
        let system = System { grid, potential, plan, pairs, cells, simd: *simd, threads };
        let bins = DistanceBins { max: PairPotential::cutoff(potential), bins: 200 };
        let counted = self.method.count_distances(system, &self.particles, 1, bins);
        counted.expect("lists know all pairs within the cutoff").counts.iter().sum()
    }

    /// Adds the forces on images to the original particles.
    pub(crate) fn return_forces(&mut self) {
        let Self { plan, particles, cells, selections, threads, .. } = self;
        let images = Images { stage: &plan.stages[0], selection: &selections.images, cells };
        let owned = 0..particles.owned();
        images.scatter_add(FORCES, &owned, particles, threads);
    }
}

/// A force that copies the input of the force computation.
struct Take<'t, F> {
    cutoff: f64,
    sample: F,
    taken: &'t mut Option<Sample>,
}

impl<F: Fn(&ForceContext) -> Sample> Force for Take<'_, F> {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn add_forces(&mut self, context: &mut ForceContext, _: Evaluation) -> Result<PairSums, EngineError> {
        *self.taken = Some((self.sample)(context));
        Ok(PairSums::default())
    }
}

/// Calls `time` for every copy of the halo with its name, the number of ghosts and the work to be
/// repeated.
pub(crate) fn halo_copies(scenario: &Scenario, mut time: impl FnMut(&str, usize, &mut dyn FnMut())) {
    let kernel = Kernel::CellsDouble;
    let beside_another = Sample::of_first_rank(scenario, Shell::Half, kernel, SimdLevel::detect(), 2);
    let Sample { plan, mut particles, cells, selections, .. } = beside_another;
    let (edge, selection) = (&plan.stages[0].edges[0], &selections.edges[0]);
    let (sent, got) = (selection.len(), halo::import_count(edge, &cells));
    let (mut to_peer, mut from_peer) = (vec![0.0; DIMENSIONS * sent], vec![0.0; DIMENSIONS * got]);
    time("pack positions", sent, &mut || {
        halo::pack_fields(&mut to_peer, POSITIONS, selection, &particles);
    });
    time("unpack positions", got, &mut || {
        halo::unpack_fields(&from_peer, POSITIONS, edge, &mut particles, &cells);
    });
    time("pack forces", got, &mut || {
        halo::pack_ghosts(&mut from_peer, FORCES, edge, &particles, &cells);
    });
    time("add returned forces", sent, &mut || {
        let owned = 0..particles.owned();
        halo::add_fields(&to_peer, FORCES, selection, &owned, &mut particles);
    });
    let mut sample = Sample::new(scenario, Shell::Half, kernel, SimdLevel::detect());
    let images = sample.selections.images.len();
    time("add forces of images", images, &mut || sample.return_forces());
    let Sample { plan, particles, cells, selections, threads, .. } = &mut sample;
    time("copy to images", images, &mut || {
        let images = Images { stage: &plan.stages[0], selection: &selections.images, cells };
        images.gather(POSITIONS, particles, threads);
    });
}
