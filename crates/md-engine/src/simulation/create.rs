//! Creation of a simulation.

use md_comm::{CommError, Reduction, World};
use md_core::rebuild::RebuildWatch;
use md_core::threads::ThreadsError;
use md_core::words::counted;
use md_core::{Evaluation, LocalCells, Particles, SimdLevel, Threads, memory};

use super::box_course::BoxCourse;
use super::ending::Ending;
use super::{Accounts, Neighborhood, Simulation};
use crate::balance::Balancer;
use crate::clock::PhaseClock;
use crate::config::{Config, NeighborConfig, Protocol, TailCorrection};
use crate::division::Decomposition;
use crate::error::EngineError;
use crate::forces::{Force, ForceList, Forces, GhostPositions};
use crate::setup::Setup;
use crate::start::{initial, walls};
use crate::state::State;

impl<'w> Simulation<'w> {
    /// Places the particles and computes the forces of step 0. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Config`] if the forces are those of the caller ([`Forces::own`]); as
    /// [`Self::with_forces`].
    pub fn new(world: &'w dyn World, setup: &Setup) -> Result<Self, EngineError> {
        expect_models(&setup.config.forces)?;
        Self::with_forces(world, setup, Vec::new())
    }

    /// Places the particles and computes the forces of step 0: those of the configuration and
    /// `own`. Cells are made for the setup's cutoff, which must be at least theirs. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Config`] for a setup for another number of ranks or a longer cutoff of a
    /// force; communication; particles on top of each other; [`EngineError::OutOfMemory`].
    pub fn with_forces(
        world: &'w dyn World,
        setup: &Setup,
        own: Vec<Box<dyn Force + 'w>>,
    ) -> Result<Self, EngineError> {
        memory::or_error(|| {
            check_ranks(setup, world)?;
            let setup = &setup.clone().weighted(world)?;
            let mut particles = initial::particles(setup, world)?;
            let forces = registered(setup, own, &mut particles)?;
            let mut simulation = Self::make(world, setup, forces, particles)?;
            simulation.begin()?;
            Ok(simulation)
        })?
    }

    /// Creates a simulation without a neighbourhood and without forces.
    pub(super) fn make(
        world: &'w dyn World,
        setup: &Setup,
        forces: ForceList<'w>,
        particles: Particles,
    ) -> Result<Self, EngineError> {
        check_ranks(setup, world)?;
        let threads = Threads::new(setup.config.parallel.threads);
        let (threads, simd) = common_ground(world, threads, setup.simd)?;
        let own = Setup { simd, ..setup.clone() };
        let (setup, config) = (&own, &own.config);
        setup.check_division(&setup.division, forces.cutoff())?;
        let NeighborConfig { rebuild, skin, .. } = config.neighbor;
        let mut simulation = Self {
            decomposition: Decomposition::open(world, setup.division.clone(), &config.parallel, &particles)?,
            accounts: Accounts {
                species_counts: species_counts(setup, &particles, world)?,
                ..Accounts::default()
            },
            state: State::new(particles, setup)?,
            neighborhood: Neighborhood {
                cells: LocalCells::default(),
                watch: RebuildWatch::new(rebuild, skin, setup.simd),
                pending_displacement2: None,
                next_division: None,
            },
            box_course: BoxCourse::default(),
            ending: Ending::default(),
            balancer: Balancer::new(&config.parallel, world.ranks()),
            clock: PhaseClock::default(),
            setup: own,
            threads,
            world,
            forces,
        };
        simulation.accounts.tail = simulation.tail_now();
        Ok(simulation)
    }

    /// Builds the neighbourhood and computes the forces of the present positions.
    pub(super) fn begin(&mut self) -> Result<(), EngineError> {
        let Setup { config, domain, .. } = &self.setup;
        walls::check_inside(&self.state.particles, &config.walls, domain, self.world)?;
        self.move_and_rebuild()?;
        self.measure_levels()?;
        self.neighborhood.cells.make_room(&self.state.particles);
        self.compute_forces(GhostPositions::Fresh, Evaluation::WithEnergyAndVirial)?;
        self.check_overlaps()
    }
}

/// Checks that the configuration describes all forces.
pub(super) fn expect_models(forces: &Forces) -> Result<(), EngineError> {
    if !forces.are_own() {
        return Ok(());
    }
    let what = "the configuration leaves the forces to the caller, who passes them to `with_forces`";
    Err(EngineError::Config(what.to_owned()))
}

/// Returns the forces of a configuration, those of the caller and those of the walls, whose fields
/// are registered.
///
/// # Errors
/// [`EngineError::Config`] for forces that need ghosts beside a protocol without ghosts.
pub(super) fn registered<'w>(
    setup: &Setup,
    own: Vec<Box<dyn Force + 'w>>,
    particles: &mut Particles,
) -> Result<ForceList<'w>, EngineError> {
    let Config { forces, neighbor, parallel, walls, .. } = &setup.config;
    let models = forces.models().map(|model| model.force(neighbor, parallel) as Box<dyn Force + 'w>);
    let walls = walls.iter().map(|&wall| Box::new(wall) as Box<dyn Force + 'w>);
    let mut all: Vec<_> = models.chain(own).chain(walls).collect();
    all.iter_mut().for_each(|force| force.register(particles));
    let all = ForceList::new(all, parallel.overlap);
    if parallel.protocol != Protocol::One && all.has_ghosts() {
        let what = format!(
            "the protocol `{}` has no ghosts, which one of the forces needs",
            parallel.protocol.name()
        );
        return Err(EngineError::Config(what));
    }
    Ok(all)
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
