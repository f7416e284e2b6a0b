//! Nose-Hoover chains (Martyna, Klein and Tuckerman, J. Chem. Phys. 97, 2635 (1992)):
//! deterministic, canonical.
//!
//! A friction `xi_1` with mass `Q_1` follows the kinetic energy, a second one follows the first,
//! and so on. With g degrees of freedom `Q_1` = g kT tau^2 and `Q_i` = kT tau^2, where kT is the
//! initial one. The conserved quantity is
//!
//! ```text
//! H + sum of Q_i xi_i^2 / 2 + integral of (g kT xi_1 + kT xi_2 + ... + kT xi_M) dt
//! ```
//!
//! The integral is g kT `eta_1` + sum of kT `eta_i` at constant temperature, and remains valid
//! along a ramp. The chain is integrated as in Martyna, Tuckerman, Tobias and Klein, Mol. Phys. 87,
//! 1117 (1996), for all steps since the last action at once (their XO-RESPA): only the kinetic
//! energy enters the chain, so that its short steps cost nothing.

use md_core::TotalMomentum;

use super::scaling::{Moment, Scaled, ScalingRule, Timing};
use super::{KeyFault, Keys, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of a Nose-Hoover chain.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct NoseHooverKeys {
    /// Temperature to sample: a number, or `{ from, to }` over the run or stage.
    pub temperature: Temperature,
    /// Time tau in which the temperature oscillates, like LAMMPS's damping parameter, in tau.
    pub relaxation: f64,
    /// Number of thermostats in the chain.
    #[cfg_attr(feature = "serde", serde(default = "three"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 20)))]
    pub chain: u32,
    /// Steps between two actions of the thermostat; derived from the relaxation time if omitted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: Option<u64>,
}

#[cfg(feature = "serde")]
fn three() -> u32 {
    3
}

impl Keys for NoseHooverKeys {
    type Built = Scaled;

    fn temperature(&self) -> Option<Temperature> {
        Some(self.temperature)
    }

    fn check(&self) -> Result<(), KeyFault> {
        const LONGEST: u32 = 20;
        self.temperature.check()?;
        let [first, _] = self.temperature.ends();
        if first == 0.0 {
            let problem = "must begin above 0: the masses of the chain are proportional to it".to_owned();
            return Err(KeyFault { key: "temperature", problem });
        }
        KeyFault::unless_positive("relaxation", self.relaxation)?;
        if !(1..=LONGEST).contains(&self.chain) {
            let problem = format!("must be from 1 to {LONGEST}, found {}", self.chain);
            return Err(KeyFault { key: "chain", problem });
        }
        KeyFault::unless_at_least_one("every", self.every)
    }

    fn build(self, system: &System) -> Result<Scaled, EngineError> {
        let timing = Timing::new(self.temperature, self.every, self.relaxation, system);
        timing.expect_longer(self.relaxation, system)?;
        let [temperature, _] = self.temperature.ends();
        let mass = temperature * self.relaxation * self.relaxation;
        let mut links = vec![Link { friction: 0.0, mass }; self.chain as usize];
        links[0].mass *= system.degrees_of_freedom(TotalMomentum::Conserved) as f64;
        Ok(Scaled::new(NoseHoover { links, absorbed: 0.0 }, &timing, system))
    }
}

#[derive(Debug, Clone, Copy)]
struct Link {
    /// xi, \[1 / time\].
    friction: f64,
    /// Q, \[energy time^2\].
    mass: f64,
}

#[derive(Debug)]
struct NoseHoover {
    links: Vec<Link>,
    /// Integral term of the conserved quantity.
    absorbed: f64,
}

impl NoseHoover {
    /// Advances the friction of link `k` by `time`, damped by the next link.
    fn push(&mut self, k: usize, time: f64, twice_kinetic: f64, now: &Moment) {
        let damping = self.links.get(k + 1).map_or(1.0, |next| (-0.5 * time * next.friction).exp());
        let surplus = match k.checked_sub(1).map(|before| self.links[before]) {
            None => twice_kinetic - now.twice_wanted,
            Some(before) => before.mass * before.friction * before.friction - now.temperature,
        };
        let link = &mut self.links[k];
        link.friction = (link.friction * damping + time * surplus / link.mass) * damping;
    }
}

impl ScalingRule for NoseHoover {
    fn factor(&mut self, now: &Moment) -> f64 {
        /// Short steps of the chain per action: their error is far below that of the particles'
        /// steps.
        const SHORT_STEPS: u32 = 8;
        let short = now.span / f64::from(SHORT_STEPS);
        let mut factor = 1.0;
        for _ in 0..SHORT_STEPS {
            let twice_kinetic = factor * factor * now.twice_kinetic;
            (0..self.links.len()).rev().for_each(|k| self.push(k, 0.5 * short, twice_kinetic, now));
            factor *= (-short * self.links[0].friction).exp();
            let (first, others) = (self.links[0].friction, &self.links[1..]);
            let others: f64 = others.iter().map(|link| link.friction).sum();
            self.absorbed += short * (now.twice_wanted * first + now.temperature * others);
            let twice_kinetic = factor * factor * now.twice_kinetic;
            (0..self.links.len()).for_each(|k| self.push(k, 0.5 * short, twice_kinetic, now));
        }
        factor
    }

    fn own_energy(&self) -> Option<f64> {
        let moving = self.links.iter().map(|link| 0.5 * link.mass * link.friction * link.friction);
        Some(moving.sum::<f64>() + self.absorbed)
    }

    fn memory(&self) -> Vec<f64> {
        let mut words = vec![self.absorbed];
        words.extend(self.links.iter().map(|link| link.friction));
        words
    }

    fn recall(&mut self, words: &[f64]) -> bool {
        let Some((absorbed, frictions)) = words.split_first() else { return false };
        self.absorbed = *absorbed;
        self.links.iter_mut().zip(frictions).for_each(|(link, friction)| link.friction = *friction);
        frictions.len() == self.links.len()
    }
}
