//! The cost of a rebuild: sorting and images, and the lists of each method.

use criterion::{BenchmarkId, Criterion, Throughput};
use md_core::{Shell, SimdLevel};

use crate::CELLS;
use crate::common::{Kernel, ONE_SPECIES, Sample, levels, melt};

pub(crate) fn rebuild(criterion: &mut Criterion) {
    let scenario = melt(CELLS, ONE_SPECIES);
    let mut group = criterion.benchmark_group("rebuild");
    let mut sample = Sample::new(&scenario, Shell::Half, Kernel::CellsDouble, SimdLevel::detect());
    group.throughput(Throughput::Elements(sample.particles.owned() as u64));
    group.bench_function("sort and images", |bencher| bencher.iter(|| sample.sort()));
    for &kernel in Kernel::ALL {
        for simd in levels() {
            let mut sample = Sample::new(&scenario, Shell::Half, kernel, simd);
            let id = BenchmarkId::new(format!("lists, {}", kernel.name()), simd.name());
            group.bench_function(id, |bencher| bencher.iter(|| sample.build_lists()));
        }
    }
}
