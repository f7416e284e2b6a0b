//! Canonical sampling by velocity rescaling (Bussi, Donadio and Parrinello, J. Chem. Phys. 126,
//! 014101 (2007)): the kinetic energy relaxes towards that of the temperature and fluctuates as in
//! the canonical ensemble.

use md_core::random;

use super::scaling::{Moment, Scaled, ScalingRule, Timing};
use super::{KeyFault, Keys, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of stochastic velocity rescaling.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct CsvrKeys {
    /// Temperature to sample: a number, or `{ from, to }` over the run or stage.
    pub temperature: Temperature,
    /// Correlation time of the kinetic energy, in tau.
    pub relaxation: f64,
    /// Steps between two actions of the thermostat; derived from the relaxation time if omitted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: Option<u64>,
}

impl Keys for CsvrKeys {
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
        let rule = Csvr { relaxation: self.relaxation, seed: system.seed };
        Ok(Scaled::new(rule, &timing, system))
    }
}

#[derive(Debug)]
struct Csvr {
    relaxation: f64,
    seed: u64,
}

impl ScalingRule for Csvr {
    /// Equation A7 of the paper, with the sign of the root as in its note.
    fn factor(&mut self, now: &Moment) -> f64 {
        let decay = (-now.span / self.relaxation).exp();
        let drawn = random::thermostat_draw(self.seed, now.step, now.degrees - 1.0);
        let share = (1.0 - decay) * now.twice_wanted / (now.degrees * now.twice_kinetic);
        let root = decay.sqrt() + drawn.normal * share.sqrt();
        // The expression c + 2 R sqrt(c s) + s R^2 is a square.
        (root * root + share * drawn.squares).sqrt().copysign(root)
    }
}
