//! Copying halo positions and returned forces into messages and out of them, between two ranks, and between a rank's
//! particles and their own periodic images. Throughput is in ghosts.

use criterion::{Criterion, Throughput};
use md_core::halo::{self, Images};
use md_core::{Shell, SimdLevel};

use crate::CELLS;
use crate::common::{FORCES, Kernel, ONE_SPECIES, POSITIONS, Sample, melt};

/// Numbers per particle of a position or a force.
const DIMENSIONS: usize = 3;

pub(crate) fn pack(criterion: &mut Criterion) {
    messages(criterion);
    images(criterion);
}

fn messages(criterion: &mut Criterion) {
    let Sample { plan, mut particles, cells, selections, .. } =
        Sample::beside_another(&melt(CELLS, ONE_SPECIES));
    let (edge, selection) = (&plan.stages[0].edges[0], &selections.edges[0]);
    let (sent, got) = (selection.len(), halo::import_count(edge, &cells));
    let mut to_peer = vec![0.0; DIMENSIONS * sent];
    let mut from_peer = vec![0.0; DIMENSIONS * got];
    let mut group = criterion.benchmark_group("pack");
    group.throughput(Throughput::Elements(sent as u64));
    group.bench_function("positions", |bencher| {
        bencher.iter(|| halo::pack_fields(&mut to_peer, POSITIONS, selection, &particles));
    });
    group.bench_function("add returned forces", |bencher| {
        bencher.iter(|| halo::add_fields(&to_peer, FORCES, selection, &mut particles));
    });
    group.throughput(Throughput::Elements(got as u64));
    group.bench_function("forces", |bencher| {
        bencher.iter(|| halo::pack_ghosts(&mut from_peer, FORCES, edge, &particles, &cells));
    });
    group.bench_function("unpack positions", |bencher| {
        bencher.iter(|| halo::unpack_fields(&from_peer, POSITIONS, edge, &mut particles, &cells));
    });
}

fn images(criterion: &mut Criterion) {
    let scenario = melt(CELLS, ONE_SPECIES);
    let mut sample = Sample::new(&scenario, Shell::Half, Kernel::CellsDouble, SimdLevel::detect());
    let mut group = criterion.benchmark_group("images");
    group.throughput(Throughput::Elements(sample.selections.images.len() as u64));
    group.bench_function("add returned forces", |bencher| bencher.iter(|| sample.return_forces()));
    let Sample { plan, mut particles, cells, selections, threads, .. } = sample;
    let (stage, images) = (&plan.stages[0], &selections.images);
    group.bench_function("positions", |bencher| {
        let images = Images { stage, selection: images, cells: &cells };
        bencher.iter(|| images.gather(POSITIONS, &mut particles, &threads));
    });
}
