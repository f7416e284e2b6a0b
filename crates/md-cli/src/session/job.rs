//! What the session has to know of a scenario to start its ranks.

use md_comm::World;

use crate::args::ScenarioArgs;
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::scenario::Parallel;

/// The inputs of a command that runs on ranks.
pub(crate) trait Job: Sync + Sized {
    /// Reads them: in a process of its own, or on the first rank of a world for all. *Collective* then.
    ///
    /// # Errors
    /// An unreadable file, a fault in it, the same on all ranks; communication.
    fn read(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError>;

    /// What starts and moves messages.
    fn parallel(&self) -> Parallel;

    /// Takes another number of threads per rank.
    fn set_threads(&mut self, threads: usize);
}

impl Job for Inputs {
    fn read(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError> {
        world.map_or_else(|| Self::read(args), |world| Self::read_on_first_rank(args, world))
    }

    fn parallel(&self) -> Parallel {
        self.scenario.parallel.clone()
    }

    fn set_threads(&mut self, threads: usize) {
        self.scenario.parallel.threads = threads;
    }
}
