//! Sums whose result does not depend on the order of their terms.
//!
//! A floating-point sum rounds after each addition, so a sum over particles differs with the number of ranks. Here each
//! term is rounded once, to a multiple of 2^-64, and added as an integer: exact and associative. Advantage: initial
//! states are bit-identical on any number of ranks. Disadvantage: the sum must stay below 2^63, which sums of
//! velocities, masses and energies in reduced units do by far; beyond, it stays at the limit.

/// An exact sum of numbers of moderate size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExactSum(i128);

const SCALE: f64 = 18_446_744_073_709_551_616.0;

impl ExactSum {
    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        self.0 = self.0.saturating_add((term * SCALE) as i128);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// The sum as a number.
    pub fn value(self) -> f64 {
        self.0 as f64 / SCALE
    }

    /// For sending.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// From [`ExactSum::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(i128::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter() {
        let terms: Vec<f64> =
            (0..1000).map(|i| (f64::from(i) * 0.7311).sin() * 10f64.powi(i % 7 - 3)).collect();
        let sum = |order: &mut dyn Iterator<Item = &f64>| {
            let mut sum = ExactSum::default();
            order.for_each(|&term| sum.add(term));
            sum
        };
        let forward = sum(&mut terms.iter());
        assert_eq!(forward, sum(&mut terms.iter().rev()));
        assert!((forward.value() - terms.iter().sum::<f64>()).abs() < 1e-9);
        assert_eq!(ExactSum::from_bytes(forward.to_bytes()), forward);
    }
}
