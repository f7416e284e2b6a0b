//! Plain rescaling: velocities are scaled to the exact target temperature every `every` steps.

use super::scaling::{Moment, Scaled, ScalingRule, Timing};
use super::{KeyFault, Keys, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of plain rescaling.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct RescaleKeys {
    /// Target temperature: a number, or `{ from, to }` over the run or stage.
    pub temperature: Temperature,
    /// Steps between two rescalings.
    #[cfg_attr(feature = "serde", serde(default = "ten"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: u64,
}

#[cfg(feature = "serde")]
fn ten() -> u64 {
    10
}

impl Keys for RescaleKeys {
    type Built = Scaled;

    fn temperature(&self) -> Option<Temperature> {
        Some(self.temperature)
    }

    fn check(&self) -> Result<(), KeyFault> {
        self.temperature.check()?;
        KeyFault::unless_at_least_one("every", Some(self.every))
    }

    fn build(self, system: &System) -> Result<Scaled, EngineError> {
        let timing = Timing { temperature: self.temperature, interval: self.every };
        Ok(Scaled::new(Rescale, &timing, system))
    }
}

#[derive(Debug)]
struct Rescale;

impl ScalingRule for Rescale {
    fn factor(&mut self, now: &Moment) -> f64 {
        (now.twice_wanted / now.twice_kinetic).sqrt()
    }
}
