//! Weak coupling (Berendsen et al., J. Chem. Phys. 81, 3684 (1984)): the temperature relaxes
//! towards the target. Fast and smooth, for equilibration; the fluctuations are those of no
//! ensemble.

use super::scaling::{Moment, Scaled, ScalingRule, Timing};
use super::{KeyFault, Keys, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of the Berendsen thermostat.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct BerendsenKeys {
    /// Temperature to approach: a number, or `{ from, to }` over the run or stage.
    pub temperature: Temperature,
    /// Time in which the difference from the target temperature falls to 1/e, in tau.
    pub relaxation: f64,
    /// Steps between two actions of the thermostat; derived from the relaxation time if omitted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: Option<u64>,
}

impl Keys for BerendsenKeys {
    type Built = Scaled;

    fn temperature(&self) -> Option<Temperature> {
        Some(self.temperature)
    }

    fn check(&self) -> Result<(), KeyFault> {
        self.temperature.check()?;
        KeyFault::unless_positive("relaxation", self.relaxation)?;
        KeyFault::unless_at_least_one("every", self.every)
    }

    fn build(self, system: &System) -> Result<Scaled, EngineError> {
        let timing = Timing::new(self.temperature, self.every, self.relaxation, system);
        timing.expect_longer(self.relaxation, system)?;
        Ok(Scaled::new(Berendsen { relaxation: self.relaxation }, &timing, system))
    }
}

#[derive(Debug)]
struct Berendsen {
    relaxation: f64,
}

impl ScalingRule for Berendsen {
    /// Equation 11 of the paper.
    fn factor(&mut self, now: &Moment) -> f64 {
        (1.0 + now.span / self.relaxation * (now.twice_wanted / now.twice_kinetic - 1.0)).sqrt()
    }
}
