//! Number types of fields.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use bytemuck::Pod;

/// `f32` or `f64`.
///
/// ```
/// use md_grid::Real;
///
/// /// One code for both precisions.
/// fn sum<T: Real>(values: &[T]) -> T {
///     values.iter().fold(T::ZERO, |sum, &value| sum + value)
/// }
///
/// assert_eq!(sum(&[0.5_f32, 0.25]), 0.75);
/// assert_eq!(sum(&[0.5_f64, 0.25]), 0.75);
/// // f32 has 24 bits.
/// assert_eq!(f32::from_f64(2f64.powi(24) + 1.0).to_f64(), 2f64.powi(24));
/// ```
pub trait Real:
    Pod
    + Debug
    + Default
    + Display
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + MulAssign
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// Converts to this type, rounding to the nearest number.
    fn from_f64(value: f64) -> Self;

    /// Converts to `f64` exactly.
    fn to_f64(self) -> f64;

    /// Returns the absolute value.
    #[must_use]
    fn abs(self) -> Self;
}

macro_rules! real {
    ($kind:ty) => {
        impl Real for $kind {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline]
            #[allow(
                clippy::allow_attributes,
                clippy::cast_lossless,
                reason = "one of the two kinds needs the cast"
            )]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline]
            fn abs(self) -> Self {
                <$kind>::abs(self)
            }
        }
    };
}

real!(f32);
real!(f64);
