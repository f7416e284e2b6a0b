//! Creation of a simulation.

use md_comm::{CommError, Reduction, Traffic, World};
use md_core::integrate::HalfKicks;
use md_core::potential::Tail;
use md_core::rebuild::RebuildWatch;
use md_core::threads::ThreadsError;
use md_core::words::counted;
use md_core::{Evaluation, LocalCells, PairSums, Particles, SimdLevel, Threads, memory};

use super::Simulation;
use super::box_course::BoxCourse;
use super::ending::Ending;
use crate::balance::Balancer;
use crate::clock::PhaseClock;
use crate::config::{Config, Forces, NeighborConfig, TailCorrection};
use crate::division::Decomposition;
use crate::error::EngineError;
use crate::forces::{GhostPositions, Interaction, PairForces};
use crate::motion::barostat::BoxReport;
use crate::report::{EnergyReport, NeighborReport};
use crate::setup::Setup;
use crate::start::{initial, walls};
use crate::state::State;

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
    pub(super) fn make(
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
            pending_displacement2: None,
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
    pub(super) fn begin(&mut self) -> Result<(), EngineError> {
        let Setup { config, domain, .. } = &self.setup;
        walls::check_inside(&self.state.particles, &config.walls, domain, self.world)?;
        self.move_and_rebuild()?;
        self.measure_levels()?;
        self.cells.make_room(&self.state.particles);
        self.compute_forces(GhostPositions::Fresh, Evaluation::WithEnergyAndVirial)?;
        self.check_overlaps()
    }
}

/// Returns the forces of the setup's pair potential, by the configured method.
pub(super) fn pair_forces(setup: &Setup) -> Result<PairForces, EngineError> {
    let Config { forces, neighbor, parallel, .. } = &setup.config;
    let Forces::Pairs(potential) = forces else {
        let what = "there is no pair potential, and forces of another kind need `with_interaction`";
        return Err(EngineError::Config(what.to_owned()));
    };
    Ok(PairForces::new(potential.clone(), *neighbor, parallel))
}

pub(super) fn check_ranks(setup: &Setup, world: &dyn World) -> Result<(), EngineError> {
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
