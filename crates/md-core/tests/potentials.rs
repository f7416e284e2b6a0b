//! Tests of the potentials of this crate: SIMD kernels against the scalar terms used by direct
//! summation.

mod support;

use md_core::PairPotential;
use md_core::potential::{LennardJones, Mixing, Morse, MorsePair, Shift, SpeciesPair, Well};
use support::assert_methods_agree;

const CUTOFF: f64 = 2.2;

fn each_shift<P: PairPotential>(potential: impl Fn(Shift) -> P) {
    for shift in [Shift::None, Shift::Energy, Shift::Force] {
        assert_methods_agree(&potential(shift));
    }
}

#[test]
fn lennard_jones() {
    let wells = [Well { epsilon: 1.0, sigma: 1.0 }, Well { epsilon: 0.7, sigma: 0.9 }];
    for wells in [&wells[..1], &wells] {
        each_shift(|shift| LennardJones::new(wells, Mixing::LorentzBerthelot, &[], CUTOFF, shift).unwrap());
    }
}

#[test]
fn morse() {
    let pair =
        |a, b, depth, alpha, r0| SpeciesPair { species: [a, b], parameters: MorsePair { depth, alpha, r0 } };
    let pairs = [pair(0, 0, 1.0, 4.0, 1.1), pair(0, 1, 0.5, 5.0, 1.05), pair(1, 1, 1.5, 3.0, 1.2)];
    each_shift(|shift| Morse::new(1, &pairs[..1], CUTOFF, shift).unwrap());
    each_shift(|shift| Morse::new(2, &pairs, CUTOFF, shift).unwrap());
}
