//! A simulation that goes on from a checkpoint.

use md_comm::World;
use md_core::rebuild::RebuildHistory;
use md_core::{Particles, memory};

use crate::balance::{BalanceReport, saved};
use crate::checkpoint::{AtCheckpoint, Carried, Continuation, Restored, Shared};
use crate::error::EngineError;
use crate::interaction::{Interaction, PairForces};
use crate::setup::Setup;
use crate::simulation::{Simulation, check_ranks, pair_forces};
use crate::state::State;

impl<'w> Simulation<'w, PairForces> {
    /// Goes on from a checkpoint, with the setup's pair potential; the box is that of the checkpoint. *Collective.*
    ///
    /// # Errors
    /// As [`Self::new`]; [`EngineError::Config`] for a checkpoint of another number of particles or other fields.
    pub fn resume(world: &'w dyn World, setup: &Setup, restored: Restored) -> Result<Self, EngineError> {
        Self::resume_with_interaction(world, setup, pair_forces(setup)?, restored)
    }
}

impl<'w, I: Interaction> Simulation<'w, I> {
    /// Goes on from a checkpoint with an interaction of any kind, as [`Simulation::resume`]. *Collective.*
    ///
    /// # Errors
    /// As there.
    pub fn resume_with_interaction(
        world: &'w dyn World,
        setup: &Setup,
        interaction: I,
        restored: Restored,
    ) -> Result<Self, EngineError> {
        memory::or_error(|| Self::go_on(world, setup, interaction, restored))?
    }

    fn go_on(
        world: &'w dyn World,
        setup: &Setup,
        mut interaction: I,
        restored: Restored,
    ) -> Result<Self, EngineError> {
        let mut shared = restored.shared()?;
        let Restored { integrator_memory, energy_reference, .. } = restored;
        check_ranks(setup, world)?;
        let setup = &divided(&mut shared, setup, restored.continuation, world)?;
        let mut particles = Particles::default();
        interaction.register(&mut particles);
        let at_checkpoint = restored.place(&mut particles, setup, world)?;
        let mut simulation = Self::make(world, setup, interaction, particles)?;
        simulation.time_at_start = shared.time_at_start(simulation.timestep());
        let State { step, time, integrator, barostat, .. } = &mut simulation.state;
        (*step, *time) = (shared.step, shared.time);
        if integrator_memory == Carried::Over {
            integrator.recall(&shared.memory)?;
        }
        let [earlier, work] = shared.reservoirs;
        barostat.iter_mut().for_each(|barostat| barostat.work = work);
        simulation.earlier_reservoirs = earlier;
        simulation.begin_at(at_checkpoint, shared.history)?;
        (simulation.neighborhood, simulation.box_changes) = (shared.neighborhood, shared.box_changes);
        if energy_reference == Carried::Over {
            simulation.energy = shared.energy;
        }
        simulation.balancer.report = shared.balance;
        simulation.observed = Some(shared.step);
        Ok(simulation)
    }

    /// Makes the neighbourhood: that of the checkpoint, or one of the present positions, and then their forces too.
    fn begin_at(
        &mut self,
        at_checkpoint: Option<AtCheckpoint>,
        history: RebuildHistory,
    ) -> Result<(), EngineError> {
        let Some(at_checkpoint) = at_checkpoint else { return self.begin() };
        self.move_and_rebuild()?;
        self.cells.make_room(&self.state.particles);
        at_checkpoint.put(&mut self.state.particles, self.world)?;
        self.watch.recall(history);
        Ok(())
    }
}

/// The setup in the box of the checkpoint, divided as it was there; where it is divided otherwise, balancing begins anew. *Collective.*
fn divided(
    shared: &mut Shared,
    setup: &Setup,
    continuation: Continuation,
    world: &dyn World,
) -> Result<Setup, EngineError> {
    let setup = Restored::setup(shared, setup)?;
    if let Some(division) = saved::division(&shared.division, &setup, continuation)? {
        return Ok(Setup { division, ..setup });
    }
    shared.balance = BalanceReport::default();
    if setup.domain == setup.config.domain() { setup.weighted(world) } else { Ok(setup) }
}
