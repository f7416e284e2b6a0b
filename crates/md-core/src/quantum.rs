//! Multiples of a quantum, of which sums and differences are exact.
//!
//! ```text
//! positions      multiples of 2^-36: a distance does not depend on who computes it, nor on the
//!                images between which it lies, and wrapping is exact
//! velocities     changed by multiples of 2^-38: kicks and drifts can be undone to the last bit
//! forces         multiples of 2^-30
//! energies       multiples of 2^-24, also virials and momenta
//! ```
//!
//! The rounding of a position, 7e-12, is far below what a list or a cutoff notices. It limits a box
//! to 16,384 lengths, see [`LONGEST_BOX`].

/// Multiple to which coordinates are rounded, \[length\].
pub const POSITION_QUANTUM: f64 = 1.0 / (1_u64 << 36) as f64;

/// Multiple to which velocities are rounded, \[length / time\].
pub const VELOCITY_QUANTUM: f64 = 1.0 / (1_u64 << 38) as f64;

/// Multiple to which the terms of forces are rounded, \[energy / length\].
pub const FORCE_QUANTUM: f64 = 1.0 / (1_u64 << 30) as f64;

/// Multiple to which the terms of energies, virials and momenta are rounded, \[energy\].
pub const ENERGY_QUANTUM: f64 = 1.0 / (1_u64 << 24) as f64;

/// Limit of a component of a force below which it is exact, \[energy / length\]. Terms beyond it
/// that cancel in the sum are not noticed.
pub const LARGEST_FORCE: f64 = (1_u64 << 21) as f64;

/// Limit of the sum of the energies or virials of a rank, \[energy\].
pub const LARGEST_ENERGY: f64 = (1_u64 << 28) as f64;

/// Limit of the sum of the energies or virials of all ranks, \[energy\].
pub const LARGEST_TOTAL: f64 = (1_u64 << 29) as f64;

/// Longest side of a box in which coordinates, also those of images, are multiples of their
/// quantum, \[length\].
pub const LONGEST_BOX: f64 = 16_384.0;

/// Returns the multiple of `quantum`, a power of two, that is nearest to `number`, which must be
/// below 2^51 quanta.
///
/// ```
/// use md_core::quantum::rounded;
///
/// assert_eq!(rounded(1.3, 0.25), 1.25);
/// assert_eq!(rounded(-0.6, 0.5), -0.5);
/// ```
#[inline(always)]
pub fn rounded(number: f64, quantum: f64) -> f64 {
    const TO_INTEGER: f64 = 1.5 / f64::EPSILON;
    let shift = TO_INTEGER * quantum;
    (number + shift) - shift
}

/// Returns the sum of multiples of `quantum`, in quanta and modulo 2^64, or `None` if a number is
/// no multiple. The size of each must be below 2^53 quanta.
///
/// ```
/// use md_core::quantum::sum_in_quanta;
///
/// assert_eq!(sum_in_quanta(&[1.25, -0.5, 0.0], 0.25), Some(3));
/// assert_eq!(sum_in_quanta(&[1.25, 0.1], 0.25), None);
/// ```
pub fn sum_in_quanta(numbers: &[f64], quantum: f64) -> Option<i64> {
    let per_quantum = quantum.recip();
    let (mut sum, mut are_whole) = (0_i64, true);
    for number in numbers {
        let quanta = number * per_quantum;
        let whole = quanta as i64;
        are_whole &= whole as f64 == quanta;
        sum = sum.wrapping_add(whole);
    }
    are_whole.then_some(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_flipped_bit_is_found(
            quanta in proptest::collection::vec(-1_i64 << 40..1_i64 << 40, 1..20), place: usize, bit in 0_u32..64,
        ) {
            let mut numbers: Vec<f64> = quanta.iter().map(|quanta| *quanta as f64 * FORCE_QUANTUM).collect();
            prop_assert_eq!(sum_in_quanta(&numbers, FORCE_QUANTUM), Some(quanta.iter().sum()));
            let flipped = &mut numbers[place % quanta.len()];
            let before = *flipped;
            *flipped = f64::from_bits(flipped.to_bits() ^ 1 << bit);
            // The sign of zero has no effect on a sum.
            if *flipped != before {
                prop_assert_ne!(sum_in_quanta(&numbers, FORCE_QUANTUM), Some(quanta.iter().sum()));
            }
        }

        #[test]
        fn rounding_is_odd_and_to_the_nearest(number in -1e5_f64..1e5) {
            let near = rounded(number, FORCE_QUANTUM);
            prop_assert_eq!(rounded(-number, FORCE_QUANTUM), -near);
            prop_assert!((near - number).abs() <= 0.5 * FORCE_QUANTUM);
            prop_assert_eq!(sum_in_quanta(&[near, -near], FORCE_QUANTUM), Some(0));
        }
    }
}
