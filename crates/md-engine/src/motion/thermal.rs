//! Thermal motion of all particles, from which the temperature is computed: the motion about the
//! velocity of the whole system, if that is conserved.

use md_comm::World;
use md_core::force::Summation;
use md_core::momentum::{MotionSums, twice_kinetic_about};
use md_core::quantum::LARGEST_TOTAL;
use md_core::{ConservedMomentum, Particles};

use crate::error::EngineError;

/// Motion of all particles about that of the whole system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Thermal {
    /// Velocity of the whole system, or zero if it is negligible or not conserved.
    pub(crate) drift: [f64; 3],
    /// Sum of m v^2 about this velocity.
    pub(crate) twice_kinetic: f64,
}

impl Thermal {
    /// Adds up the particles of all ranks. *Collective.*
    pub(crate) fn of(
        particles: &Particles,
        masses: &[f64],
        conserved: ConservedMomentum,
        summation: Summation,
        world: &dyn World,
    ) -> Result<Self, EngineError> {
        /// Fraction of the total kinetic energy that is only the rounding error of a common
        /// velocity of all particles.
        const ROUNDING: f64 = 1e-20;
        let mut values = MotionSums::of(particles, masses, summation).to_array();
        world.sum(&mut values)?;
        let sums = MotionSums::from_array(values);
        let drift = conserved.drift(&sums);
        if drift == [0.0; 3] {
            return Ok(Self { drift, twice_kinetic: sums.twice_kinetic });
        }
        let mut about = [twice_kinetic_about(drift, particles, masses, summation)];
        world.sum(&mut about)?;
        let [twice_kinetic] = about.map(|sum| if sum > ROUNDING * sums.twice_kinetic { sum } else { 0.0 });
        Ok(Self { drift, twice_kinetic })
    }

    /// Returns these sums unless they shall be exact and are too large for that.
    pub(crate) fn if_exact(self, summation: Summation, step: u64) -> Result<Self, EngineError> {
        let (what, size, most) = ("twice the kinetic energy", self.twice_kinetic, LARGEST_TOTAL);
        match summation {
            Summation::Exact if size >= most => Err(EngineError::Inexact { step, what, size, most }),
            Summation::Exact | Summation::Rounded => Ok(self),
        }
    }
}
