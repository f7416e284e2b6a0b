//! Velocity Verlet (Swope et al. 1982): half kick and drift before the forces, half kick after
//! them. The loops are in [`md_core::integrate`].

use md_core::integrate::{HalfKicks, VelocityVerlet};

use super::{Completion, Integrate, KeyFault, Keys, Motion, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of velocity Verlet: none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct VelocityVerletKeys {}

impl Keys for VelocityVerletKeys {
    type Built = VelocityVerlet;

    fn temperature(&self) -> Option<Temperature> {
        None
    }

    fn check(&self) -> Result<(), KeyFault> {
        Ok(())
    }

    fn build(self, system: &System) -> Result<VelocityVerlet, EngineError> {
        Ok(system.verlet())
    }
}

impl Integrate for VelocityVerlet {
    fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError> {
        self.kick_and_drift(half_kicks, motion.particles, motion.domain, motion.threads);
        Ok(())
    }

    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        self.kick(motion.particles, motion.threads);
        Ok(())
    }

    fn completion(&self) -> Completion {
        Completion::Deferred
    }
}
