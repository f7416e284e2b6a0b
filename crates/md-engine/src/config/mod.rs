//! Configuration of a simulation, checked by [`crate::Setup::new`].

mod second_share;

use std::ops::Range;
use std::sync::Arc;

use md_comm::Buffering;
use md_core::force::{MethodKind, Precision};
use md_core::lattice::Lattice;
use md_core::rebuild::RebuildPolicy;
use md_core::thinned::ThinnedLattice;
use md_core::{
    Boundary, Dimension, Domain, ExchangePattern, PairPotential, Particle, PartitionKind, Shell, SimdLevel,
};

use crate::balance::Balance;
use crate::error::{EngineError, ParticleFault};
use crate::forces::protocol::Protocol;
use crate::generate::{LatticeRegions, RandomGas};
use crate::motion::barostat::Barostat;
use crate::motion::integrator::Integrator;
use crate::start::{initial, placement};
use crate::wall::SolidWall;
pub use second_share::SecondShare;

/// Source of the particles.
#[derive(Debug, Clone)]
pub enum ParticleSource {
    /// Lattice that fills the box; species are drawn by [`Config::shares`].
    Lattice(Lattice),
    /// Occupied sites of a lattice: a liquid in some regions, vapour elsewhere.
    Thinned(ThinnedLattice),
    /// Lattices in parts of the box.
    Regions(LatticeRegions),
    /// Gas placed at random.
    Gas(RandomGas),
    /// Individually given particles.
    List {
        /// Lower corner of the box, \[length\].
        origin: [f64; 3],
        /// Lengths of the box, \[length\].
        lengths: [f64; 3],
        /// Particles with their ids: either all of them, of which every rank takes those it owns,
        /// or this rank's share.
        particles: Arc<[Particle]>,
        /// Data about all shares, if `particles` is a share; each particle is in the share of one
        /// rank, regardless of its owner.
        share: Option<Share>,
    },
}

/// Data about particles that are given in shares, known on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Number of particles in all shares.
    pub atoms: u64,
    /// Particle whose z all particles share in two dimensions.
    pub first: FirstOfAll,
}

/// Particle with the lowest id of all shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstOfAll {
    /// Id of the particle.
    pub id: u64,
    /// Position along z, \[length\].
    pub z: f64,
}

impl ParticleSource {
    /// Returns the lattice on whose sites all particles lie, if there is one.
    pub(crate) fn lattice(&self) -> Option<&Lattice> {
        match self {
            Self::Lattice(lattice) => Some(lattice),
            Self::Thinned(thinned) => Some(thinned.lattice()),
            Self::Regions(_) | Self::Gas(_) | Self::List { .. } => None,
        }
    }

    /// Returns whether a site of the lattice is occupied.
    pub(crate) fn is_taken(&self, id: u64, position: [f64; 3]) -> bool {
        match self {
            Self::Thinned(thinned) => thinned.is_taken(id, position),
            Self::Lattice(_) | Self::Regions(_) | Self::Gas(_) | Self::List { .. } => true,
        }
    }

    /// Calls `visit` with the position of every particle that this source contains on this rank.
    pub fn for_each_position(&self, mut visit: impl FnMut([f64; 3])) {
        match self {
            Self::List { particles, .. } => particles.iter().for_each(|particle| visit(particle.position)),
            Self::Regions(regions) => regions.sites().for_each(|site| visit(site.position)),
            // A gas without room for a particle ends the run that uses it.
            Self::Gas(gas) => gas.sites().into_iter().flatten().for_each(|site| visit(site.position)),
            Self::Lattice(_) | Self::Thinned(_) => (),
        }
        let sites = self.lattice().into_iter().flat_map(Lattice::sites);
        let taken = sites.filter(|&(id, position)| self.is_taken(id, position));
        taken.for_each(|(_, position)| visit(position));
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Lattice(lattice) => lattice.len(),
            Self::Thinned(thinned) => thinned.len(),
            Self::Regions(regions) => regions.len(),
            Self::Gas(gas) => gas.len(),
            Self::List { particles, share, .. } => share.map_or(particles.len() as u64, |share| share.atoms),
        }
    }
}

impl From<Lattice> for ParticleSource {
    fn from(lattice: Lattice) -> Self {
        Self::Lattice(lattice)
    }
}

/// Source of the forces.
#[derive(Debug, Clone)]
pub enum Forces {
    /// Pair potential, for [`crate::PairForces`].
    Pairs(Arc<dyn PairPotential>),
    /// Custom [`crate::Interaction`], for [`crate::Simulation::with_interaction`].
    Own {
        /// Cutoff for which cells are made: at least that of the interaction, \[length\].
        cutoff: f64,
    },
}

impl Forces {
    /// Returns the largest distance of two particles that interact, \[length\].
    pub fn cutoff(&self) -> f64 {
        match self {
            Self::Pairs(potential) => potential.cutoff(),
            Self::Own { cutoff } => *cutoff,
        }
    }
}

impl<P: PairPotential + 'static> From<P> for Forces {
    fn from(potential: P) -> Self {
        Self::Pairs(Arc::new(potential))
    }
}

/// Whether energy and pressure include the mean-field contribution from beyond the cutoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TailCorrection {
    /// No correction.
    #[default]
    Off,
    /// Correction included.
    On,
}

/// Whether inner pairs are computed while the halo is in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Inner pairs are computed first; then the halo is awaited.
    #[default]
    On,
    /// The halo is awaited first.
    Off,
}

/// Search for pairs within the cutoff, and its frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighborConfig {
    /// Method of finding pairs.
    pub method: MethodKind,
    /// Distance beyond the cutoff that lists cover, \[length\].
    pub skin: f64,
    /// Rule that decides when lists are rebuilt.
    pub rebuild: RebuildPolicy,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
}

impl Default for NeighborConfig {
    fn default() -> Self {
        Self {
            method: MethodKind::Clusters,
            skin: 0.3,
            rebuild: RebuildPolicy::Displacement,
            precision: Precision::Double,
        }
    }
}

/// Choice of the instruction set of the kernels, which also determines the shape of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimdChoice {
    /// The best one for the method that the CPU supports.
    Cpu,
    /// The one with which the initial force computation took the least time on the slowest rank.
    Measured,
    /// A given one, which this CPU supports.
    Named(SimdLevel),
}

/// Division of the work and exchange of the halo. The world determines the transport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParallelConfig {
    /// Owner rank of each cell.
    pub partition: PartitionKind,
    /// Ranks per dimension; `None` lets the partition choose.
    pub rank_grid: Option<[usize; 3]>,
    /// Method by which pairs of particles on different ranks get their forces.
    pub protocol: Protocol,
    /// Neighbouring cells that are imported, and the rank that computes a pair across ranks.
    pub shell: Shell,
    /// Direct or staged exchange.
    pub exchange: ExchangePattern,
    /// Whether inner pairs are computed while the halo is in flight.
    pub overlap: Overlap,
    /// Part of the inner pairs that is computed while forces are sent to their owners. Determines
    /// the order of the sums.
    pub second_share: SecondShare,
    /// Number of message buffers per edge.
    pub buffering: Buffering,
    /// Whether the division is adapted to the work during a run.
    pub balance: Balance,
    /// Threads per rank, including the calling one.
    pub threads: usize,
    /// Instruction set of the kernels.
    pub simd: SimdChoice,
}

impl Default for ParallelConfig {
    fn default() -> Self {
        Self {
            partition: PartitionKind::default(),
            rank_grid: None,
            protocol: Protocol::One,
            shell: Shell::Half,
            exchange: ExchangePattern::Direct,
            overlap: Overlap::On,
            second_share: SecondShare::default(),
            buffering: Buffering::default(),
            balance: Balance::Off,
            threads: 1,
            simd: SimdChoice::Cpu,
        }
    }
}

impl ParallelConfig {
    /// Returns the ranks per dimension if given or implied by the protocol: with `simple`, ranks
    /// own whole rows (2D) or layers (3D).
    pub(crate) fn rank_grid_for(&self, domain: &Domain, ranks: usize) -> Option<[usize; 3]> {
        match (self.protocol, domain.dimension) {
            (Protocol::Simple, Dimension::Two) => Some([1, ranks, 1]),
            (Protocol::Simple, Dimension::Three) => Some([1, 1, ranks]),
            (Protocol::One | Protocol::Dist, _) => self.rank_grid,
        }
    }
}

/// Description of a simulation. Reduced units: mass m, length sigma, energy epsilon, `k_B` = 1.
#[derive(Debug, Clone)]
pub struct Config {
    /// Source of the particles.
    pub particles: ParticleSource,
    /// Number of dimensions.
    pub dimension: Dimension,
    /// Boundary conditions.
    pub boundary: [Boundary; 3],
    /// Solid walls at reflecting faces of the box; no particle may be on or behind one.
    pub walls: Vec<SolidWall>,
    /// Mass per species, \[mass\].
    pub masses: Vec<f64>,
    /// Share of the lattice sites per species, adding up to 1; particles from a list have their own
    /// species.
    pub shares: Vec<f64>,
    /// Velocity of the whole system, added to the drawn or given velocities, \[length / time\].
    pub drift: [f64; 3],
    /// Temperature for which velocities are drawn, exactly and with zero total momentum; `None`
    /// keeps the given velocities.
    pub temperature: Option<f64>,
    /// Largest random displacement of lattice sites along each axis, \[length\]; none towards
    /// walls.
    pub displacement: f64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Source of the forces.
    pub forces: Forces,
    /// Mean-field correction for pairs beyond the cutoff.
    pub tail_correction: TailCorrection,
    /// Time step, \[time\].
    pub timestep: f64,
    /// Largest allowed change per atom of the quantity that the integrator conserves, \[energy\]. A
    /// larger change ends the run when it is observed.
    pub max_drift: Option<f64>,
    /// Integrator of the equations of motion.
    pub integrator: Integrator,
    /// Barostat, if any.
    pub barostat: Option<Barostat>,
    /// Steps over which ramps of the integrator's keys extend.
    pub schedule: Range<u64>,
    /// Search for pairs.
    pub neighbor: NeighborConfig,
    /// Division of the work.
    pub parallel: ParallelConfig,
}

impl Config {
    /// Describes one species of mass 1 in a periodic box in three dimensions, with time step 0.005
    /// and defaults for everything else.
    pub fn new(particles: impl Into<ParticleSource>, forces: impl Into<Forces>) -> Self {
        const TIMESTEP: f64 = 0.005;
        Self {
            particles: particles.into(),
            dimension: Dimension::Three,
            boundary: [Boundary::Periodic; 3],
            walls: Vec::new(),
            masses: vec![1.0],
            shares: vec![1.0],
            drift: [0.0; 3],
            temperature: None,
            displacement: 0.0,
            seed: 0,
            forces: forces.into(),
            tail_correction: TailCorrection::default(),
            timestep: TIMESTEP,
            max_drift: None,
            integrator: Integrator::default(),
            barostat: None,
            schedule: 0..0,
            neighbor: NeighborConfig::default(),
            parallel: ParallelConfig::default(),
        }
    }

    /// Returns this configuration with every lattice site displaced at random, by as much as keeps
    /// two particles at least one diameter apart (but at least a little). Particles from a list are
    /// not displaced.
    #[must_use]
    pub fn displaced(self, diameter: f64) -> Self {
        /// In units of the distance between neighbours.
        const LEAST: f64 = 0.02;
        let displacement = self.particles.lattice().map_or(0.0, |lattice| {
            let distance = lattice.nearest_distance();
            ((distance - diameter) / (2.0 * 3_f64.sqrt())).max(LEAST * distance)
        });
        Self { displacement, ..self }
    }

    pub(crate) fn domain(&self) -> Domain {
        let (origin, lengths) = match &self.particles {
            ParticleSource::Lattice(lattice) => ([0.0; 3], lattice.lengths()),
            ParticleSource::Thinned(thinned) => ([0.0; 3], thinned.lattice().lengths()),
            ParticleSource::Regions(regions) => ([0.0; 3], regions.lengths),
            ParticleSource::Gas(gas) => ([0.0; 3], gas.lengths),
            ParticleSource::List { origin, lengths, .. } => (*origin, *lengths),
        };
        Domain { dimension: self.dimension, origin, lengths, boundary: self.boundary }
    }

    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let species = match &self.forces {
            Forces::Pairs(potential) => potential.species(),
            Forces::Own { .. } => self.masses.len(),
        };
        let (masses, shares) = (self.masses.len(), self.shares.len());
        if masses != species || shares != species {
            return wrong(format!("{masses} masses and {shares} shares for {species} species"));
        }
        self.masses.iter().try_for_each(|&mass| positive("a mass", mass))?;
        if let Some(temperature) = self.temperature {
            not_negative("the temperature", temperature)?;
            initial::check_temperature(self, temperature)?;
        }
        if !self.drift.iter().all(|velocity| velocity.is_finite()) {
            return wrong(format!("the drift is {:?}, not finite numbers", self.drift));
        }
        not_negative("the displacement", self.displacement)?;
        positive("the cutoff", self.forces.cutoff())?;
        let lengths = self.domain().lengths;
        if lengths.iter().any(|length| !(*length > 0.0 && length.is_finite())) {
            return wrong(format!("the box is {lengths:?} long, not positive numbers"));
        }
        placement::check_digits(&self.domain(), self.forces.cutoff())?;
        positive("the time step", self.timestep)?;
        self.max_drift.map_or(Ok(()), |max_drift| positive("the largest drift of the energy", max_drift))?;
        self.integrator.check()?;
        if let Some(barostat) = &self.barostat {
            barostat.check(self.dimension, self.boundary, &self.integrator)?;
            barostat.check_relaxation(self.timestep)?;
        }
        placement::check_walls(&self.walls, &self.domain())?;
        check_neighbor(self.neighbor)?;
        let share = self.parallel.second_share.at_first();
        if !(0.0..=1.0).contains(&share) {
            return wrong(format!("the second part of the inner pairs is {share} of them, not 0 to 1"));
        }
        self.parallel.balance.check()?;
        self.parallel.protocol.check(self)?;
        match &self.particles {
            ParticleSource::List { particles, .. } => {
                placement::check_numbers(particles, species)?;
                self.particle_faults().next().map_or(Ok(()), |fault| Err(fault.into()))
            }
            ParticleSource::Regions(regions) => {
                let highest = regions.highest_species().map_or(0, |species| species as usize);
                if highest >= species {
                    return wrong(format!(
                        "a region has particles of species {highest} of {species}, counted from 0"
                    ));
                }
                if regions.draws_species() { placement::check_shares(&self.shares) } else { Ok(()) }
            }
            ParticleSource::Lattice(_) | ParticleSource::Thinned(_) | ParticleSource::Gas(_) => {
                placement::check_shares(&self.shares)
            }
        }
    }

    /// Returns the faults of listed particles, one by one: of their positions and, unless
    /// velocities are drawn, of their velocities. [`crate::Setup::new`] returns the first as an
    /// error.
    pub fn particle_faults(&self) -> impl Iterator<Item = ParticleFault> {
        let (listed, shared) = match &self.particles {
            ParticleSource::List { particles, share, .. } => (&particles[..], share.as_ref()),
            _ => (&[][..], None),
        };
        let own = || listed.first().map(|first| FirstOfAll { id: first.id, z: first.position[2] });
        let first = shared.map_or_else(own, |share| Some(share.first));
        let (domain, is_drawn) = (self.domain(), self.temperature.is_some());
        listed.iter().flat_map(move |particle| {
            let moves = if is_drawn { None } else { placement::velocity_fault(particle, &domain) };
            placement::fault(particle, first, &domain).into_iter().chain(moves)
        })
    }
}

fn wrong(what: String) -> Result<(), EngineError> {
    Err(EngineError::Config(what))
}

fn positive(what: &str, value: f64) -> Result<(), EngineError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    wrong(format!("{what} is {value}, not a positive number"))
}

fn not_negative(what: &str, value: f64) -> Result<(), EngineError> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    wrong(format!("{what} is {value}, not a number from 0"))
}

fn check_neighbor(NeighborConfig { skin, rebuild, .. }: NeighborConfig) -> Result<(), EngineError> {
    not_negative("the skin", skin)?;
    match rebuild {
        RebuildPolicy::Every(steps) if steps > 1 && skin == 0.0 => {
            wrong(format!("the skin is 0, but lists are made anew every {steps} steps only"))
        }
        RebuildPolicy::Every(_) | RebuildPolicy::Displacement => Ok(()),
    }
}
