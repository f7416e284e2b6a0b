//! Sums that do not depend on the order of their terms.
//!
//! A floating-point sum rounds after each addition, so a sum over particles depends on the number
//! of ranks. Here each term is rounded once, to a multiple of 2^-64, and added as an integer, which
//! is exact and associative. Advantage: initial states are bit-identical on any number of ranks.
//! Disadvantage: terms and sums must stay below 2^63. Sums of velocities, masses and energies in
//! reduced units are far below this limit. If it is exceeded or a term is NaN, the sum has no
//! value.

/// An exact sum of numbers of moderate size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactSum(Option<i128>);

const SCALE: f64 = 18_446_744_073_709_551_616.0;
const LIMB_BITS: u32 = 32;

/// Digits of a sum in base 2^32, lowest first; the highest includes the sign. Those of up to 2^21
/// sums can be added as numbers, in any order, without rounding.
pub type Limbs = [f64; 4];

impl Default for ExactSum {
    fn default() -> Self {
        Self(Some(0))
    }
}

impl ExactSum {
    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        let scaled = term * SCALE;
        let can_be_held = scaled.abs() < i128::MAX as f64;
        self.0 = self.0.filter(|_| can_be_held).and_then(|sum| sum.checked_add(scaled as i128));
    }

    /// Returns the sum as a number, or `None` if it has no value.
    pub fn value(self) -> Option<f64> {
        self.0.map(|sum| sum as f64 / SCALE)
    }

    /// Returns digits that can be added over ranks; NaN if the sum has no value.
    pub fn limbs(self) -> Limbs {
        let limb = |sum: i128, index: u32| {
            let shifted = sum >> (LIMB_BITS * index);
            (if index == 3 { shifted } else { shifted & i128::from(u32::MAX) }) as f64
        };
        [0, 1, 2, 3].map(|index| self.0.map_or(f64::NAN, |sum| limb(sum, index)))
    }

    /// Creates a sum from added-up results of [`ExactSum::limbs`].
    pub fn from_limbs(limbs: Limbs) -> Self {
        let add = |sum: i128, (limb, index): (f64, u32)| {
            let value = Some(limb as i128).filter(|_| limb.is_finite())?;
            sum.checked_add(value.checked_mul(1 << (LIMB_BITS * index))?)
        };
        Self(limbs.into_iter().zip(0..).try_fold(0, add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of<'a>(terms: impl Iterator<Item = &'a f64>) -> ExactSum {
        let mut sum = ExactSum::default();
        terms.for_each(|&term| sum.add(term));
        sum
    }

    /// Adds up sums in the way ranks do.
    fn over_ranks(sums: &[ExactSum]) -> ExactSum {
        ExactSum::from_limbs([0, 1, 2, 3].map(|index| sums.iter().map(|sum| sum.limbs()[index]).sum()))
    }

    #[test]
    fn order_and_division_do_not_matter() {
        let terms: Vec<f64> =
            (0..1000).map(|i| (f64::from(i) * 0.7311).sin() * 10f64.powi(i % 7 - 3)).collect();
        let forward = sum_of(terms.iter());
        assert_eq!(forward, sum_of(terms.iter().rev()));
        assert!((forward.value().unwrap() - terms.iter().sum::<f64>()).abs() < 1e-9);
        for ranks in [1, 3, 7, 1000] {
            let sums: Vec<ExactSum> =
                terms.chunks(terms.len().div_ceil(ranks)).map(|of| sum_of(of.iter())).collect();
            assert_eq!(over_ranks(&sums), forward, "{ranks}");
        }
    }

    #[test]
    fn what_cannot_be_summed_is_no_number() {
        for terms in [[f64::NAN, 1.0], [1.0, f64::INFINITY], [1e300, -1e300], [2e19, -2e19], [9e18, 9e18]] {
            assert_eq!(sum_of(terms.iter()).value(), None, "{terms:?}");
            let of_two = over_ranks(&terms.map(|term| sum_of([term].iter())));
            assert_eq!(of_two.value(), None, "{terms:?}");
        }
        let large = sum_of([-9e18].iter());
        assert_eq!(over_ranks(&[large]).value(), Some(-9e18));
        assert_eq!(over_ranks(&[large, sum_of([9e18, -0.5].iter())]).value(), Some(-0.5));
    }
}
