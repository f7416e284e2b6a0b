//! The parameters of one pair of species.

use std::ops::RangeInclusive;

/// Depth and diameter of one pair's potential well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Well {
    /// Depth, \[energy\].
    pub epsilon: f64,
    /// Distance at which the uncut potential is zero, \[length\].
    pub sigma: f64,
}

impl Well {
    /// Depths, other than 0, for which constants (including mixed ones) and pair terms neither
    /// overflow nor underflow.
    pub const EPSILONS: RangeInclusive<f64> = 1e-50..=1e50;
    /// Diameters for which constants and pair terms neither overflow nor underflow.
    pub const SIGMAS: RangeInclusive<f64> = 1e-15..=1e15;

    pub(super) fn is_in_range(self) -> bool {
        let Self { epsilon, sigma } = self;
        (epsilon == 0.0 || Self::EPSILONS.contains(&epsilon.abs())) && Self::SIGMAS.contains(&sigma)
    }
}
