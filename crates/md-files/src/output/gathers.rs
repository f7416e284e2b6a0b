//! Data that rank 0 gathers for outputs, and the memory that it takes.

use md_engine::Setup;
use md_scenario::Scenario;

use super::trajectory::format_of;

/// Data that rank 0 gathers and writes as text, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathers {
    /// Nothing.
    Nothing,
    /// The frames of a trajectory.
    Frames,
    /// The forces on all particles.
    Forces,
}

impl Gathers {
    /// Returns what a run gathers.
    pub fn of_run(scenario: &Scenario) -> Self {
        let stages = scenario.stage.iter().filter_map(|stage| stage.output.as_ref()?.trajectory.as_ref());
        let trajectories = stages.chain(&scenario.output.trajectory);
        let gathered = trajectories.filter_map(|it| Some(format_of(&it.path)?.0.gathers));
        gathered.fold(Self::Nothing, |all, one| if all == Self::Nothing { one } else { all })
    }

    /// Returns the bytes needed on rank 0 in addition to what every rank needs, as measured:
    /// messages, ordered rows, and their text.
    pub fn bytes(self, setup: &Setup) -> f64 {
        const FRAME: f64 = 420.0;
        const FORCES: f64 = 240.0;
        let per_particle = match self {
            Self::Nothing => 0.0,
            Self::Frames => FRAME,
            Self::Forces => FORCES,
        };
        per_particle * setup.atoms() as f64
    }
}
