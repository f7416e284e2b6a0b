//! Integration, for one mass and for a mass per species.

use criterion::{BenchmarkId, Criterion, Throughput};
use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::{Shell, SimdLevel};

use crate::CELLS;
use crate::common::{Kernel, ONE_SPECIES, Sample, TWO_SPECIES, levels, melt};

/// A time step so short that no particle leaves the box during the benchmark.
const TIMESTEP: f64 = 1e-9;

pub(crate) fn integrate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("integrate");
    for (name, wells, masses) in
        [("1 species", ONE_SPECIES, &[1.0][..]), ("2 species", TWO_SPECIES, &[1.0, 2.0][..])]
    {
        let scenario = melt(CELLS, wells);
        let mut sample = Sample::new(&scenario, Shell::Half, Kernel::CellsDouble, SimdLevel::detect());
        group.throughput(Throughput::Elements(sample.particles.owned() as u64));
        for simd in levels() {
            let integrator = VelocityVerlet::new(TIMESTEP, masses, simd);
            group.bench_function(BenchmarkId::new(name, simd.name()), |bencher| {
                bencher.iter(|| {
                    integrator.kick_and_drift(
                        HalfKicks::Fused,
                        &mut sample.particles,
                        &sample.domain,
                        &sample.threads,
                    );
                });
            });
        }
    }
}
