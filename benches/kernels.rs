//! Kernels of the standard melt (fcc, density 0.8442, cutoff 2.5, skin 0.3) at 32,000 particles on one rank: pair forces
//! per shell and instruction set, rebuild, integration, packing. Throughput is in particles.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use md_core::force::{CellWork, System};
use md_core::grid::most_cells;
use md_core::halo::{self, HaloPlan, Region, Route, Stage, StageSelections};
use md_core::integrate::Integrator;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::partition::Rect;
use md_core::potential::{LennardJones, Mixing, Shift, Well};
use md_core::{
    Boundary, CellGrid, Dimension, Domain, LocalCells, Method, Particle, Particles, Partition, Potential,
    Shell, SimdLevel, Sums, random,
};

const CELLS: [u32; 3] = [20; 3];
const CUTOFF: f64 = 2.5;
const SKIN: f64 = 0.3;
/// Displaces lattice sites about as much as in the liquid.
const JITTER: f64 = 0.06;
const SEED: u64 = 87287;

/// A melt on one rank, sorted, with its images.
struct Melt {
    domain: Domain,
    grid: CellGrid,
    plan: HaloPlan,
    particles: Particles,
    cells: LocalCells,
    selections: StageSelections,
    method: Method,
    potential: Potential,
}

impl Melt {
    fn new(shell: Shell) -> Self {
        let kind = LatticeKind::Fcc;
        let lattice = Lattice::new(kind, kind.spacing(0.8442), CELLS);
        let boundary = [Boundary::Periodic; 3];
        let domain =
            Domain { dimension: Dimension::Three, origin: [0.0; 3], lengths: lattice.lengths(), boundary };
        let grid = CellGrid::new(
            domain,
            most_cells(&domain, CUTOFF + SKIN, lattice.len()).expect("the box is large enough"),
        );
        let plan = HaloPlan::new(&grid, &Partition::Rect(Rect { grid: [1; 3] }), shell, Route::Direct, 0);
        let particles = lattice.sites().map(|(id, site)| {
            let jitter = random::normal_vector(SEED, id);
            let position = [0, 1, 2].map(|dim| site[dim] + JITTER * jitter[dim]);
            Particle { id, species: 0, position, velocity: jitter }
        });
        let wells = [Well { epsilon: 1.0, sigma: 1.0 }];
        let potential = LennardJones::new(&wells, Mixing::LorentzBerthelot, &[], CUTOFF, Shift::None);
        let potential = Potential::LennardJones(potential.expect("there are no overrides"));
        let (cells, method) = (LocalCells::default(), Method::Cells(CellWork::new()));
        let (particles, selections) = (particles.collect(), StageSelections::default());
        let mut melt = Self { particles, domain, grid, plan, cells, selections, method, potential };
        melt.rebuild();
        melt
    }

    fn rebuild(&mut self) {
        self.domain.wrap(&mut self.particles);
        self.cells.sort(&mut self.particles, &self.grid, &self.plan);
        self.cells.clear_ghosts(&self.plan);
        let stage = &self.plan.stages[0];
        self.selections.rebuild(stage, &self.cells, &self.domain);
        halo::copy_images(stage, &self.selections.images, &mut self.particles, &mut self.cells);
        let Self { domain, plan, cells, potential, .. } = self;
        let system = System { domain, potential, plan, cells, simd: SimdLevel::detect() };
        self.method.rebuild(system, &self.particles);
    }

    fn forces(&mut self, simd: SimdLevel, sums: Sums) {
        let Self { domain, plan, cells, potential, .. } = self;
        let system = System { domain, potential, plan, cells, simd };
        self.particles.clear_forces();
        for region in [Region::Inner, Region::Boundary] {
            black_box(self.method.add_forces(system, &mut self.particles, region, sums));
        }
    }
}

fn forces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("forces");
    for (name, shell) in [("half", Shell::Half), ("full", Shell::Full)] {
        let mut melt = Melt::new(shell);
        group.throughput(Throughput::Elements(melt.particles.owned() as u64));
        for simd in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
            let id = BenchmarkId::new(name, simd.name());
            group.bench_function(id, |bencher| bencher.iter(|| melt.forces(simd, Sums::Skip)));
        }
        let id = BenchmarkId::new(name, "with energy");
        group.bench_function(id, |bencher| bencher.iter(|| melt.forces(SimdLevel::detect(), Sums::Compute)));
    }
}

fn rebuild(criterion: &mut Criterion) {
    let mut melt = Melt::new(Shell::Half);
    let mut group = criterion.benchmark_group("rebuild");
    group.throughput(Throughput::Elements(melt.particles.owned() as u64));
    group.bench_function("sort, images and spans", |bencher| bencher.iter(|| melt.rebuild()));
}

fn integrate(criterion: &mut Criterion) {
    const TIMESTEP: f64 = 1e-9;
    let mut melt = Melt::new(Shell::Half);
    let integrator = Integrator::new(TIMESTEP, &[1.0], SimdLevel::detect());
    let mut group = criterion.benchmark_group("integrate");
    group.throughput(Throughput::Elements(melt.particles.owned() as u64));
    group.bench_function("kick, drift, kick", |bencher| {
        bencher.iter(|| {
            integrator.kick_and_drift(&mut melt.particles, &melt.domain);
            integrator.kick(&mut melt.particles);
        });
    });
}

fn pack(criterion: &mut Criterion) {
    let Melt { plan, mut particles, cells, selections, .. } = Melt::new(Shell::Half);
    let stage: &Stage = &plan.stages[0];
    let ghosts = selections.images.len();
    let mut message = vec![0.0; 3 * ghosts];
    let mut group = criterion.benchmark_group("pack");
    group.throughput(Throughput::Elements(ghosts as u64));
    group.bench_function("positions", |bencher| {
        bencher.iter(|| halo::pack_positions(&mut message, &selections.images, &particles));
    });
    group.bench_function("images", |bencher| {
        bencher.iter(|| halo::refresh_images(stage, &selections.images, &mut particles, &cells));
    });
    group.bench_function("returned forces", |bencher| {
        bencher.iter(|| halo::add_returned_image_forces(stage, &selections.images, &mut particles, &cells));
    });
}

criterion_group!(benches, forces, rebuild, integrate, pack);
criterion_main!(benches);
