//! Kernels of the standard melt (fcc, density 0.8442, cutoff 2.5, skin 0.3) with 32,000 particles
//! on one rank: pair forces, rebuild, integration, packing. Throughput is in particles. The
//! benchmark `limits` compares them with the limits of the machine.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

#[path = "../common/mod.rs"]
mod common;
mod force;
mod integrate;
mod pack;
mod rebuild;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// Unit cells per dimension.
const CELLS: u32 = 20;

/// Short times, because there are many cases and each takes many thousand times the resolution of
/// the clock.
fn config() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! {
    name = benches;
    config = config();
    targets = force::forces, force::distances, rebuild::rebuild, integrate::integrate, pack::pack
}
criterion_main!(benches);
