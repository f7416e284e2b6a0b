//! The limits of the machine and how close the kernels come to them: pair forces relative to a
//! measured peak of multiply-adds, loops over particles relative to a measured memory bandwidth.
//! Uses the best of several samples, one core, the SIMD level of a run (including `MD_SIMD`) and
//! the standard melt.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]
#![expect(clippy::print_stdout, reason = "the table is the result")]

#[path = "../common/mod.rs"]
mod common;
mod forces;
mod lists;
mod loops;
mod machine;

use std::time::Instant;

use md_core::SimdLevel;

pub(crate) const NANO: f64 = 1e9;
pub(crate) const GIGA: f64 = 1e9;
pub(crate) const PERCENT: f64 = 100.0;

fn main() {
    let simd = common::asked_level().unwrap_or_else(SimdLevel::detect);
    let limits = machine::Limits::measure(simd);
    println!("{}: {limits}", simd.name());
    println!();
    forces::report(&limits);
    println!();
    loops::report(&limits, simd);
    println!();
    lists::report(&limits);
}

/// Returns the time of the fastest of `samples` calls in seconds, after one call that does not
/// count.
pub(crate) fn fastest_s(samples: usize, mut work: impl FnMut()) -> f64 {
    work();
    let sample_s = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..samples).map(sample_s).fold(f64::INFINITY, f64::min)
}
