//! The rate of pair forces, relative to the multiply-add peak.
//!
//! Vector operations per vector of pairs, counted from the kernels (half shell, no energies, one
//! species, AVX-512). Loads, stores and operations that occur once per i-cluster or list entry are
//! left out; a negation is part of its multiply-add:
//!
//! | | clusters double | clusters mixed | cells double |
//! | --- | --- | --- | --- |
//! | difference (mixed: on integers, and converted) | 3 | 6 | 3 |
//! | square of the distance | 3 | 3 | 3 |
//! | within the cutoff? | 1 | 1 | 1 |
//! | reciprocal: division, or estimate and 2 operations per Newton step | 1 or 5 | 1 | 1 or 5 |
//! | s^3, bracket, force | 5 | 5 | 5 |
//! | add to i | 3 | 3 | 3 |
//! | subtract from j | 3 | 3 | 7.5 |
//! | sum | 19 or 23 | 22 | 23.5 or 27.5 |
//!
//! Cells: three products, which are added to i and to the collected force on j, and subtracted from
//! j's forces once for two i. With AVX-512, pairs beyond the cutoff are masked in the last
//! multiplication; other levels need one more operation. A division counts as one operation
//! although it takes several times as long. Several species need two permutations, and in f64 one
//! more operation for indices.

use md_core::simd::Inversion;
use md_core::{Evaluation, Shell, SimdLevel};

use crate::common::{Kernel, ONE_SPECIES, Sample, TWO_SPECIES, melt};
use crate::machine::Limits;
use crate::{GIGA, NANO, PERCENT, fastest_s};

/// Unit cells per dimension: 131,072 particles.
const CELLS: u32 = 32;
const SAMPLES: usize = 10;

/// Operations for looking up two constants.
const OF_SPECIES: f64 = 3.0;
const OF_SPECIES_MIXED: f64 = 2.0;

const DIVISION: f64 = 1.0;
/// Operations of the estimate and the Newton steps.
const ESTIMATE: f64 = 5.0;
/// Operations for dropping pairs without masks.
const SELECTION: f64 = 1.0;

/// Returns the number of vector operations per vector of pairs of one species.
fn operations(kernel: Kernel, simd: SimdLevel) -> f64 {
    let rest = match kernel {
        Kernel::ClustersDouble => 18.0,
        Kernel::ClustersMixed => 21.0,
        Kernel::CellsDouble => 22.5,
    };
    let by_newton = simd == SimdLevel::Avx512 && Inversion::of_this_cpu() == Inversion::Newton;
    let reciprocal = if by_newton && kernel != Kernel::ClustersMixed { ESTIMATE } else { DIVISION };
    let has_masks = matches!(simd, SimdLevel::Avx512 | SimdLevel::Avx512Vl);
    rest + reciprocal + if has_masks { 0.0 } else { SELECTION }
}

pub(crate) fn report(limits: &Limits) {
    println!(
        "| forces, 131,072 atoms | level | species | ns per atom | useful pairs | computed pairs | operations per pair | 10^9 operations/s | share of peak |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for &kernel in Kernel::ALL {
        for wells in [ONE_SPECIES, TWO_SPECIES] {
            let simd = kernel.level();
            let mut sample = Sample::new(&melt(CELLS, wells), Shell::Half, kernel, simd);
            let atoms = sample.particles.owned() as f64;
            let sums = sample.forces(Evaluation::WithEnergyAndVirial);
            let best_s = fastest_s(SAMPLES, || _ = sample.forces(Evaluation::ForcesOnly));
            let of_species = if kernel == Kernel::ClustersMixed { OF_SPECIES_MIXED } else { OF_SPECIES };
            let further = if wells.len() > 1 { of_species } else { 0.0 };
            let operations = operations(kernel, simd) + further;
            let per_s = sums.computed_pairs * operations / best_s;
            let peak =
                if kernel == Kernel::ClustersMixed { limits.single_per_s } else { limits.double_per_s };
            println!(
                "| {} | {} | {} | {:.1} | {:.1} | {:.1} | {operations} | {:.1} | {:.0} % |",
                kernel.name(),
                simd.name(),
                wells.len(),
                best_s / atoms * NANO,
                sums.useful_pairs / atoms,
                sums.computed_pairs / atoms,
                per_s / GIGA,
                per_s / peak * PERCENT,
            );
        }
    }
}
