//! Global sums over all nodes whose bits do not depend on the decomposition.
//!
//! A floating-point sum rounds after each addition, so the result depends on the order of the
//! terms. Everything computed from it does too: a conjugate gradient solver would give different
//! bits on each number of ranks. Here the ranks first agree on a power of two above the largest
//! term. Each term is then split into multiples of a coarse, a finer and a finest unit, which are
//! large enough for the sum of each to be exact in any order (after Demmel and Nguyen, "Parallel
//! Reproducible Summation", 2015):
//!
//! ```text
//! multiple = (term + 1.5 2^52 unit) - 1.5 2^52 unit
//! rounded to the unit, because the last bit of the sum is one unit
//! ```
//!
//! The discarded remainder is below 2^-60 of the largest term, for up to 2^32 nodes.

use md_comm::{Reduction, World};

use crate::{GridError, Real};

/// Reductions per global sum: the largest term, then the parts of the sum.
pub(crate) const REDUCTIONS: usize = 2;

/// Returns the sum of `a b` over all nodes of all ranks. `rows` yields pairs of rows; `nodes` is
/// the global number of nodes. *Collective.*
///
/// # Errors
/// Communication.
pub fn dot<'r, T: Real>(
    world: &dyn World,
    nodes: usize,
    rows: impl Iterator<Item = (&'r [T], &'r [T])> + Clone,
) -> Result<f64, GridError> {
    let largest = |row: (&[T], &[T])| largest_product(row.0, row.1);
    // The bits of non-negative numbers are ordered like the numbers; NaN is above all of them.
    let mut bits = [rows.clone().map(|row| largest(row).to_bits()).max().unwrap_or(0)];
    world.reduce(&mut bits, Reduction::Highest)?;
    let largest = f64::from_bits(bits[0]);
    if largest == 0.0 || !largest.is_finite() {
        return Ok(largest);
    }
    let levels = Levels::above(largest, nodes);
    let mut sums = [[0.0; LANES]; LEVELS];
    rows.for_each(|(a, b)| levels.add(a, b, &mut sums));
    let mut words = levels.units(sums).map(|sum| sum as u64);
    world.reduce(&mut words, Reduction::Sum)?;
    Ok(levels.join(words.map(|word| word as i64)))
}

/// Returns the sum over all nodes of all ranks. *Collective.*
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

/// Returns the largest |`a b`|, or NaN if any product is NaN.
fn largest_product<T: Real>(a: &[T], b: &[T]) -> f64 {
    // NaN is kept.
    let larger = |largest: f64, product: f64| {
        if product > largest || product.is_nan() { product } else { largest }
    };
    let mut lanes = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest = rest.map(|(&a, &b)| (a.to_f64() * b.to_f64()).abs()).fold(0.0, larger);
    for (a, b) in a_chunks.zip(b_chunks) {
        for (lane, largest) in lanes.iter_mut().enumerate() {
            *largest = larger(*largest, (a[lane].to_f64() * b[lane].to_f64()).abs());
        }
    }
    lanes.into_iter().fold(rest, larger)
}

/// Number of terms added in parallel, in whole vectors.
const LANES: usize = 8;

/// Number of units.
const LEVELS: usize = 3;

/// Maximum number of bits of a term in multiples of the coarse unit, so that all levels together
/// fit into 128 bits.
const MOST_BITS: i32 = 36;

/// Scale and units by which terms are split.
#[derive(Debug, Clone, Copy)]
struct Levels {
    /// Factor that brings the largest term just below 1.
    scale: f64,
    exponent: i32,
    /// Bits of a term in multiples of the coarse unit, which is 2^-bits. Each further unit is
    /// 2^(bits + 1) times finer than the one before.
    bits: i32,
}

impl Levels {
    /// Returns the units for which sums of `nodes` terms of at most `largest` are exact.
    fn above(largest: f64, nodes: usize) -> Self {
        let node_bits = (usize::BITS - nodes.leading_zeros()) as i32;
        // Subnormal numbers have the exponent of the smallest normal one, which is above them.
        let exponent = ((largest.to_bits() >> 52) as i32 - 1022).max(-960);
        Self { scale: power_of_two(-exponent), exponent, bits: (52 - node_bits).min(MOST_BITS) }
    }

    /// Returns the number of units per 1, as powers of two.
    fn units_per_one(self) -> [i32; LEVELS] {
        [self.bits, 2 * self.bits + 1, 3 * self.bits + 2]
    }

    /// Adds the products of two rows.
    fn add<T: Real>(self, a: &[T], b: &[T], sums: &mut [[f64; LANES]; LEVELS]) {
        let rounders = self.units_per_one().map(|bits| 1.5 * power_of_two(52 - bits));
        let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        let mut rests = [[0.0; LANES]; 2];
        for (lane, (a, b)) in a_chunks.remainder().iter().zip(b_chunks.remainder()).enumerate() {
            (rests[0][lane], rests[1][lane]) = (a.to_f64(), b.to_f64());
        }
        let mut add = |terms: [f64; LANES]| {
            let mut terms = terms;
            for (sums, rounder) in sums.iter_mut().zip(rounders) {
                for (sum, term) in sums.iter_mut().zip(&mut terms) {
                    let multiple = (*term + rounder) - rounder;
                    *sum += multiple;
                    *term -= multiple;
                }
            }
        };
        for (a, b) in a_chunks.zip(b_chunks) {
            add(std::array::from_fn(|lane| a[lane].to_f64() * b[lane].to_f64() * self.scale));
        }
        let [a, b] = rests;
        add(std::array::from_fn(|lane| a[lane] * b[lane] * self.scale));
    }

    /// Returns the sums in their units: whole numbers below 2^53.
    fn units(self, sums: [[f64; LANES]; LEVELS]) -> [i64; LEVELS] {
        let mut bits = self.units_per_one().into_iter();
        sums.map(|lanes| {
            let per_one = power_of_two(bits.next().unwrap_or_default());
            lanes.into_iter().map(|sum| (sum * per_one) as i64).sum()
        })
    }

    fn join(self, units: [i64; LEVELS]) -> f64 {
        let all = units.into_iter().fold(0, |sum, units| (sum << (self.bits + 1)) + i128::from(units));
        all as f64 * power_of_two(-self.units_per_one()[LEVELS - 1]) * power_of_two(self.exponent)
    }
}

/// Returns 2 to a power, clamped to the range of normal numbers.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    /// Numbers of very different magnitudes in random order.
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
        for place in [0, 1, 11, 17, 19] {
            let mut numbers = [1.0; 20];
            numbers[place] = f64::NAN;
            assert!(on_ranks(2, &numbers).is_nan());
        }
        assert_eq!(on_ranks(2, &[1.0, f64::INFINITY, 2.0]), f64::INFINITY);
        // The discarded remainder is below 2^-60 of the largest term.
        assert!((on_ranks(3, &[1.0, 1e-17, -1.0]) - 1e-17).abs() < 0.5f64.powi(60) * 1e-6);
    }
}
