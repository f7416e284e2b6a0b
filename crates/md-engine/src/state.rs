//! State of a simulation between steps: on each rank its particles, and data that are the same on
//! all ranks.

use md_core::integrate::HalfKicks;
use md_core::{Domain, Particles};

use crate::error::EngineError;
use crate::motion::barostat::BoxCoupling;
use crate::motion::integrator::Integrate;
use crate::setup::Setup;

/// State of one rank.
#[derive(Debug)]
pub struct State {
    /// Particles of this rank, with all registered fields, image counts among them.
    pub particles: Particles,
    /// Global box.
    pub domain: Domain,
    /// Integrator with its own state.
    pub integrator: Box<dyn Integrate>,
    /// Barostat, if any.
    pub(crate) barostat: Option<BoxCoupling>,
    /// Number of steps made.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
    /// Time of step 0, had all steps been as long as the present one, \[time\].
    pub(crate) time_at_start: f64,
    /// Half kicks at the start of the next step; if fused, velocities are a half kick behind.
    pub(crate) half_kicks: HalfKicks,
}

impl State {
    /// Creates the state at step 0.
    pub(crate) fn new(particles: Particles, setup: &Setup) -> Result<Self, EngineError> {
        let config = &setup.config;
        let integrator = config.integrator.build(setup)?;
        let barostat = config.barostat.map(|keys| BoxCoupling::new(keys, &setup.system()));
        Ok(Self {
            particles,
            domain: setup.domain,
            integrator,
            barostat,
            step: 0,
            time: 0.0,
            time_at_start: 0.0,
            half_kicks: HalfKicks::Single,
        })
    }
}
