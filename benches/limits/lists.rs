//! The rate of making lists, relative to the multiply-add peak.
//!
//! Vector operations per vector of tested pairs: 3 for the difference (mixed: 6, on integers, with
//! conversion), 3 for the square of the distance, 1 for the comparison with the list radius. The
//! tested pairs are those of adjacent cells, which the method `cells` computes. The remaining time
//! is spent on loads and on writing entries.

use md_core::{Evaluation, Shell, SimdLevel};

use crate::common::{Kernel, ONE_SPECIES, Sample, melt};
use crate::machine::Limits;
use crate::{GIGA, NANO, PERCENT, fastest_s};

/// Unit cells per dimension: 131,072 particles.
const CELLS: u32 = 32;
const SAMPLES: usize = 5;

const OPERATIONS_F64: f64 = 7.0;
const OPERATIONS_F32: f64 = 10.0;

/// Prints the rates. Lists are made at a rebuild, after sorting.
pub(crate) fn report(limits: &Limits) {
    let sample_of =
        |kernel: Kernel| Sample::new(&melt(CELLS, ONE_SPECIES), Shell::Half, kernel, kernel.level());
    let tested = sample_of(Kernel::CellsDouble).forces(Evaluation::WithEnergyAndVirial).computed_pairs;
    println!(
        "| lists, 131,072 atoms | level | ns per atom and rebuild | tested pairs | operations per pair | 10^9 operations/s | share of peak |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let precisions = [
        (Kernel::ClustersDouble, OPERATIONS_F64, limits.double_per_s),
        (Kernel::ClustersMixed, OPERATIONS_F32, limits.single_per_s),
    ];
    for (kernel, operations, peak) in precisions {
        let mut sample = sample_of(kernel);
        let atoms = sample.particles.owned() as f64;
        let best_s = fastest_s(SAMPLES, || sample.build_lists());
        let per_s = tested * operations / best_s;
        println!(
            "| {} | {} | {:.1} | {:.1} | {operations} | {:.1} | {:.0} % |",
            kernel.name(),
            SimdLevel::name(kernel.level()),
            best_s / atoms * NANO,
            tested / atoms,
            per_s / GIGA,
            per_s / peak * PERCENT,
        );
    }
}
