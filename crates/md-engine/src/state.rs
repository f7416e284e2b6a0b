//! What a simulation carries from step to step: on each rank its particles, and what all ranks have alike.

use md_core::{Domain, Particles};

use crate::barostat::BoxCoupling;
use crate::error::EngineError;
use crate::integrator::Integrate;
use crate::setup::Setup;

/// The state of one rank.
#[derive(Debug)]
pub struct State {
    /// Particles of this rank, with all registered fields, image counts among them.
    pub particles: Particles,
    /// The global box.
    pub domain: Domain,
    /// The integrator and its own state.
    pub integrator: Box<dyn Integrate>,
    /// What changes the box, if something does.
    pub(crate) barostat: Option<BoxCoupling>,
    /// Steps made.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
}

impl State {
    /// At step 0.
    pub(crate) fn new(particles: Particles, setup: &Setup) -> Result<Self, EngineError> {
        let config = &setup.config;
        let integrator = config.integrator.build(setup)?;
        let barostat = config.barostat.map(|keys| BoxCoupling::new(keys, config));
        Ok(Self { particles, domain: setup.domain, integrator, barostat, step: 0, time: 0.0 })
    }
}
