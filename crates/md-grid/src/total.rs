//! Sums over all nodes of all ranks whose bits do not depend on the decomposition.
//!
//! A floating-point sum rounds after each addition, so it changes with the order of its terms, and with it everything that is
//! computed from it: a conjugate gradient would give other bits on every number of ranks. Here the ranks first agree on a power
//! of two above the largest term. Each term is then cut into two integers, multiples of a coarse and of a fine unit, which are
//! added without rounding, in any order (after Demmel and Nguyen, "Parallel Reproducible Summation", 2015). The fine unit is so small
//! that what is cut off is below 2^-60 of the largest term.

use md_comm::{Reduction, World};

use crate::{GridError, Real};

/// Bits of a term in both integers together.
const BITS: i32 = 62;

/// The sum over `a b` of all nodes of all ranks, rows given pairwise; `nodes` is their number over all ranks. *Collective.*
///
/// # Errors
/// Communication.
pub fn dot<'r, T: Real>(
    world: &dyn World,
    nodes: usize,
    rows: impl Iterator<Item = (&'r [T], &'r [T])> + Clone,
) -> Result<f64, GridError> {
    let largest = |row: (&[T], &[T])| largest_product(row.0, row.1);
    // Bits of numbers that are not negative are in the order of the numbers; what is no number is above all.
    let mut bits = [rows.clone().map(|row| largest(row).to_bits()).max().unwrap_or(0)];
    world.reduce(&mut bits, Reduction::Highest)?;
    let largest = f64::from_bits(bits[0]);
    if largest == 0.0 || !largest.is_finite() {
        return Ok(largest);
    }
    let units = Units::above(largest, nodes);
    let mut sums = [0_i64; 2];
    for (a, b) in rows {
        for (&a, &b) in a.iter().zip(b) {
            let [coarse, fine] = units.cut(a.to_f64() * b.to_f64());
            sums[0] += coarse;
            sums[1] += fine;
        }
    }
    let mut words = sums.map(|sum| sum as u64);
    world.reduce(&mut words, Reduction::Sum)?;
    Ok(units.join(words.map(|word| word as i64)))
}

/// The sum over all nodes of all ranks. *Collective.*
///
/// # Errors
/// Communication.
pub fn sum<'r, T: Real>(
    world: &dyn World,
    nodes: usize,
    rows: impl Iterator<Item = &'r [T]> + Clone,
) -> Result<f64, GridError> {
    let longest = rows.clone().map(<[T]>::len).max().unwrap_or(0);
    let ones = vec![T::ONE; longest];
    dot(world, nodes, rows.map(|row| (row, &ones[..row.len()])))
}

/// Of the sizes of `a b`; not a number if one is none.
fn largest_product<T: Real>(a: &[T], b: &[T]) -> f64 {
    let products = a.iter().zip(b).map(|(&a, &b)| (a.to_f64() * b.to_f64()).abs());
    products.fold(0.0, |largest, product| if product <= largest { largest } else { product })
}

/// The units of the two integers.
#[derive(Debug, Clone, Copy)]
struct Units {
    /// Terms per unit of the coarse integers.
    per_coarse: f64,
    coarse: f64,
    /// Fine units in a coarse one, as a power of two.
    fine_bits: i32,
}

impl Units {
    /// So that `nodes` terms of at most `largest` fit into 63 bits.
    fn above(largest: f64, nodes: usize) -> Self {
        let node_bits = (usize::BITS - nodes.leading_zeros()) as i32;
        let coarse_bits = BITS - node_bits;
        // Subnormal numbers have the exponent of the smallest normal one, which is above them.
        let exponent = ((largest.to_bits() >> 52) as i32 - 1022).max(-960);
        let unit = exponent - coarse_bits;
        Self { per_coarse: power_of_two(-unit), coarse: power_of_two(unit), fine_bits: coarse_bits.min(30) }
    }

    #[inline]
    fn cut(self, term: f64) -> [i64; 2] {
        let scaled = term * self.per_coarse;
        let coarse = scaled.trunc();
        let fine = ((scaled - coarse) * power_of_two(self.fine_bits)).trunc();
        [coarse as i64, fine as i64]
    }

    fn join(self, [coarse, fine]: [i64; 2]) -> f64 {
        let all = (i128::from(coarse) << self.fine_bits) + i128::from(fine);
        all as f64 * power_of_two(-self.fine_bits) * self.coarse
    }
}

/// 2 to a power between those of the smallest and the largest normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    /// Numbers of very different sizes, without order.
    fn numbers() -> Vec<f64> {
        let number = |index: u64| {
            let bits = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 10f64.powi((bits % 13) as i32 - 6)
        };
        (0..1000).map(number).collect()
    }

    fn on_ranks(ranks: usize, numbers: &[f64]) -> f64 {
        let share = numbers.len().div_ceil(ranks);
        let ended = local::run(ranks, Duration::from_secs(60), |world| {
            let own = numbers.chunks(share).nth(world.rank()).unwrap_or_default();
            sum(world, numbers.len(), own.chunks(7)).unwrap()
        });
        let all: Vec<f64> = ended.into_iter().map(Result::unwrap).collect();
        assert!(all.iter().all(|sum| sum.to_bits() == all[0].to_bits()));
        all[0]
    }

    #[test]
    fn the_sum_is_right_and_has_the_same_bits_on_any_number_of_ranks() {
        let numbers = numbers();
        let alone = on_ranks(1, &numbers);
        let mut sorted = numbers.clone();
        sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let plain: f64 = sorted.iter().sum();
        assert!((alone - plain).abs() < 1e-12 * plain.abs().max(1e5), "{alone} {plain}");
        for ranks in 2..=5 {
            assert_eq!(on_ranks(ranks, &numbers).to_bits(), alone.to_bits());
        }
    }

    #[test]
    fn extremes() {
        assert_eq!(on_ranks(2, &[0.0, -0.0, 0.0]), 0.0);
        assert_eq!(on_ranks(2, &[1e300, 1e300, -1e300]), 1e300);
        assert_eq!(on_ranks(2, &[1e-300, 2e-300, -1e-300]), 2e-300);
        assert!(on_ranks(2, &[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(on_ranks(2, &[1.0, f64::INFINITY, 2.0]), f64::INFINITY);
        // What is cut off is below 2^-60 of the largest term.
        assert!((on_ranks(3, &[1.0, 1e-17, -1.0]) - 1e-17).abs() < 0.5f64.powi(60) * 1e-6);
    }
}
