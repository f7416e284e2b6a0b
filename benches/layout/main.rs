//! Memory layout and cell index, after S. Schmelz's thesis on one-sided communication in molecular
//! dynamics. Compares records (array of structures) with columns (structure of arrays), a table of
//! neighbour cells with the computation of their indices, full with half shell, and one pair at a
//! time with SIMD, for a sparse and a dense system.
//!
//! The combinations that md does not use are plain loops in this folder (`plain`); `cells` is md's
//! own linked-cell method. All give the same forces, which is checked before the measurements. The
//! systems are those of configs/sparse.toml and, with an eighth of its volume, configs/dense.toml.
//! Throughput is in particles.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

#[path = "../common/mod.rs"]
mod common;
mod neighbours;
mod pair;
mod plain;
mod storage;

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use md_core::lattice::LatticeKind;
use md_core::potential::Well;
use md_core::{Evaluation, Shell, SimdLevel};

use common::{Kernel, Sample, Scenario, levels};
use neighbours::{Computed, Neighbours, Table};
use plain::{PlainSystem, Third};
use storage::{Columns, Records, Storage};

/// 8000 particles, 0.5 per cell. The lattice sites are farther apart than the cutoff; with these
/// displacements, particles meet as in a gas.
const SPARSE: Scenario = Scenario {
    lattice: LatticeKind::Sc,
    spacing: 4.4447,
    cells: [10, 20, 40],
    displacement: 0.6,
    cutoff: 3.5,
    skin: 0.0,
    wells: &[Well { epsilon: 2.0, sigma: 1.15 }],
};

/// 175,616 particles, 43 per cell.
const DENSE: Scenario = Scenario {
    lattice: LatticeKind::Sc,
    spacing: 1.00901,
    cells: [56; 3],
    displacement: 0.06,
    cutoff: 3.5,
    skin: 0.0,
    wells: &[Well { epsilon: 2.0, sigma: 0.9 }],
};

/// Deviation of sums of many terms in another order, relative to the force or to 1, whichever is
/// larger.
const LARGEST_DEVIATION: f64 = 1e-9;

type Forces = Vec<[f64; 3]>;

fn sparse(criterion: &mut Criterion) {
    study(criterion.benchmark_group("layout, sparse"), &SPARSE);
}

fn dense(criterion: &mut Criterion) {
    study(criterion.benchmark_group("layout, dense"), &DENSE);
}

fn study(mut group: BenchmarkGroup<'_, WallTime>, scenario: &Scenario) {
    // The same number of calls in every sample, because one call for the dense system takes a tenth
    // of a second.
    group.sampling_mode(SamplingMode::Flat);
    let expected = cells(&mut group, scenario);
    plain::<Records, Table>(&mut group, scenario, &expected);
    plain::<Records, Computed>(&mut group, scenario, &expected);
    plain::<Columns, Table>(&mut group, scenario, &expected);
    plain::<Columns, Computed>(&mut group, scenario, &expected);
    group.finish();
}

/// Measures md's own method at every SIMD level and returns its forces. In its full shell, the
/// third law is still used between the particles of one rank, so only pairs with images are
/// computed twice.
fn cells(group: &mut BenchmarkGroup<'_, WallTime>, scenario: &Scenario) -> Forces {
    let mut expected = None;
    for (shell, shell_name) in [(Shell::Half, "half"), (Shell::Full, "full across ranks")] {
        for simd in levels() {
            let mut sample = Sample::new(scenario, shell, Kernel::CellsDouble, simd);
            sample.forces(Evaluation::ForcesOnly);
            if shell == Shell::Half {
                sample.return_forces();
            }
            let particles = &sample.particles;
            let by_id = plain::by_id(particles, |index| particles.force_of(index));
            check(&by_id, expected.get_or_insert_with(|| by_id.clone()));
            group.throughput(Throughput::Elements(particles.owned() as u64));
            let id = BenchmarkId::new(format!("cells, {shell_name}"), simd.name());
            group.bench_function(id, |bencher| bencher.iter(|| sample.forces(Evaluation::ForcesOnly)));
        }
    }
    expected.unwrap_or_default()
}

fn plain<S: Storage, N: Neighbours>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    scenario: &Scenario,
    expected: &Forces,
) {
    let sample = Sample::new(scenario, Shell::Half, Kernel::CellsDouble, SimdLevel::detect());
    for third in [Third::Law, Third::Twice] {
        let mut system = PlainSystem::<S, N>::new(scenario, &sample, third);
        system.forces();
        check(&system.forces_by_id(), expected);
        let id = BenchmarkId::new(format!("{}, {}", S::NAME, N::NAME), third.name());
        group.bench_function(id, |bencher| bencher.iter(|| system.forces()));
    }
}

fn check(found: &Forces, expected: &Forces) {
    assert_eq!(found.len(), expected.len());
    for (id, (found, expected)) in found.iter().zip(expected).enumerate() {
        let scale = expected.iter().map(|f| f.abs()).fold(1.0, f64::max);
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= LARGEST_DEVIATION * scale);
        assert!(near, "particle {}: {found:?}, not {expected:?}", id + 1);
    }
}

fn config() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = config(); targets = sparse, dense }
criterion_main!(benches);
