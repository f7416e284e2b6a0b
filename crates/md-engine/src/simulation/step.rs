//! The time step.

use md_core::integrate::HalfKicks;
use md_core::potential::Tail;
use md_core::rebuild::Due;
use md_core::{Evaluation, memory};

use super::Simulation;
use super::rebuild::RebuildAnswer;
use crate::clock::Phase;
use crate::config::{Config, TailCorrection};
use crate::division::Decomposition;
use crate::error::EngineError;
use crate::forces::{ForceContext, ForceList, GhostPositions};
use crate::motion::integrator::{Completion, Integrate, Motion};
use crate::setup::Setup;
use crate::state::State;

impl<'w> Simulation<'w> {
    /// Makes one step. *Collective.*
    ///
    /// When due, work is balanced and the box follows the barostat. Positions advance to t + dt.
    /// Then either particles migrate, the border is made and the neighbourhood rebuilt, or ghosts
    /// remain to be gathered. Forces are computed, the inner ones while the halo is in flight.
    /// Velocities advance to t + dt; if the integrator allows it, this is deferred until they are
    /// needed or the next step begins.
    ///
    /// # Errors
    /// Communication; lost particles.
    pub fn step(&mut self, evaluation: Evaluation) -> Result<(), EngineError> {
        self.balance()?;
        self.couple_pressure()?;
        self.state.step += 1;
        self.state.time = self.state.time_at_start + self.state.step as f64 * self.setup.config.timestep;
        let evaluation = match evaluation {
            Evaluation::ForcesOnly if !self.barostat_acts_after(self.state.step) => Evaluation::ForcesOnly,
            _ => Evaluation::WithEnergyAndVirial,
        };
        let half_kicks = std::mem::replace(&mut self.state.half_kicks, HalfKicks::Single);
        self.integrate(|integrator, motion| integrator.before_forces(half_kicks, motion))?;
        let RebuildAnswer { due, displacement2 } = self.rebuild_due()?;
        let ghosts = match due {
            Due::Yes => {
                let ghosts = memory::or_error(|| self.rebuild(displacement2))??;
                self.balancer.settle();
                ghosts
            }
            Due::No => {
                if evaluation == Evaluation::WithEnergyAndVirial {
                    self.check_neighborhood(displacement2)?;
                }
                GhostPositions::Stale
            }
        };
        self.compute_forces(ghosts, evaluation)?;
        if due == Due::Yes {
            self.check_sum_of_forces()?;
        }
        self.state.half_kicks = HalfKicks::Fused;
        match self.state.integrator.completion() {
            Completion::Deferred => Ok(()),
            Completion::Immediate => self.complete_step(),
        }
    }

    /// Completes the deferred part of [`Self::step`]; must be called before velocities or the clock
    /// are read.
    pub(super) fn complete_step(&mut self) -> Result<(), EngineError> {
        match std::mem::replace(&mut self.state.half_kicks, HalfKicks::Single) {
            HalfKicks::Single => Ok(()),
            HalfKicks::Fused => self.integrate(|integrator, motion| integrator.after_forces(motion)),
        }
    }

    fn integrate(
        &mut self,
        work: impl FnOnce(&mut dyn Integrate, &mut Motion) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let Self { state: State { particles, domain, integrator, step, .. }, .. } = self;
        let Self { setup: Setup { config: Config { masses, .. }, .. }, threads, clock, world, .. } = self;
        let mut motion = Motion { particles, domain, masses, step: *step, threads, world: *world };
        clock.time(Phase::Integrate, || work(&mut **integrator, &mut motion))
    }

    /// Adds up all forces. Those on owned particles must be zero before; they are for new particles
    /// and after the drift.
    pub(super) fn compute_forces(
        &mut self,
        ghosts: GhostPositions,
        evaluation: Evaluation,
    ) -> Result<(), EngineError> {
        debug_assert!(self.state.particles.owned_forces_are_zero());
        let pairs = self.visit_forces(ghosts, |forces, context| forces.add_forces(context, evaluation))?;
        self.expect_exact_sums(&pairs)?;
        if evaluation == Evaluation::WithEnergyAndVirial {
            (self.accounts.pairs, self.accounts.pairs_step) = (pairs, self.state.step);
        }
        Ok(())
    }

    /// Calls `work` with the forces and their context.
    pub(super) fn visit_forces<R>(
        &mut self,
        ghosts: GhostPositions,
        work: impl FnOnce(&mut ForceList<'w>, &mut ForceContext<'_, 'w>) -> R,
    ) -> R {
        let Self { state: State { particles, domain, .. }, decomposition, clock, threads, .. } = self;
        let cells = &mut self.neighborhood.cells;
        let Decomposition { grid, plan, pairs, halo, .. } = decomposition;
        let (simd, summation) = (self.setup.simd, self.setup.config.neighbor.summation);
        let mut context = ForceContext {
            particles,
            cells,
            grid,
            plan,
            pairs,
            domain,
            threads,
            simd,
            summation,
            halo,
            clock,
            ghosts,
        };
        work(&mut self.forces, &mut context)
    }

    /// Returns the tail correction of the forces for all particles in the present box, if it is
    /// switched on.
    pub(super) fn tail_now(&self) -> Tail {
        let State { domain, .. } = &self.state;
        match self.setup.config.tail_correction {
            TailCorrection::Off => Tail::default(),
            TailCorrection::On => self.forces.tail(&self.accounts.species_counts, domain),
        }
    }
}
