//! Copying of halo positions and returned forces to and from messages between two ranks, and
//! between a rank's particles and their periodic images. Throughput is in ghosts.

use criterion::{Criterion, Throughput};

use crate::CELLS;
use crate::common::{ONE_SPECIES, halo_copies, melt};

pub(crate) fn pack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pack");
    halo_copies(&melt(CELLS, ONE_SPECIES), |name, ghosts, copy| {
        group.throughput(Throughput::Elements(ghosts as u64));
        group.bench_function(name, |bencher| bencher.iter(&mut *copy));
    });
}
