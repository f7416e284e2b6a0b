//! Systems for the benchmarks: one rank's particles, sorted and with their ghosts, as in the middle of a run.

#![allow(dead_code, reason = "every benchmark takes what it needs")]

use std::hint::black_box;
use std::sync::Arc;

use md_core::force::{MethodKind, PairSums, PairWork, Precision, Region, System};
use md_core::grid::most_cells;
use md_core::halo::{self, ExchangePattern, HaloPlan, Images, StageSelections};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::partition::Rect;
use md_core::potential::{LennardJones, Mixing, Shift, Well};
use md_core::{
    Boundary, CellGrid, Dimension, Domain, Evaluation, Field, LocalCells, Method, Particle, Particles,
    Partition, Shell, SimdLevel, Threads, random,
};

const SEED: u64 = 87287;
pub(crate) const POSITIONS: &[Field] = &[Field::POSITION];
pub(crate) const FORCES: &[Field] = &[Field::FORCE];
pub(crate) const ONE_SPECIES: &[Well] = &[Well { epsilon: 1.0, sigma: 1.0 }];
pub(crate) const TWO_SPECIES: &[Well] =
    &[Well { epsilon: 1.0, sigma: 1.0 }, Well { epsilon: 0.7, sigma: 0.9 }];
pub(crate) const ONE_RANK: [usize; 3] = [1; 3];
const TWO_RANKS: [usize; 3] = [2, 1, 1];

/// What is simulated. Species alternate.
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

/// The standard melt: fcc, density 0.8442, cutoff 2.5, skin 0.3, displaced about as much as in the liquid.
pub(crate) fn melt(cells: u32, wells: &'static [Well]) -> Scenario {
    let lattice = LatticeKind::Fcc;
    let (spacing, cells) = (lattice.spacing(0.8442), [cells; 3]);
    Scenario { lattice, spacing, cells, displacement: 0.06, cutoff: 2.5, skin: 0.3, wells }
}

/// A method with the precision of its pair arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    ClustersDouble,
    ClustersMixed,
    CellsDouble,
}

impl Kernel {
    pub(crate) const ALL: [Self; 3] = [Self::ClustersDouble, Self::ClustersMixed, Self::CellsDouble];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClustersDouble => "clusters double",
            Self::ClustersMixed => "clusters mixed",
            Self::CellsDouble => "cells double",
        }
    }

    /// The level that a run uses.
    pub(crate) fn level(self) -> SimdLevel {
        self.kind().0.best_simd()
    }

    fn kind(self) -> (MethodKind, Precision) {
        match self {
            Self::ClustersDouble => (MethodKind::Clusters, Precision::Double),
            Self::ClustersMixed => (MethodKind::Clusters, Precision::Mixed),
            Self::CellsDouble => (MethodKind::Cells, Precision::Double),
        }
    }
}

/// The levels of this machine, narrow to wide.
pub(crate) fn levels() -> impl Iterator<Item = SimdLevel> {
    SimdLevel::ALL.into_iter().filter(|level| level.is_available())
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
    /// All of the system on one rank, ready for [`Sample::forces`].
    pub(crate) fn new(scenario: &Scenario, shell: Shell, kernel: Kernel, simd: SimdLevel) -> Self {
        let mut sample = Self::of_rank(scenario, shell, kernel, simd, (ONE_RANK, 0));
        sample.build_lists();
        sample
    }

    /// What one rank of a grid of ranks owns, sorted and with its own images, before it knows of other ranks.
    pub(crate) fn of_rank(
        scenario: &Scenario,
        shell: Shell,
        kernel: Kernel,
        simd: SimdLevel,
        (ranks, rank): ([usize; 3], usize),
    ) -> Self {
        let Scenario { lattice, spacing, cells, cutoff, skin, wells, .. } = *scenario;
        let lattice = Lattice::new(lattice, spacing, cells);
        let boundary = [Boundary::Periodic; 3];
        let domain =
            Domain { dimension: Dimension::Three, origin: [0.0; 3], lengths: lattice.lengths(), boundary };
        let counts = most_cells(&domain, cutoff + skin, lattice.len()).expect("the box is large enough");
        let grid = CellGrid::new(domain, counts);
        let partition: Partition = Arc::new(Rect { grid: ranks });
        let all = all_particles(scenario, &lattice, &domain);
        let is_here = |particle: &Particle| partition.owner(&grid, grid.cell_of(particle.position)) == rank;
        let particles = (0..all.owned()).map(|index| all.get(index)).filter(is_here).collect();
        let plan = HaloPlan::new(&grid, &partition, &shell.offsets(false), ExchangePattern::Direct, rank);
        let pairs = PairWork::new(&plan, &grid, shell);
        let potential = LennardJones::new(wells, Mixing::LorentzBerthelot, &[], cutoff, Shift::None);
        let (method, precision) = kernel.kind();
        let mut sample = Self {
            cells: LocalCells::default(),
            selections: StageSelections::default(),
            method: Method::new(method, skin, precision),
            potential: potential.expect("there are no overrides"),
            threads: Threads::one(),
            domain,
            grid,
            plan,
            pairs,
            particles,
            simd,
        };
        sample.sort();
        sample
    }

    /// One of two ranks, with the ghosts it gets from the other.
    pub(crate) fn beside_another(scenario: &Scenario) -> Self {
        let [mut here, there] = [0, 1].map(|rank| {
            let place = (TWO_RANKS, rank);
            Self::of_rank(scenario, Shell::Half, Kernel::CellsDouble, SimdLevel::detect(), place)
        });
        let exports = &there.plan.stages[0].edges[0].exports;
        let selection = &there.selections.edges[0];
        let mut message =
            vec![0; halo::border_bytes(exports, selection, &there.particles) / size_of::<u64>()];
        halo::pack_border(&mut message, exports, selection, &there.particles, &there.cells);
        let edge = &here.plan.stages[0].edges[0];
        halo::unpack_border(&message, edge, &mut here.particles, &mut here.cells)
            .expect("both ranks have one plan");
        here
    }

    /// Sorts the particles and makes their images.
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

    /// What the method prepares at a rebuild.
    pub(crate) fn build_lists(&mut self) {
        let Self { grid, plan, pairs, cells, potential, simd, threads, .. } = self;
        let system = System { grid, potential, plan, pairs, cells, simd: *simd, threads };
        self.method.rebuild(system, &self.particles);
    }

    /// The forces of all pairs; those on images stay there.
    pub(crate) fn forces(&mut self, evaluation: Evaluation) -> PairSums {
        let Self { grid, plan, pairs, cells, potential, simd, threads, .. } = self;
        let system = System { grid, potential, plan, pairs, cells, simd: *simd, threads };
        self.particles.clear_forces(threads);
        let mut total = PairSums::default();
        for region in [Region::Inner, Region::Boundary] {
            total += black_box(self.method.add_forces(system, &mut self.particles, region, evaluation));
        }
        total
    }

    /// Adds the forces on images to the particles they are images of.
    pub(crate) fn return_forces(&mut self) {
        let Self { plan, particles, cells, selections, threads, .. } = self;
        let images = Images { stage: &plan.stages[0], selection: &selections.images, cells };
        images.scatter_add(FORCES, particles, threads);
    }
}

fn all_particles(scenario: &Scenario, lattice: &Lattice, domain: &Domain) -> Particles {
    let species = scenario.wells.len() as u64;
    let particle = |(id, site): (u64, [f64; 3])| {
        let jitter = random::normal_vector(SEED, id);
        let position = [0, 1, 2].map(|dim| site[dim] + scenario.displacement * jitter[dim]);
        Particle { id, species: (id % species) as u32, position, velocity: jitter }
    };
    let mut all: Particles = lattice.sites().map(particle).collect();
    domain.wrap(&mut all, &Threads::one());
    all
}
