//! The rate of loops over particles, relative to the memory bandwidth, for a system that no cache
//! can hold. The bytes are those that the loop must move, including the cache lines that are
//! fetched before being overwritten. A loop with irregular access moves more, which appears as a
//! low percentage.

use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::{Shell, SimdLevel};

use crate::common::{Kernel, ONE_SPECIES, Sample, halo_copies, melt};
use crate::machine::Limits;
use crate::{GIGA, NANO, PERCENT, fastest_s};

/// Unit cells per dimension: 4,000,000 particles, 32 MB per column.
const CELLS: u32 = 100;

const SAMPLES: usize = 5;
const COLUMN_BYTES: f64 = 8.0;

/// Bytes per particle for both kicks and the drift: v, x and f (set to zero) are read and written,
/// in three dimensions.
const INTEGRATION_BYTES: f64 = 3.0 * 6.0 * COLUMN_BYTES;

/// Bytes per particle for position, velocity, id, species and image counts: read, fetched, written.
const SORT_BYTES: f64 = 9.0 * 3.0 * COLUMN_BYTES;

/// Bytes per copied position (from particles to images or into a message, and out of a message):
/// read, fetched, written. For added forces: both are read, and the sum is written.
const COPY_BYTES: f64 = 3.0 * 3.0 * COLUMN_BYTES;

/// A time step so short that no particle leaves the box.
const TIMESTEP: f64 = 1e-9;

/// Printer of the rows of the table.
struct Table<'l>(&'l Limits);

impl Table<'_> {
    fn row(&self, name: &str, items: usize, item_bytes: f64, best_s: f64) {
        let bytes_per_s = items as f64 * item_bytes / best_s;
        let share = bytes_per_s / self.0.memory_bytes_per_s * PERCENT;
        let (item_ns, rate) = (best_s / items as f64 * NANO, bytes_per_s / GIGA);
        println!("| {name} | {item_ns:.2} | {item_bytes} | {rate:.1} | {share:.0} % |");
    }
}

pub(crate) fn report(limits: &Limits, simd: SimdLevel) {
    println!("| loops, 4,000,000 atoms | ns per item | bytes per item | GB/s | share of triad |");
    println!("| --- | --- | --- | --- | --- |");
    let table = Table(limits);
    let mut sample = Sample::new(&melt(CELLS, ONE_SPECIES), Shell::Half, Kernel::CellsDouble, simd);
    let atoms = sample.particles.owned();
    let integrator = VelocityVerlet::new(TIMESTEP, &[1.0], simd);
    let best_s = fastest_s(SAMPLES, || {
        integrator.kick_and_drift(HalfKicks::Fused, &mut sample.particles, &sample.domain, &sample.threads);
    });
    table.row("integrate (two kicks, drift), per atom", atoms, INTEGRATION_BYTES, best_s);
    let best_s = fastest_s(SAMPLES, || sample.sort());
    table.row("sort and images, per atom", atoms, SORT_BYTES, best_s);
    drop(sample);
    halo_copies(&melt(CELLS, ONE_SPECIES), |name, ghosts, copy| {
        table.row(&format!("{name}, per ghost"), ghosts, COPY_BYTES, fastest_s(SAMPLES, copy));
    });
}
