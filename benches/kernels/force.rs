//! Pair forces by method and precision, species and SIMD level, and the additional cost of energies
//! and of the full shell.

use criterion::{BenchmarkId, Criterion, Throughput};
use md_core::{Evaluation, Shell};

use crate::CELLS;
use crate::common::{Kernel, ONE_SPECIES, Sample, TWO_SPECIES, levels, melt};

pub(crate) fn forces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("forces");
    let mut measure = |sample: &mut Sample, name: &str, variant: &str, evaluation| {
        group.throughput(Throughput::Elements(sample.particles.owned() as u64));
        group.bench_function(BenchmarkId::new(name, variant), |bencher| {
            bencher.iter(|| sample.forces(evaluation));
        });
    };
    for &kernel in Kernel::ALL {
        for wells in [ONE_SPECIES, TWO_SPECIES] {
            let name = format!("{}, {} species", kernel.name(), wells.len());
            for simd in levels() {
                let mut sample = Sample::new(&melt(CELLS, wells), Shell::Half, kernel, simd);
                measure(&mut sample, &name, simd.name(), Evaluation::ForcesOnly);
            }
            let mut sample = Sample::new(&melt(CELLS, wells), Shell::Half, kernel, kernel.level());
            measure(&mut sample, &name, "with energy", Evaluation::WithEnergyAndVirial);
        }
        let mut sample = Sample::new(&melt(CELLS, ONE_SPECIES), Shell::Full, kernel, kernel.level());
        measure(&mut sample, kernel.name(), "full shell", Evaluation::ForcesOnly);
    }
}

/// Measures one sample of `output.rdf`, without forces.
pub(crate) fn distances(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("distances");
    for kernel in [Kernel::ClustersDouble, Kernel::ClustersMixed] {
        for simd in levels() {
            let sample = Sample::new(&melt(CELLS, ONE_SPECIES), Shell::Half, kernel, simd);
            group.throughput(Throughput::Elements(sample.particles.owned() as u64));
            group.bench_function(BenchmarkId::new(kernel.name(), simd.name()), |bencher| {
                bencher.iter(|| sample.count_distances());
            });
        }
    }
}
