//! A box of particles of alternating species, and the forces on them by every method.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use md_core::force::{CellWork, ClusterWork, PairWork, Precision, Summation, System};
use md_core::grid::most_cells;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::partition::Rect;
use md_core::{
    Boundary, CellGrid, Dimension, Domain, Evaluation, ExchangePattern, HaloPlan, LocalCells, Method,
    PairPotential, PairSums, Particle, Particles, Partition, Shell, SimdLevel, Threads, random,
};
use std::sync::Arc;

const SKIN: f64 = 0.3;
const SEED: u64 = 1;

/// Forces by particle id, and sums over pairs.
struct Forces {
    of: Vec<[f64; 3]>,
    sums: PairSums,
}

/// Asserts that linked cells and cluster lists give the forces of direct summation at every SIMD
/// level and precision.
pub(crate) fn assert_methods_agree(potential: &dyn PairPotential) {
    let reference = forces(potential, Method::DirectSum, SimdLevel::Baseline);
    assert!(reference.sums.useful_pairs > 1000.0);
    let clusters =
        |precision| Method::Clusters(Box::new(ClusterWork::new(SKIN, precision, Summation::Rounded)));
    for level in SimdLevel::available() {
        let [double, mixed] = [(Precision::Double, 1e-12), (Precision::Mixed, 2e-5)];
        assert_close(&forces(potential, Method::Cells(CellWork::default()), level), &reference, double.1);
        for (precision, bound) in [double, mixed] {
            assert_close(&forces(potential, clusters(precision), level), &reference, bound);
        }
    }
}

/// Asserts that forces are close, relative to the largest force.
fn assert_close(forces: &Forces, reference: &Forces, bound: f64) {
    let largest = reference.of.iter().flatten().fold(1.0, |most: f64, force| most.max(force.abs()));
    for (force, expected) in forces.of.iter().flatten().zip(reference.of.iter().flatten()) {
        assert!((force - expected).abs() <= bound * largest, "{force} instead of {expected}");
    }
    assert_eq!(forces.sums.useful_pairs, reference.sums.useful_pairs);
    for sum in [|sums: &PairSums| sums.energy, |sums: &PairSums| sums.virial.trace()] {
        let (sum, expected) = (sum(&forces.sums), sum(&reference.sums));
        assert!((sum / expected - 1.0).abs() <= 10.0 * bound, "{sum} instead of {expected}");
    }
}

fn forces(potential: &dyn PairPotential, mut method: Method, simd: SimdLevel) -> Forces {
    let lattice = Lattice::new(LatticeKind::Fcc, LatticeKind::Fcc.spacing(0.85), [6; 3]);
    let (origin, boundary) = ([0.0; 3], [Boundary::Reflecting; 3]);
    let domain = Domain { dimension: Dimension::Three, origin, lengths: lattice.lengths(), boundary };
    let particle = |(id, site): (u64, [f64; 3])| {
        let jitter = random::normal_vector(SEED, id);
        let position =
            [0, 1, 2].map(|dim| (site[dim] + 0.05 * jitter[dim]).clamp(0.0, 0.999 * domain.lengths[dim]));
        let species = (id % potential.species() as u64) as u32;
        Particle { id, species, position, ..Particle::default() }
    };
    let mut particles: Particles = lattice.sites().map(particle).collect();
    let counts =
        most_cells(&domain, potential.cutoff() + SKIN, lattice.len()).expect("the box is large enough");
    let (grid, threads) = (CellGrid::new(domain, counts), Threads::one());
    let partition: Partition = Arc::new(Rect { grid: [1; 3] });
    let plan =
        HaloPlan::new(&grid, &partition, &Shell::Half.offsets(Dimension::Three), ExchangePattern::Direct, 0);
    let pairs = PairWork::new(&plan, &grid, Shell::Half, 0.5);
    let mut cells = LocalCells::default();
    cells.sort(&mut particles, &grid, &plan, &threads);
    cells.clear_ghosts(&plan);
    let system =
        System { grid: &grid, potential, plan: &plan, pairs: &pairs, cells: &cells, simd, threads: &threads };
    method.rebuild(system, &particles);
    particles.clear_forces(&threads);
    let sums = method.add_all_forces(system, &mut particles, Evaluation::WithEnergyAndVirial);
    let mut of = vec![[0.0; 3]; particles.owned()];
    for index in 0..particles.owned() {
        of[particles.get(index).id as usize - 1] = particles.force_of(index);
    }
    Forces { of, sums }
}
