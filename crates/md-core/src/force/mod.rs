//! Forces between pairs. Each method consists of a file in this directory and a variant of
//! [`Method`].

mod cell_kernel;
mod cell_pairs;
mod cell_spans;
mod cell_tasks;
mod cells;
mod clusters;
mod direct_sum;
mod loop_kind;
mod pair_kernel;
mod pair_potential;
mod pairs;
mod shares;
mod term_kernel;
mod terms;
mod virial;

pub use cell_spans::CellSpan;
pub use cell_tasks::CellTasks;
pub use cells::CellWork;
pub use clusters::{ClusterWork, mixed_precision_problem};
pub use pair_kernel::{ConstantSource, Distance, PairKernel};
pub use pair_potential::{PairPotential, PairTerm, Tail};
pub use pairs::{CellPairs, Newton, Pair, PairWork, Region};

use crate::analysis::{DistanceBins, PairCounts};
use crate::cells::LocalCells;
use crate::grid::CellGrid;
use crate::halo::HaloPlan;
use crate::particles::Particles;
use crate::quantum::rounded;
use crate::shell::ForceReturn;
use crate::simd::{ArithmeticKind, Double, Quads, Reproducible, SimdLevel, Single};
use crate::tensor::SymmetricTensor;
use crate::threads::Threads;
use loop_kind::{LoopKind, Vectors};
use std::ops::Range;
use term_kernel::TermKernel;

/// Sums of a sweep over this rank's share of the pairs.
///
/// ```
/// use md_core::PairSums;
///
/// // Two particles at the minimum of Lennard-Jones, a pair that the owners of both compute.
/// let of_one_rank = PairSums { energy: -0.5, useful_pairs: 0.5, ..PairSums::default() };
/// let mut sums = of_one_rank;
/// sums += of_one_rank;
/// assert_eq!((sums.energy, sums.useful_pairs), (-1.0, 1.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PairSums {
    /// Potential energy.
    pub energy: f64,
    /// Sum of r f over pairs; its trace is the scalar virial.
    pub virial: SymmetricTensor,
    /// Pairs within the cutoff. A pair that two ranks compute counts half on each.
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

/// Whether a sweep also computes energies.
///
/// See [`Method`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Forces only, the faster variant for most steps. The sums must not be used: not all methods
    /// leave them zero.
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

/// How the terms of forces and energies are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Summation {
    /// In floating point. The last digits depend on the order of the terms.
    #[default]
    Rounded,
    /// Exactly, after each term is rounded to a multiple of a quantum. The sums are the same
    /// whatever the order, and so on any number of ranks and threads.
    Exact,
}

impl Summation {
    /// Returns a term in the form in which it is added to a sum: rounded to a multiple of `quantum`
    /// if sums are exact.
    #[inline(always)]
    pub fn term(self, term: f64, quantum: f64) -> f64 {
        match self {
            Self::Rounded => term,
            Self::Exact => rounded(term, quantum),
        }
    }
}

/// Method of finding the pairs within the cutoff.
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
    /// Returns the best instruction set for the method on this CPU.
    pub fn best_simd(self) -> SimdLevel {
        match self {
            Self::Clusters => SimdLevel::for_clusters(),
            Self::Cells | Self::DirectSum => SimdLevel::detect(),
        }
    }
}

/// A method of finding the pairs within the cutoff, with its lists.
///
/// Two particles at the distance sigma, where the energy of a Lennard-Jones potential is zero and
/// the force is 24 epsilon / sigma:
///
/// ```
/// use md_core::force::{MethodKind, PairWork, Precision, Summation, System};
/// use md_core::potential::{LennardJones, Mixing, PotentialError, Shift, Well};
/// use md_core::{Boundary, CellGrid, Dimension, Domain, Evaluation, ExchangePattern, HaloPlan};
/// use md_core::{LocalCells, Method, Particle, Particles, Partition, Shell, SimdLevel, Threads};
/// use md_core::partition::Rect;
/// use std::sync::Arc;
///
/// let (origin, lengths, boundary) = ([0.0; 3], [9.0; 3], [Boundary::Reflecting; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let grid = CellGrid::new(domain, [3; 3]);
/// let (partition, shell): (Partition, _) = (Arc::new(Rect { grid: [1; 3] }), Shell::Half);
/// let offsets = shell.offsets(domain.dimension);
/// let plan = HaloPlan::new(&grid, &partition, &offsets, ExchangePattern::Direct, 0);
/// let pairs = PairWork::new(&plan, &grid, shell, 0.0);
///
/// let at = |x| Particle { position: [x, 4.5, 4.5], ..Particle::default() };
/// let mut particles: Particles = [at(4.0), at(5.0)].into_iter().collect();
/// let (mut cells, threads) = (LocalCells::default(), Threads::one());
/// cells.sort(&mut particles, &grid, &plan, &threads);
///
/// let well = Well { epsilon: 1.0, sigma: 1.0 };
/// let potential = LennardJones::new(&[well], Mixing::default(), &[], 2.5, Shift::None)?;
/// let (potential, simd) = (&potential, SimdLevel::detect());
/// let (grid, plan, pairs, cells, threads) = (&grid, &plan, &pairs, &cells, &threads);
/// let system = System { grid, potential, plan, pairs, cells, simd, threads };
/// let mut method = Method::new(MethodKind::Clusters, 0.3, Precision::Double, Summation::Rounded);
/// method.rebuild(system, &particles);
/// let sums = method.add_all_forces(system, &mut particles, Evaluation::WithEnergyAndVirial);
/// assert!(sums.energy.abs() < 1e-12 && (sums.virial.trace() - 24.0).abs() < 1e-12);
/// assert!((particles.force_of(0)[0].abs() - 24.0).abs() < 1e-12);
///
/// // Most steps need no energy. Forces are added to those that are there.
/// method.add_all_forces(system, &mut particles, Evaluation::ForcesOnly);
/// assert!((particles.force_of(0)[0].abs() - 48.0).abs() < 1e-12);
/// # Ok::<(), PotentialError>(())
/// ```
#[derive(Debug, Clone)]
pub enum Method {
    /// Linked cells.
    Cells(CellWork),
    /// Verlet cluster lists, the fastest.
    Clusters(Box<ClusterWork>),
    /// Every particle against every other: slow and simple, the reference.
    DirectSum,
}

/// Some blocks of a region's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The region.
    pub region: Region,
    /// Range of its blocks ([`Method::blocks`]).
    pub blocks: Range<usize>,
}

/// Minimum number of computed pairs in a block: 10 to 50 microseconds of work.
pub const BLOCK_PAIRS: usize = 32_768;

/// Returns the number of computed pairs after which a block ends. If no message is awaited, a
/// region is one block.
fn block_pairs(plan: &HaloPlan) -> usize {
    if plan.awaits_messages() { BLOCK_PAIRS } else { usize::MAX }
}

/// Input of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct System<'a> {
    /// The cells of the global box.
    pub grid: &'a CellGrid,
    /// The potential, which may be defined in another crate.
    pub potential: &'a dyn PairPotential,
    /// The plan.
    pub plan: &'a HaloPlan,
    /// The pairs of cells.
    pub pairs: &'a PairWork,
    /// The particles in each cell.
    pub cells: &'a LocalCells,
    /// Vector width to use.
    pub simd: SimdLevel,
    /// Threads to use.
    pub threads: &'a Threads,
}

/// A loop over pairs that still needs a kernel. [`PairPotential::compute`] runs it.
///
/// ```
/// use md_core::potential::{LennardJones, Mixing, PairTerm, PotentialError, Shift, Tail, Well};
/// use md_core::{Dimension, PairLoop, PairPotential, PairSums};
///
/// /// Lennard-Jones for a droplet in vacuum: nothing is beyond the cutoff.
/// #[derive(Debug)]
/// struct Droplet(LennardJones);
///
/// impl PairPotential for Droplet {
///     fn cutoff(&self) -> f64 { self.0.cutoff() }
///     fn species(&self) -> usize { self.0.species() }
///     fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm { self.0.term(a, b, r2) }
///     fn tail(&self, _: &[u64], _: f64, _: Dimension) -> Tail { Tail::default() }
///     fn fits_single_precision(&self) -> bool { self.0.fits_single_precision() }
///     /// Runs the loop with the kernel of Lennard-Jones.
///     fn compute(&self, pairs: PairLoop) -> PairSums { self.0.compute(pairs) }
/// }
///
/// let well = Well { epsilon: 1.0, sigma: 1.0 };
/// let melt = LennardJones::new(&[well], Mixing::default(), &[], 2.5, Shift::None)?;
/// let (counts, volume) = ([800], 1000.0);
/// assert!(melt.tail(&counts, volume, Dimension::Three).energy < 0.0);
/// assert_eq!(Droplet(melt).tail(&counts, volume, Dimension::Three).energy, 0.0);
/// # Ok::<(), PotentialError>(())
/// ```
pub struct PairLoop<'a> {
    sweep: Sweep<'a>,
    potential: &'a dyn PairPotential,
    simd: SimdLevel,
}

/// A sweep over a block, by method and arithmetic.
enum Sweep<'a> {
    Cells(cells::Task<'a>),
    Double(clusters::Task<'a, Double>),
    Reproducible(clusters::Task<'a, Reproducible>),
    Single(clusters::Task<'a, Single>),
    Quads(clusters::Task<'a, Quads>),
}

impl PairLoop<'_> {
    /// Returns the source of constants for which the loop is compiled.
    pub(crate) fn constants(&self, species: usize) -> ConstantSource {
        let kind = match &self.sweep {
            Sweep::Cells(_) => LoopKind::Cells,
            Sweep::Double(_) => LoopKind::Clusters(ArithmeticKind::Double),
            Sweep::Reproducible(_) => LoopKind::Clusters(ArithmeticKind::Reproducible),
            Sweep::Single(_) => LoopKind::Clusters(ArithmeticKind::Single),
            Sweep::Quads(_) => LoopKind::Clusters(ArithmeticKind::Quads),
        };
        kind.constants(species, Vectors::at(self.simd.or_narrower()))
    }

    /// Runs the loop with a kernel. At [`SimdLevel::Baseline`] the potential's scalar form is used
    /// instead.
    pub fn run<K: PairKernel>(self, kernel: K) -> PairSums {
        match self.simd.or_narrower() {
            SimdLevel::Baseline => self.run_terms(),
            level => self.sweep.run(level, kernel),
        }
    }

    /// Runs the loop with [`PairPotential::term`], one lane at a time.
    fn run_terms(self) -> PairSums {
        self.sweep.run(self.simd.or_narrower(), TermKernel(self.potential))
    }
}

impl Sweep<'_> {
    fn run<K: PairKernel>(self, level: SimdLevel, kernel: K) -> PairSums {
        match self {
            Self::Cells(task) => task.run(level, kernel),
            Self::Double(task) => task.run(level, kernel),
            Self::Reproducible(task) => task.run(level, kernel),
            Self::Single(task) => task.run(level, kernel),
            Self::Quads(task) => task.run(level, kernel),
        }
    }
}

impl Method {
    /// Creates a method before its first rebuild. Its lists will be valid for displacements up to
    /// half the skin.
    pub fn new(kind: MethodKind, skin: f64, precision: Precision, summation: Summation) -> Self {
        match kind {
            MethodKind::DirectSum => Self::DirectSum,
            MethodKind::Cells => Self::Cells(CellWork::default()),
            MethodKind::Clusters => Self::Clusters(Box::new(ClusterWork::new(skin, precision, summation))),
        }
    }

    /// Rebuilds the lists. Must be called after the cells have been sorted and the ghosts filled.
    pub fn rebuild(&mut self, system: System, particles: &Particles) {
        match self {
            Self::Cells(work) => work.rebuild_shares(system, particles.len()),
            Self::Clusters(work) => work.rebuild(system, particles),
            Self::DirectSum => (),
        }
    }

    /// Returns the number of blocks into which a region is divided, at least one. A block is some
    /// microseconds of work; messages can be progressed between blocks.
    pub fn blocks(&self, region: Region) -> usize {
        match self {
            Self::Cells(work) => work.blocks(region),
            Self::Clusters(work) => work.blocks(region),
            Self::DirectSum => 1,
        }
    }

    /// Adds the forces of some blocks of a region to `particles.force`. All regions and blocks must
    /// be computed in order; the number of blocks per call does not change any bit of the result.
    /// Forces on ghosts are complete after the boundary, those on owned particles after all
    /// regions. The region's sums are returned with its last block; before that, zero is returned.
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

    /// Returns the skin of the inner lists, if any are used, \[length\].
    pub fn inner_skin(&self) -> Option<f64> {
        match self {
            Self::Clusters(work) => work.inner_skin(),
            Self::Cells(_) | Self::DirectSum => None,
        }
    }

    /// Counts this rank's pairs by species and distance, each pair on one rank, for the current
    /// positions of particles and ghosts. Returns `None` if the method does not have all pairs of
    /// these distances or if two ranks compute a pair. The result is `None` on all ranks or on
    /// none.
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
