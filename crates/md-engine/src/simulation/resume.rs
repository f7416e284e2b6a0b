//! Continuation of a simulation from a checkpoint.

use md_comm::World;
use md_core::{Domain, Evaluation, Particles, memory};

use super::Simulation;
use super::create::{check_ranks, pair_forces};
use crate::balance::BalanceReport;
use crate::checkpoint::{AtCheckpoint, Carried, Continuation, Restored, Shared, division};
use crate::error::EngineError;
use crate::forces::{GhostPositions, Interaction, PairForces};
use crate::setup::Setup;
use crate::state::State;

impl<'w> Simulation<'w, PairForces> {
    /// Continues from a checkpoint, with the setup's pair potential, in the box of the checkpoint.
    /// *Collective.*
    ///
    /// # Errors
    /// As [`Self::new`]; [`EngineError::Config`] for a checkpoint with another number of particles
    /// or other fields.
    pub fn resume(world: &'w dyn World, setup: &Setup, restored: Restored) -> Result<Self, EngineError> {
        Self::resume_with_interaction(world, setup, pair_forces(setup)?, restored)
    }
}

impl<'w, I: Interaction> Simulation<'w, I> {
    /// Continues from a checkpoint with any interaction, as [`Simulation::resume`]. *Collective.*
    ///
    /// # Errors
    /// As [`Simulation::resume`].
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
        mut restored: Restored,
    ) -> Result<Self, EngineError> {
        let mut shared = restored.shared()?;
        let Restored { integrator_memory, energy_reference, continuation, .. } = restored;
        check_ranks(setup, world)?;
        let mut placed = divided(&mut shared, setup, continuation, world)?;
        let mut particles = Particles::default();
        interaction.register(&mut particles);
        restored.check(&particles, &placed, world)?;
        if continuation == Continuation::Identical && restored.is_elsewhere(&placed, world)? {
            restored.continuation = Continuation::Anew;
            placed = divided(&mut shared, setup, Continuation::Anew, world)?;
        }
        let setup = &placed;
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
        simulation.begin_at(at_checkpoint, &shared)?;
        (simulation.neighborhood, simulation.box_changes) = (shared.neighborhood, shared.box_changes);
        if energy_reference == Carried::Over {
            simulation.energy = shared.energy;
        }
        simulation.balancer.report = shared.balance;
        simulation.observed = Some(shared.step);
        Ok(simulation)
    }

    /// Builds the neighbourhood: that of the checkpoint, or that of the present positions with
    /// their forces.
    fn begin_at(&mut self, at_checkpoint: Option<AtCheckpoint>, shared: &Shared) -> Result<(), EngineError> {
        let Some(at_checkpoint) = at_checkpoint else { return self.begin() };
        self.move_and_rebuild()?;
        self.cells.make_room(&self.state.particles);
        if shared.lengths != shared.lengths_at_rebuild {
            self.follow_box(Domain { lengths: shared.lengths, ..self.state.domain });
            // The box is divided again as soon as cells get too thin, so cells of a valid
            // checkpoint fit.
            self.setup.check_cells(&self.decomposition.grid, self.interaction.cutoff())?;
        }
        at_checkpoint.put(&mut self.state.particles, self.world)?;
        self.watch.recall(shared.history);
        if !self.barostat_acts_after(shared.step) {
            return Ok(());
        }
        // The next step begins with the pressure, which is recomputed here from the same lists.
        self.state.particles.clear_forces(&self.threads);
        self.compute_forces(GhostPositions::Stale, Evaluation::WithEnergyAndVirial)
    }
}

/// Returns the setup in the box of the checkpoint with its division. If the division cannot be
/// restored, balancing begins anew. *Collective.*
fn divided(
    shared: &mut Shared,
    setup: &Setup,
    continuation: Continuation,
    world: &dyn World,
) -> Result<Setup, EngineError> {
    let setup = Restored::setup(shared, setup, continuation)?;
    if let Some(division) = division::division(&shared.division, &setup, continuation)? {
        return Ok(Setup { division, ..setup });
    }
    shared.balance = BalanceReport::default();
    if setup.domain == setup.config.domain() { setup.weighted(world) } else { Ok(setup) }
}
