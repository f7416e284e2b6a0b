//! Continuation of a simulation from a checkpoint.

use md_comm::World;
use md_core::{Domain, Evaluation, Particles, memory};

use super::Simulation;
use super::create::{check_ranks, expect_models, registered};
use crate::balance::BalanceReport;
use crate::checkpoint::{AtCheckpoint, Carried, Continuation, Restored, Shared, division};
use crate::error::EngineError;
use crate::forces::{Force, GhostPositions};
use crate::setup::Setup;
use crate::state::State;

impl<'w> Simulation<'w> {
    /// Continues from a checkpoint in the box of the checkpoint. *Collective.*
    ///
    /// # Errors
    /// As [`Self::new`]; [`EngineError::Config`] for a checkpoint with another number of particles
    /// or other fields.
    pub fn resume(world: &'w dyn World, setup: &Setup, restored: Restored) -> Result<Self, EngineError> {
        expect_models(&setup.config.forces)?;
        Self::resume_with_forces(world, setup, Vec::new(), restored)
    }

    /// Continues from a checkpoint with the forces of [`Self::with_forces`], as [`Self::resume`].
    /// *Collective.*
    ///
    /// # Errors
    /// As [`Self::resume`].
    pub fn resume_with_forces(
        world: &'w dyn World,
        setup: &Setup,
        own: Vec<Box<dyn Force + 'w>>,
        restored: Restored,
    ) -> Result<Self, EngineError> {
        memory::or_error(|| Self::go_on(world, setup, own, restored))?
    }

    fn go_on(
        world: &'w dyn World,
        setup: &Setup,
        own: Vec<Box<dyn Force + 'w>>,
        mut restored: Restored,
    ) -> Result<Self, EngineError> {
        let mut shared = restored.shared()?;
        let Restored { integrator_memory, energy_reference, continuation, .. } = restored;
        check_ranks(setup, world)?;
        let mut placed = divided(&mut shared, setup, continuation, world)?;
        let mut particles = Particles::default();
        let forces = registered(setup, own, &mut particles)?;
        restored.check(&particles, &placed, world)?;
        if continuation == Continuation::Identical && restored.is_elsewhere(&placed, world)? {
            restored.continuation = Continuation::Anew;
            placed = divided(&mut shared, setup, Continuation::Anew, world)?;
        }
        let setup = &placed;
        let at_checkpoint = restored.place(&mut particles, setup, world)?;
        let mut simulation = Self::make(world, setup, forces, particles)?;
        simulation.state.time_at_start = shared.time_at_start(simulation.timestep());
        let State { step, time, integrator, barostat, .. } = &mut simulation.state;
        (*step, *time) = (shared.step, shared.time);
        if integrator_memory == Carried::Over {
            integrator.recall(&shared.memory)?;
        }
        let [earlier, work] = shared.reservoirs;
        barostat.iter_mut().for_each(|barostat| barostat.work = work);
        simulation.accounts.earlier_reservoirs = earlier;
        simulation.begin_at(at_checkpoint, &shared)?;
        (simulation.accounts.rebuilds, simulation.accounts.box_changes) =
            (shared.neighborhood, shared.box_changes);
        if energy_reference == Carried::Over {
            simulation.accounts.energy = shared.energy;
        }
        simulation.balancer.report = shared.balance;
        simulation.accounts.observed = Some(shared.step);
        simulation.expect_quanta()?;
        Ok(simulation)
    }

    /// Builds the neighbourhood: that of the checkpoint, or that of the present positions with
    /// their forces.
    fn begin_at(&mut self, at_checkpoint: Option<AtCheckpoint>, shared: &Shared) -> Result<(), EngineError> {
        let Some(at_checkpoint) = at_checkpoint else { return self.begin() };
        self.move_and_rebuild()?;
        self.neighborhood.cells.make_room(&self.state.particles);
        if shared.lengths != shared.lengths_at_rebuild {
            self.follow_box(Domain { lengths: shared.lengths, ..self.state.domain });
            // The box is divided again as soon as cells get too thin, so cells of a valid
            // checkpoint fit.
            self.setup.check_cells(&self.decomposition.grid, self.setup.config.forces.cutoff())?;
        }
        at_checkpoint.put(&mut self.state.particles, self.world)?;
        self.neighborhood.watch.recall(shared.history);
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
