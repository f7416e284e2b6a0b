//! Simulation on one rank, and the time step.

mod balance;
mod box_course;
mod checks;
mod cold_start;
mod ending;
mod frozen;
mod levels;
mod observe;
mod rebuild;
mod resume;
mod stretch;

use md_comm::{CommError, Reduction, Traffic, World};
use md_core::integrate::HalfKicks;
use md_core::memory;
use md_core::potential::Tail;
use md_core::rebuild::{Due, RebuildWatch};
use md_core::threads::ThreadsError;
use md_core::words::counted;
use md_core::{Evaluation, Field, FieldSpec, LocalCells, PairSums, Particles, SimdLevel, Threads};

use crate::balance::Balancer;
use crate::clock::{Phase, PhaseClock};
use crate::config::{Config, Forces, NeighborConfig, TailCorrection};
use crate::division::{Decomposition, Division};
use crate::error::EngineError;
use crate::forces::{ForceContext, GhostPositions, Interaction, PairForces};
use crate::measure::{Needs, Observer};
use crate::motion::barostat::{Barostat, BoxCoupling, BoxReport};
use crate::motion::integrator::{Completion, Integrate, Integrator, Motion};
use crate::report::{EnergyReport, NeighborReport};
use crate::setup::Setup;
use crate::start::initial;
use crate::start::placement;
use crate::state::State;
use box_course::BoxCourse;
pub use cold_start::ColdStart;
use ending::Ending;
use rebuild::RebuildAnswer;

/// One rank of a running simulation, with forces from `I`.
pub struct Simulation<'w, I = PairForces> {
    pub(crate) world: &'w dyn World,
    pub(crate) state: State,
    pub(crate) decomposition: Decomposition<'w>,
    pub(crate) setup: Setup,
    pub(crate) threads: Threads,
    /// Time of step 0, had all steps been as long as the present one, \[time\].
    pub(crate) time_at_start: f64,
    /// Division that replaces the decomposition at the next step.
    pub(crate) next_division: Option<Division>,
    pub(crate) cells: LocalCells,
    pub(crate) interaction: I,
    /// Half kicks at the start of the next step; if fused, velocities are a half kick behind.
    half_kicks: HalfKicks,
    pub(crate) watch: RebuildWatch,
    /// Reduction over all ranks in progress: its step, the largest squared displacement and the
    /// votes to end.
    pub(crate) asked: Option<(u64, [f64; 2])>,
    pub(crate) clock: PhaseClock,
    pub(crate) tail: Tail,
    /// Particles of each species in the whole system; empty without tail correction.
    species_counts: Vec<u64>,
    /// Step at which measuring began, and the traffic until then.
    pub(crate) measured_from: u64,
    pub(crate) traffic_before: Traffic,
    /// Traffic of contexts that have been replaced.
    pub(crate) traffic_closed: Traffic,
    pub(crate) neighborhood: NeighborReport,
    pub(crate) energy: EnergyReport,
    pub(crate) box_changes: BoxReport,
    pub(crate) box_course: BoxCourse,
    /// Conserved energy minus total energy, when last computed.
    pub(crate) reservoir_energy: f64,
    /// Part of it from integrators and barostats of earlier stages.
    pub(crate) earlier_reservoirs: f64,
    /// Pair sums of this rank, and the last step that computed them.
    pub(crate) pairs: PairSums,
    pub(crate) pairs_step: u64,
    /// Last step that observers have seen.
    pub(crate) observed: Option<u64>,
    pub(crate) ending: Ending,
    pub(crate) balancer: Balancer,
}

impl<'w> Simulation<'w> {
    /// Creates a simulation with the setup's pair potential. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Config`] if the forces are not those of a pair potential; as
    /// [`Self::with_interaction`].
    pub fn new(world: &'w dyn World, setup: &Setup) -> Result<Self, EngineError> {
        Self::with_interaction(world, setup, pair_forces(setup)?)
    }
}

impl<'w, I: Interaction> Simulation<'w, I> {
    /// Places the particles and computes the forces of step 0 with any interaction. Cells are made
    /// for the setup's cutoff, which must be at least that of the interaction. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Config`] for a setup for another number of ranks or a longer cutoff of the
    /// interaction; communication; particles on top of each other; [`EngineError::OutOfMemory`].
    pub fn with_interaction(
        world: &'w dyn World,
        setup: &Setup,
        mut interaction: I,
    ) -> Result<Self, EngineError> {
        memory::or_error(|| {
            check_ranks(setup, world)?;
            let setup = &setup.clone().weighted(world)?;
            let mut particles = initial::particles(setup, world)?;
            interaction.register(&mut particles);
            let mut simulation = Self::make(world, setup, interaction, particles)?;
            simulation.begin()?;
            Ok(simulation)
        })?
    }

    /// Creates a simulation without a neighbourhood and without forces.
    pub(crate) fn make(
        world: &'w dyn World,
        setup: &Setup,
        interaction: I,
        particles: Particles,
    ) -> Result<Self, EngineError> {
        check_ranks(setup, world)?;
        let threads = Threads::new(setup.config.parallel.threads);
        let (threads, simd) = common_ground(world, threads, setup.simd)?;
        let own = Setup { simd, ..setup.clone() };
        let (setup, config) = (&own, &own.config);
        setup.check_division(&setup.division, interaction.cutoff())?;
        let NeighborConfig { rebuild, skin, .. } = config.neighbor;
        let mut simulation = Self {
            decomposition: Decomposition::open(world, setup.division.clone(), &config.parallel, &particles)?,
            tail: Tail::default(),
            species_counts: species_counts(setup, &particles, world)?,
            state: State::new(particles, setup)?,
            next_division: None,
            cells: LocalCells::default(),
            half_kicks: HalfKicks::Single,
            watch: RebuildWatch::new(rebuild, skin, setup.simd),
            asked: None,
            clock: PhaseClock::default(),
            measured_from: 0,
            traffic_before: Traffic::default(),
            traffic_closed: Traffic::default(),
            neighborhood: NeighborReport::default(),
            energy: EnergyReport::default(),
            box_changes: BoxReport::default(),
            box_course: BoxCourse::default(),
            reservoir_energy: 0.0,
            earlier_reservoirs: 0.0,
            pairs: PairSums::default(),
            pairs_step: 0,
            observed: None,
            ending: Ending::default(),
            balancer: Balancer::new(&config.parallel, world.ranks()),
            time_at_start: 0.0,
            setup: own,
            threads,
            world,
            interaction,
        };
        simulation.tail = simulation.tail_now();
        Ok(simulation)
    }

    /// Builds the neighbourhood and computes the forces of the present positions.
    pub(crate) fn begin(&mut self) -> Result<(), EngineError> {
        let Setup { config, domain, .. } = &self.setup;
        placement::check_inside(&self.state.particles, &config.walls, domain, self.world)?;
        self.move_and_rebuild()?;
        self.measure_levels()?;
        self.cells.make_room(&self.state.particles);
        self.compute_forces(GhostPositions::Fresh, Evaluation::WithEnergyAndVirial)?;
        self.check_overlaps()
    }

    /// Makes `steps` steps. Before the first step, observers see the present state, unless a run
    /// that ended here has already shown it to its observers. After every step, those that are due
    /// see the new state. Energy and virial are computed if one of them needs them, and at the last
    /// step. *Collective.*
    ///
    /// The run can end earlier: if an observer requests it ([`Observer::wants_end`]), within 20
    /// steps, after the same step on all ranks; if the box cannot follow the pressure
    /// ([`Self::box_end`]), after the step before which the box should have changed.
    ///
    /// # Errors
    /// Communication; lost particles; an energy that is not finite; [`EngineError::Observer`]. If
    /// [`EngineError::scope`] is not [`crate::Scope::AllRanks`], the other ranks wait for this one:
    /// end them with [`World::abort`].
    pub fn run(&mut self, steps: u64, observers: &mut [&mut dyn Observer]) -> Result<(), EngineError> {
        if self.observed != Some(self.state.step) {
            self.observe(observers)?;
        }
        let mut last = self.state.step + steps;
        self.ending = Ending::not_before(self.state.step);
        self.box_course.begin();
        while self.state.step < last && !self.state.integrator.is_over() {
            let next = self.state.step + 1;
            if next < last && self.state.integrator.is_finished() {
                observers.iter_mut().for_each(|observer| observer.converges_at(next));
                last = next;
            } else if self.plan_box(observers)? || next < last && self.ends_early(observers)? {
                observers.iter_mut().for_each(|observer| observer.ends_at(next));
                last = next;
            }
            let needs = observers.iter().filter_map(|observer| observer.due(next));
            let wants_sums =
                needs.fold(Needs::NOTHING, |all, one| all | one).contains(Needs::ENERGY_AND_VIRIAL);
            self.step(if wants_sums || next == last {
                Evaluation::WithEnergyAndVirial
            } else {
                Evaluation::ForcesOnly
            })?;
            self.observe(observers)?;
        }
        self.sum_up()
    }

    /// Computes energy and virial if no step has: in a resumed run without steps to make.
    /// *Collective.*
    fn sum_up(&mut self) -> Result<(), EngineError> {
        if self.pairs_step == self.state.step {
            return Ok(());
        }
        self.complete_step()?;
        self.state.particles.clear_forces(&self.threads);
        self.compute_forces(GhostPositions::Stale, Evaluation::WithEnergyAndVirial)
    }

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
        self.state.time = self.time_at_start + self.state.step as f64 * self.setup.config.timestep;
        let evaluation = match evaluation {
            Evaluation::ForcesOnly if !self.barostat_acts_after(self.state.step) => Evaluation::ForcesOnly,
            _ => Evaluation::WithEnergyAndVirial,
        };
        let half_kicks = std::mem::replace(&mut self.half_kicks, HalfKicks::Single);
        self.integrate(|integrator, motion| integrator.before_forces(half_kicks, motion))?;
        let RebuildAnswer { due, displacement2 } = self.rebuild_due()?;
        let ghosts = match due {
            Due::Yes => {
                memory::or_error(|| self.rebuild(displacement2))??;
                self.balancer.settle();
                GhostPositions::Fresh
            }
            Due::No => {
                if evaluation == Evaluation::WithEnergyAndVirial {
                    self.check_neighborhood(displacement2)?;
                }
                GhostPositions::Stale
            }
        };
        self.compute_forces(ghosts, evaluation)?;
        self.half_kicks = HalfKicks::Fused;
        match self.state.integrator.completion() {
            Completion::Deferred => Ok(()),
            Completion::Immediate => self.complete_step(),
        }
    }

    /// Completes the deferred part of [`Self::step`]; must be called before velocities or the clock
    /// are read.
    pub(crate) fn complete_step(&mut self) -> Result<(), EngineError> {
        match std::mem::replace(&mut self.half_kicks, HalfKicks::Single) {
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
    pub(crate) fn compute_forces(
        &mut self,
        ghosts: GhostPositions,
        evaluation: Evaluation,
    ) -> Result<(), EngineError> {
        debug_assert!(self.state.particles.owned_forces_are_zero());
        let mut pairs =
            self.with_forces(ghosts, |interaction, context| interaction.add_forces(context, evaluation))?;
        let Self { state: State { particles, domain, .. }, setup, clock, .. } = self;
        if !setup.config.walls.is_empty() {
            clock.time(Phase::Force, || {
                setup.config.walls.iter().for_each(|wall| pairs += wall.add_forces(particles, domain));
            });
        }
        if evaluation == Evaluation::WithEnergyAndVirial {
            (self.pairs, self.pairs_step) = (pairs, self.state.step);
        }
        Ok(())
    }

    /// Calls `work` with the interaction and its context.
    pub(crate) fn with_forces<R>(
        &mut self,
        ghosts: GhostPositions,
        work: impl FnOnce(&mut I, &mut ForceContext<'_, 'w>) -> R,
    ) -> R {
        let Self { state: State { particles, domain, .. }, decomposition, cells, clock, threads, .. } = self;
        let Decomposition { grid, plan, pairs, halo, .. } = decomposition;
        let simd = self.setup.simd;
        let mut context =
            ForceContext { particles, cells, grid, plan, pairs, domain, threads, simd, halo, clock, ghosts };
        work(&mut self.interaction, &mut context)
    }

    /// Returns the interaction's tail correction for all particles in the present box, if it is
    /// switched on.
    pub(crate) fn tail_now(&self) -> Tail {
        let State { domain, .. } = &self.state;
        match self.setup.config.tail_correction {
            TailCorrection::Off => Tail::default(),
            TailCorrection::On => {
                self.interaction.tail(&self.species_counts, domain.volume(), domain.dimension)
            }
        }
    }

    /// Adds a field to the particles, initially zero, for observers, integrators and other users of
    /// data per particle. All ranks must add the same fields in the same order.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    pub fn register_field(&mut self, spec: FieldSpec) -> Result<Field, EngineError> {
        Ok(memory::or_error(|| self.state.particles.register(spec))?)
    }

    /// Returns the particles, to write custom fields between steps.
    pub fn particles_mut(&mut self) -> &mut Particles {
        &mut self.state.particles
    }

    /// Returns the interaction that computes the forces.
    pub fn interaction(&self) -> &I {
        &self.interaction
    }

    /// Continues with another built-in integrator and optionally a barostat; ramps extend over the
    /// next `steps` steps. The conserved energy is continuous. *Collective.*
    ///
    /// # Errors
    /// Communication; [`EngineError::Integrator`] for invalid keys.
    pub fn begin_stage(
        &mut self,
        integrator: Integrator,
        barostat: Option<Barostat>,
        steps: u64,
    ) -> Result<(), EngineError> {
        self.complete_step()?;
        self.earlier_reservoirs = self.reservoir_now()?;
        if self.setup.config.integrator.conserved().is_none() {
            self.energy.begin_anew();
        }
        let config = &mut self.setup.config;
        (config.integrator, config.barostat) = (integrator, barostat);
        config.schedule = self.state.step..self.state.step + steps;
        if let Some(barostat) = &barostat {
            barostat.check(config.dimension, config.boundary, &integrator)?;
            barostat.check_relaxation(config.timestep)?;
        }
        self.state.barostat = barostat.map(|keys| BoxCoupling::new(keys, &self.setup.system()));
        self.state.integrator = integrator.build(&self.setup)?;
        Ok(())
    }

    /// Continues with another integrator from the present state. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn set_integrator(&mut self, integrator: impl Integrate + 'static) -> Result<(), EngineError> {
        self.complete_step()?;
        self.state.integrator = Box::new(integrator);
        Ok(())
    }

    /// Sets another division of the same box, which takes effect in the next step. That step
    /// rebuilds: particles move to the new owners of their cells, and contexts are replaced. All
    /// ranks must pass the same division.
    ///
    /// # Errors
    /// [`EngineError::Config`] for a division of another box or among more ranks, or with cells
    /// shorter than cutoff + skin; [`EngineError::MixedPrecision`].
    pub fn replace_decomposition(&mut self, division: Division) -> Result<(), EngineError> {
        self.setup.check_division(&division, self.interaction.cutoff())?;
        self.next_division = Some(division);
        Ok(())
    }

    /// Returns the present decomposition.
    pub fn decomposition(&self) -> &Decomposition<'w> {
        &self.decomposition
    }

    /// Closes the exchange contexts. *Collective.*
    ///
    /// A simulation that is dropped instead, for instance by an early return, releases what one
    /// rank can release alone. Over `local`, nothing is left once all ranks have dropped it. Over
    /// MPI, numbers, windows and communicators of the contexts remain until MPI is finalised,
    /// because freeing them is collective: a program that makes many simulations must finalise
    /// each.
    ///
    /// # Errors
    /// Communication.
    pub fn finalise(mut self) -> Result<(), EngineError> {
        self.hear_displacement2()?;
        self.decomposition.halo.finalise()
    }
}

/// Returns the forces of the setup's pair potential, by the configured method.
pub(crate) fn pair_forces(setup: &Setup) -> Result<PairForces, EngineError> {
    let Config { forces, neighbor, parallel, .. } = &setup.config;
    let Forces::Pairs(potential) = forces else {
        let what = "there is no pair potential, and forces of another kind need `with_interaction`";
        return Err(EngineError::Config(what.to_owned()));
    };
    Ok(PairForces::new(potential.clone(), *neighbor, parallel))
}

pub(crate) fn check_ranks(setup: &Setup, world: &dyn World) -> Result<(), EngineError> {
    if setup.ranks == world.ranks() {
        return Ok(());
    }
    let what = format!("the setup is for {}, the world has {}", counted(setup.ranks, "rank"), world.ranks());
    Err(EngineError::Config(what))
}

/// Returns the threads if all ranks could create them; if several ranks failed, the first of them
/// returns its error. Also returns the narrowest of the ranks' instruction sets, so that results do
/// not depend on the machines of the ranks. *Collective.*
fn common_ground(
    world: &dyn World,
    threads: Result<Threads, ThreadsError>,
    level: SimdLevel,
) -> Result<(Threads, SimdLevel), EngineError> {
    let from_widest = || SimdLevel::ALL.iter().rev();
    let own = from_widest().position(|&other| other == level).unwrap_or_default();
    let first = |failed: bool| if failed { !(world.rank() as u64) } else { 0 };
    let mut words = [own as u64, first(threads.is_err())];
    world.reduce(&mut words, Reduction::Highest)?;
    let [narrowest, failed] = words;
    if failed != 0 && failed != first(threads.is_err()) {
        return Err(CommError::PeerFailed { rank: !failed as usize }.into());
    }
    let narrowest = from_widest().nth(narrowest as usize).copied();
    Ok((threads?, narrowest.unwrap_or(level)))
}

/// Returns the particles of each species, if the tail correction needs them. *Collective.*
fn species_counts(setup: &Setup, particles: &Particles, world: &dyn World) -> Result<Vec<u64>, EngineError> {
    if setup.config.tail_correction == TailCorrection::Off {
        return Ok(Vec::new());
    }
    let mut counts = vec![0.0; setup.config.masses.len()];
    for &kind in &particles.species[..particles.owned()] {
        counts[kind as usize] += 1.0;
    }
    world.sum(&mut counts)?;
    Ok(counts.into_iter().map(|count| count as u64).collect())
}
