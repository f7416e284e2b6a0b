//! Loops over particles as a share of the memory bandwidth, for a system that no cache holds. Bytes are what the loop must
//! move, with the lines that are fetched to be overwritten; where the loop jumps about in memory more is moved, which shows as a small share.

use md_core::halo;
use md_core::integrate::Integrator;
use md_core::{Shell, SimdLevel};

use crate::common::{Kernel, ONE_SPECIES, Sample, melt};
use crate::machine::Limits;
use crate::{GIGA, NANO, PERCENT, fastest_s};

/// Unit cells per dimension: 4,000,000 particles, 32 MB per column.
const CELLS: u32 = 100;

/// 131,072 particles: lists are bound by arithmetic.
const CELLS_OF_LISTS: u32 = 32;
const SAMPLES: usize = 5;
const COLUMN_BYTES: f64 = 8.0;

/// Kicks twice: v read and written, f read; drifts: x read and written, v read; in three dimensions.
const INTEGRATION_BYTES: f64 = 3.0 * 3.0 * 3.0 * COLUMN_BYTES;

/// Position, velocity, id and species: read, fetched, written.
const SORT_BYTES: f64 = 8.0 * 3.0 * COLUMN_BYTES;

/// Positions: read, fetched, written.
const IMAGE_BYTES: f64 = 3.0 * 3.0 * COLUMN_BYTES;

/// So short that nothing leaves the box.
const TIMESTEP: f64 = 1e-9;

pub(crate) fn report(limits: &Limits, simd: SimdLevel) {
    let mut sample = Sample::new(&melt(CELLS, ONE_SPECIES), Shell::Half, Kernel::CellsDouble, simd);
    let atoms = sample.particles.owned() as f64;
    let images = sample.selections.images.len() as f64;
    println!("| loops, 4,000,000 atoms | ns per item | bytes per item | GB/s | share of triad |");
    println!("| --- | --- | --- | --- | --- |");
    let row = |name: &str, items: f64, item_bytes: f64, best_s: f64| {
        let bytes_per_s = items * item_bytes / best_s;
        let share = bytes_per_s / limits.memory_bytes_per_s * PERCENT;
        let (item_ns, rate) = (best_s / items * NANO, bytes_per_s / GIGA);
        println!("| {name} | {item_ns:.2} | {item_bytes} | {rate:.1} | {share:.0} % |");
    };
    let integrator = Integrator::new(TIMESTEP, &[1.0], simd);
    let best_s = fastest_s(SAMPLES, || {
        integrator.kick_and_drift(&mut sample.particles, &sample.domain, &sample.threads);
        integrator.kick(&mut sample.particles, &sample.threads);
    });
    row("integrate (kick, drift, kick), per atom", atoms, INTEGRATION_BYTES, best_s);
    let Sample { plan, particles, cells, selections, threads, .. } = &mut sample;
    let best_s = fastest_s(SAMPLES, || {
        halo::refresh_images(&plan.stages[0], &selections.images, particles, (&*cells, &*threads));
    });
    row("copy to images, per image", images, IMAGE_BYTES, best_s);
    let best_s = fastest_s(SAMPLES, || sample.sort());
    row("sort and images, per atom", atoms, SORT_BYTES, best_s);
}

/// Lists of each method, made at a rebuild after sorting.
pub(crate) fn report_lists() {
    println!("| lists, 131,072 atoms | ns per atom and rebuild |");
    println!("| --- | --- |");
    for kernel in Kernel::ALL {
        let mut sample = Sample::new(&melt(CELLS_OF_LISTS, ONE_SPECIES), Shell::Half, kernel, kernel.level());
        let atoms = sample.particles.owned() as f64;
        let best_s = fastest_s(SAMPLES, || sample.build_lists());
        println!("| {} | {:.1} |", kernel.name(), best_s / atoms * NANO);
    }
}
