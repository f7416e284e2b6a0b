//! Forces between pairs. A method is one file beside this one and one line in [`Method`].

mod cell_kernel;
mod cell_pairs;
mod cell_tasks;
mod cells;
mod clusters;
mod direct_sum;
mod pairs;
mod shares;
mod virial;

pub use cell_tasks::CellTasks;
pub use cells::{CellSpan, CellWork};
pub use clusters::{ClusterWork, mixed_precision_problem};
pub use pairs::{CellPairs, Newton, Pair, PairWork, Region};

use crate::analysis::{DistanceBins, PairCounts};
use crate::cells::LocalCells;
use crate::grid::CellGrid;
use crate::halo::HaloPlan;
use crate::particles::Particles;
use crate::potential::{PairKernel, PairPotential};
use crate::shell::ForceReturn;
use crate::simd::{Arithmetic, Double, Quads, SimdLevel, Single};
use crate::tensor::SymmetricTensor;
use crate::threads::Threads;
use std::ops::Range;

/// What a sweep over pairs adds up, for this rank's share of the pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PairSums {
    /// Potential energy.
    pub energy: f64,
    /// Sum of r f over pairs; its trace is the scalar virial.
    pub virial: SymmetricTensor,
    /// Pairs within the cutoff (a pair that two ranks compute counts half on each).
    pub useful_pairs: f64,
    /// Pairs whose distance was computed.
    pub computed_pairs: f64,
}

impl PairSums {
    fn plus(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl std::ops::AddAssign for PairSums {
    fn add_assign(&mut self, other: Self) {
        self.energy += other.energy;
        self.virial += other.virial;
        self.useful_pairs += other.useful_pairs;
        self.computed_pairs += other.computed_pairs;
    }
}

/// Whether a sweep computes energies beside forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Forces alone: the step's cheap path; the sums stay zero.
    ForcesOnly,
    /// Forces, energy, virial and pair counts.
    WithEnergyAndVirial,
}

/// Precision of the pair arithmetic; positions, integration and sums over particles are always f64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Precision {
    /// 64-bit throughout.
    #[default]
    Double,
    /// 32-bit pairs, 64-bit sums.
    Mixed,
}

/// The ways to find the pairs within the cutoff, by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum MethodKind {
    /// Verlet cluster lists: the fastest.
    #[default]
    Clusters,
    /// Linked cells, every particle against the neighbouring cells.
    Cells,
    /// Every particle against every other: the reference.
    DirectSum,
}

impl MethodKind {
    /// The best instruction set for the method on this CPU.
    pub fn best_simd(self) -> SimdLevel {
        match self {
            Self::Clusters => SimdLevel::for_clusters(),
            Self::Cells | Self::DirectSum => SimdLevel::detect(),
        }
    }
}

/// A way to find the pairs within the cutoff.
#[derive(Debug, Clone)]
pub enum Method {
    /// Linked cells.
    Cells(CellWork),
    /// Verlet cluster lists, the fastest.
    Clusters(Box<ClusterWork>),
    /// Every particle against every other: slow, simple, the reference.
    DirectSum,
}

/// Some blocks of a region's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Whose.
    pub region: Region,
    /// Which of its blocks ([`Method::blocks`]).
    pub blocks: Range<usize>,
}

/// Computed pairs of a block, at least: 10 to 50 microseconds.
pub const BLOCK_PAIRS: usize = 32_768;

/// The computed pairs after which a block ends; where no message is awaited, a region is one block.
fn block_pairs(plan: &HaloPlan) -> usize {
    if plan.awaits_messages() { BLOCK_PAIRS } else { usize::MAX }
}

/// Everything a sweep reads.
#[derive(Debug, Clone, Copy)]
pub struct System<'a> {
    /// The cells of the global box.
    pub grid: &'a CellGrid,
    /// The potential, of this crate or of yours.
    pub potential: &'a dyn PairPotential,
    /// The plan.
    pub plan: &'a HaloPlan,
    /// Which cells meet which.
    pub pairs: &'a PairWork,
    /// Which particles are in which cell.
    pub cells: &'a LocalCells,
    /// Vector width to use.
    pub simd: SimdLevel,
    /// Threads to use.
    pub threads: &'a Threads,
}

/// A loop over pairs that waits for a kernel: what [`PairPotential::compute`] is given to run.
pub struct PairLoop<'a>(Loop<'a>);

enum Loop<'a> {
    Cells(cells::Task<'a>),
    Double(clusters::Task<'a, Double>),
    Single(clusters::Task<'a, Single>),
    Quads(clusters::Task<'a, Quads>),
}

impl PairLoop<'_> {
    /// [`Arithmetic::SPECIES_IN_A_ROW`] of the loop.
    pub(crate) fn species_in_a_row(&self) -> usize {
        match &self.0 {
            Loop::Cells(_) | Loop::Double(_) => Double::SPECIES_IN_A_ROW,
            Loop::Single(_) => Single::SPECIES_IN_A_ROW,
            Loop::Quads(_) => Quads::SPECIES_IN_A_ROW,
        }
    }

    /// Runs the loop, which is compiled anew for each type of kernel.
    pub fn run<K: PairKernel>(self, kernel: K) -> PairSums {
        match self.0 {
            Loop::Cells(task) => task.run(kernel),
            Loop::Double(task) => task.run(kernel),
            Loop::Single(task) => task.run(kernel),
            Loop::Quads(task) => task.run(kernel),
        }
    }
}

impl Method {
    /// A method before its first rebuild, with lists that hold for displacements up to half the skin.
    pub fn new(kind: MethodKind, skin: f64, precision: Precision) -> Self {
        match kind {
            MethodKind::DirectSum => Self::DirectSum,
            MethodKind::Cells => Self::Cells(CellWork::default()),
            MethodKind::Clusters => Self::Clusters(Box::new(ClusterWork::new(skin, precision))),
        }
    }

    /// To be called after the cells have been sorted and the ghosts filled.
    pub fn rebuild(&mut self, system: System, particles: &Particles) {
        match self {
            Self::Cells(work) => work.rebuild_shares(system, particles.len()),
            Self::Clusters(work) => work.rebuild(system, particles),
            Self::DirectSum => (),
        }
    }

    /// Into how many blocks a region is cut: work of some microseconds each, between which messages can be moved. At least
    /// one.
    pub fn blocks(&self, region: Region) -> usize {
        match self {
            Self::Cells(work) => work.blocks(region),
            Self::Clusters(work) => work.blocks(region),
            Self::DirectSum => 1,
        }
    }

    /// Adds the forces of some blocks of a region to `particles.force`. Regions and blocks come in order, none is left out; how
    /// many are computed by one call changes no bit. Forces on ghosts are complete after the boundary, those on owned
    /// particles after all regions. The region's sums are returned with its last block, zero before.
    pub fn add_forces(
        &mut self,
        system: System,
        particles: &mut Particles,
        part: &Part,
        evaluation: Evaluation,
    ) -> PairSums {
        match self {
            Self::Cells(work) => work.add_forces(system, particles, part, evaluation),
            Self::Clusters(work) => work.add_forces(system, particles, part, evaluation),
            Self::DirectSum => direct_sum::add_forces(system, particles, part.region),
        }
    }

    /// Counts this rank's pairs by species and distance, each pair on one rank, for the present positions of particles and ghosts; `None` where
    /// the method does not know all pairs of these distances, or where two ranks compute a pair. The same on all ranks.
    pub fn count_distances(
        &self,
        system: System,
        particles: &Particles,
        species: usize,
        bins: DistanceBins,
    ) -> Option<PairCounts> {
        match self {
            Self::Clusters(work) if system.pairs.shell().force_return() == ForceReturn::Needed => {
                work.count_distances(system, particles, species, bins)
            }
            Self::Clusters(_) | Self::Cells(_) | Self::DirectSum => None,
        }
    }

    /// Adds the forces of all regions.
    pub fn add_all_forces(
        &mut self,
        system: System,
        particles: &mut Particles,
        evaluation: Evaluation,
    ) -> PairSums {
        let mut sums = PairSums::default();
        for &region in Region::ALL {
            let part = Part { region, blocks: 0..self.blocks(region) };
            sums += self.add_forces(system, particles, &part, evaluation);
        }
        sums
    }
}
