//! The state of one rank and the time step.

use md_comm::{Traffic, World};
use md_core::force::{CellWork, ClusterWork, Evaluation, Precision};
use md_core::halo::Region;
use md_core::integrate::{Integrator, Kicks};
use md_core::potential::{PairPotential, Tail};
use md_core::rebuild::{Due, RebuildWatch};
use md_core::{HaloPlan, LocalCells, Method, PairSums, Particles};

use super::clock::PhaseClock;
use super::error::RunError;
use super::halo::{HaloExchange, HaloState};
use super::initial;
use super::setup::Setup;
use crate::report::Phase;
use crate::scenario::{self, Scenario};

/// When the halo's messages are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HaloWait {
    /// After the inner work.
    AfterInnerWork,
    /// Before any work.
    BeforeWork,
}

/// Whether the ghosts hold the positions of this step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ghosts {
    /// Just made by a rebuild.
    Fresh,
    /// To be refreshed.
    Stale,
}

/// One rank of a running simulation.
pub struct Simulation<'a> {
    pub(super) world: &'a dyn World,
    pub(super) setup: &'a Setup,
    pub(super) timestep: f64,
    pub(super) plan: HaloPlan,
    pub(super) particles: Particles,
    pub(super) cells: LocalCells,
    pub(super) method: Method,
    pub(super) halo: HaloExchange,
    integrator: Integrator,
    /// What the next step begins with; with two, velocities are a half kick behind.
    kicks: Kicks,
    pub(super) watch: RebuildWatch,
    halo_wait: HaloWait,
    pub(super) clock: PhaseClock,
    pub(super) tail: Tail,
    pub(super) traffic_before: Traffic,
    pub(super) step: u64,
    /// Rebuilds after the initial one.
    pub(super) rebuilds: u64,
    pub(super) dangerous_rebuilds: u64,
    /// Pair sums of this rank at the last step that computed them.
    pub(super) pairs: PairSums,
}

impl<'a> Simulation<'a> {
    /// Places the particles and computes the forces of step 0. *Collective.*
    ///
    /// # Errors
    /// Communication; particles on top of each other.
    pub fn new(world: &'a dyn World, setup: &'a Setup, scenario: &Scenario) -> Result<Self, RunError> {
        let plan = HaloPlan::new(&setup.grid, &setup.partition, setup.shell, setup.route, world.rank());
        let particles = initial::particles(setup, scenario, world)?;
        let counts = count_species(&particles, setup.masses.len(), world)?;
        let tail = if scenario.interaction.tail_correction {
            setup.potential.tail(&counts, setup.domain.volume(), setup.domain.dimension)
        } else {
            Tail::default()
        };
        let timestep = scenario.simulation.timestep;
        let mut simulation = Self {
            timestep,
            halo: HaloExchange::open(world, &plan, scenario.parallel.rma.slots())?,
            method: match scenario.neighbor.method {
                scenario::Method::DirectSum => Method::DirectSum,
                // Validation has refused the methods to come.
                scenario::Method::Cells => Method::Cells(CellWork::new()),
                scenario::Method::Clusters => {
                    Method::Clusters(Box::new(ClusterWork::new(scenario.neighbor.skin, precision(scenario))))
                }
            },
            kicks: Kicks::One,
            integrator: Integrator::new(timestep, &setup.masses, setup.simd),
            watch: RebuildWatch::new(setup.rebuild, scenario.neighbor.skin, setup.simd),
            halo_wait: if scenario.parallel.overlap {
                HaloWait::AfterInnerWork
            } else {
                HaloWait::BeforeWork
            },
            clock: PhaseClock::default(),
            cells: LocalCells::default(),
            traffic_before: Traffic::default(),
            step: 0,
            rebuilds: 0,
            dangerous_rebuilds: 0,
            pairs: PairSums::default(),
            world,
            setup,
            plan,
            particles,
            tail,
        };
        simulation.move_and_rebuild()?;
        simulation.cells.make_room(&simulation.particles);
        simulation.compute_forces(Ghosts::Fresh, Evaluation::WithEnergyAndVirial)?;
        simulation.check_overlaps()?;
        Ok(simulation)
    }

    /// One step of velocity Verlet:
    /// half kick and drift; then either migrate, make the border and rebuild the neighbourhood, or refresh the ghosts;
    /// forces, inner ones while the halo is in flight; forces of ghosts return home; half kick, which waits until somebody
    /// looks at the velocities or the next step begins.
    /// Leaves positions and forces at t + dt, velocities at t + dt / 2 until [`Self::complete_step`].
    ///
    /// # Errors
    /// Communication; lost particles.
    pub fn step(&mut self, evaluation: Evaluation) -> Result<(), RunError> {
        self.step += 1;
        self.clock.time(Phase::Integrate, || {
            let (domain, threads) = (&self.setup.domain, &self.setup.threads);
            let kicks = std::mem::replace(&mut self.kicks, Kicks::One);
            self.integrator.kick_and_drift(kicks, &mut self.particles, domain, threads);
        });
        let ghosts = match self.rebuild_due()? {
            Due::Yes => {
                self.rebuild()?;
                Ghosts::Fresh
            }
            Due::No => {
                // What is about to be reported must not come from a neighbourhood that holds no longer.
                if evaluation == Evaluation::WithEnergyAndVirial {
                    self.check_lost()?;
                }
                Ghosts::Stale
            }
        };
        self.compute_forces(ghosts, evaluation)?;
        self.kicks = Kicks::Two;
        Ok(())
    }

    /// Makes up for the half kick that [`Self::step`] has left undone; to be called by everything that looks at velocities
    /// or at the clock.
    pub(super) fn complete_step(&mut self) {
        if std::mem::replace(&mut self.kicks, Kicks::One) == Kicks::Two {
            self.clock.time(Phase::Integrate, || {
                self.integrator.kick(&mut self.particles, &self.setup.threads);
            });
        }
    }

    /// Refreshes stale ghosts and adds up all forces; those on owned particles must be zero before, as new
    /// particles' are and the drift leaves them. The order of the sums is the same with and without overlap, and so are the bits.
    pub(super) fn compute_forces(&mut self, ghosts: Ghosts, evaluation: Evaluation) -> Result<(), RunError> {
        debug_assert!(self.particles.owned_forces_are_zero());
        if ghosts == Ghosts::Stale {
            self.with_halo(HaloExchange::start_refresh)?;
        }
        let finish_first = self.halo_wait == HaloWait::BeforeWork;
        if ghosts == Ghosts::Stale && finish_first {
            self.with_halo(HaloExchange::finish_refresh)?;
        }
        let mut pairs = self.add_forces(Region::Inner, evaluation);
        if ghosts == Ghosts::Stale && !finish_first {
            self.with_halo(HaloExchange::finish_refresh)?;
        }
        pairs += self.add_forces(Region::Boundary, evaluation);
        self.with_halo(HaloExchange::return_forces)?;
        if evaluation == Evaluation::WithEnergyAndVirial {
            self.pairs = pairs;
        }
        Ok(())
    }

    fn add_forces(&mut self, region: Region, evaluation: Evaluation) -> PairSums {
        let Self { setup, plan, particles, cells, method, clock, .. } = self;
        clock.time(Phase::Force, || {
            if region == Region::Inner {
                particles.clear_ghost_forces(&setup.threads);
            }
            method.add_forces(setup.system(plan, cells), particles, region, evaluation)
        })
    }

    fn with_halo<R>(
        &mut self,
        work: impl FnOnce(&mut HaloExchange, &mut HaloState, &mut PhaseClock) -> R,
    ) -> R {
        let Self { setup, plan, particles, cells, halo, clock, .. } = self;
        work(
            halo,
            &mut HaloState { particles, cells, plan, domain: &setup.domain, threads: &setup.threads },
            clock,
        )
    }

    /// Rebuilds after the initial one.
    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// Rebuilds that came too late.
    pub fn dangerous_rebuilds(&self) -> u64 {
        self.dangerous_rebuilds
    }

    /// Closes the exchange contexts. *Collective.*
    pub fn finalise(self) -> Result<(), RunError> {
        self.halo.finalise()
    }
}

fn precision(scenario: &Scenario) -> Precision {
    match scenario.neighbor.precision {
        scenario::Precision::Double => Precision::Double,
        scenario::Precision::Mixed => Precision::Mixed,
    }
}

/// Particles per species over all ranks. *Collective.*
fn count_species(particles: &Particles, species: usize, world: &dyn World) -> Result<Vec<u64>, RunError> {
    let mut counts = vec![0.0; species];
    for &kind in &particles.species[..particles.owned()] {
        counts[kind as usize] += 1.0;
    }
    world.sum(&mut counts)?;
    Ok(counts.into_iter().map(|count| count as u64).collect())
}
