//! Symmetric tensors in space: virials, momentum fluxes, pressures.

use std::ops::{Add, AddAssign, Mul};

/// A symmetric tensor with the components xx, yy, zz, xy, xz, yz.
///
/// ```
/// use md_core::SymmetricTensor;
///
/// // The virial r f of two particles that repel each other along the diagonal of the xy plane.
/// let virial = SymmetricTensor::product([1.0, 1.0, 0.0], [12.0, 12.0, 0.0]);
/// assert_eq!(virial.0, [12.0, 12.0, 0.0, 12.0, 0.0, 0.0]);
/// // Its trace is the scalar product.
/// assert_eq!(virial.trace(), 24.0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SymmetricTensor(pub [f64; Self::LEN]);

impl SymmetricTensor {
    /// Number of components.
    pub const LEN: usize = 6;

    /// Returns the product a b of two parallel vectors.
    pub fn product(a: [f64; 3], b: [f64; 3]) -> Self {
        Self([a[0] * b[0], a[1] * b[1], a[2] * b[2], a[0] * b[1], a[0] * b[2], a[1] * b[2]])
    }

    /// Returns a diagonal tensor.
    pub fn diagonal([x, y, z]: [f64; 3]) -> Self {
        Self([x, y, z, 0.0, 0.0, 0.0])
    }

    /// Returns xx + yy + zz.
    pub fn trace(&self) -> f64 {
        self.0[0] + self.0[1] + self.0[2]
    }
}

impl AddAssign for SymmetricTensor {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, term)| *sum += term);
    }
}

impl Add for SymmetricTensor {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Mul<f64> for SymmetricTensor {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self(self.0.map(|component| component * factor))
    }
}
