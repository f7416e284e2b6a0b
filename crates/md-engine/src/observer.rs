//! Observers: what looks at a run. Thermo tables, trajectories and progress bars are observers, and so is your own.

use std::error::Error;
use std::ops::BitOr;

use md_core::observables::SystemSums;
use md_core::{ConservedMomentum, Domain, Particles};

use crate::checkpoint::SavedState;
use crate::integrator::Minimisation;
use crate::near_pairs::NearPairs;
use crate::report::{NeighborReport, ParticleRow, Thermo};

/// What an observer needs of the state it is about to see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs(u8);

impl Needs {
    /// Step and time alone.
    pub const NOTHING: Self = Self(0);
    /// Velocities at the full step, in [`Snapshot::particles`].
    pub const VELOCITIES: Self = Self(1);
    /// Energies, virial, temperature and pressure of the whole system: [`Snapshot::thermo`]; a step with them takes longer.
    pub const ENERGY_AND_VIRIAL: Self = Self(2);
    /// All particles on rank 0: [`Snapshot::gathered`].
    pub const GATHERED_PARTICLES: Self = Self(4);
    /// All that later steps depend on: [`Snapshot::saved`].
    pub const SAVED_STATE: Self = Self(8);
    /// The energy of each particle: [`Snapshot::particle_energies`].
    pub const PARTICLE_ENERGIES: Self = Self(16);
    /// The virial of each particle: [`Snapshot::particle_virials`].
    pub const PARTICLE_VIRIALS: Self = Self(32);

    /// Whether all of `others` are needed.
    pub fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Needs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// On which ranks an observer runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunsOn {
    /// On all; it may not communicate unless it does so on all.
    #[default]
    AllRanks,
    /// On rank 0.
    FirstRank,
}

/// The state of the simulation after a step. What an observer has not asked for may be missing.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// This rank.
    pub rank: usize,
    /// Steps made.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
    /// The global box.
    pub domain: &'a Domain,
    /// Particles of this rank; positions may lie outside the box until the next rebuild. Velocities are those of the full
    /// step only if asked for.
    pub particles: &'a Particles,
    /// The thermodynamic state of the system.
    pub thermo: Option<&'a Thermo>,
    /// The sums it was made from.
    pub sums: Option<&'a SystemSums>,
    /// All particles by id, with velocities, on rank 0; nothing elsewhere.
    pub gathered: Option<&'a [ParticleRow]>,
    /// Of the particles of this rank, in their order: half the energy of each of their pairs, without tail correction. Nothing where the
    /// interaction does not know it.
    pub particle_energies: Option<&'a [f64]>,
    /// Of the same particles, half the virial of each of their pairs, without tail correction: the columns xx, yy and zz.
    pub particle_virials: Option<&'a [Vec<f64>; 3]>,
    /// The pairs that forces are computed for; nothing where there are none, as in a frame of a trajectory.
    pub near_pairs: Option<NearPairs<'a>>,
    /// What a checkpoint is written from.
    pub saved: Option<SavedState<'a>>,
    /// How the neighbourhood has held so far.
    pub neighborhood: NeighborReport,
    /// The axes along which the total momentum is conserved.
    pub conserved_momentum: ConservedMomentum,
    /// How far the integrator has come, if it minimises.
    pub minimisation: Option<Minimisation>,
}

/// The error of an observer, of any type.
pub type ObserverError = Box<dyn Error + Send + Sync>;

/// What looks at a run. There is one on every rank, wherever it runs: `due` is asked on all.
pub trait Observer {
    /// What it needs after this step, the same on all ranks; `None` if it does not look at it.
    fn due(&self, step: u64) -> Option<Needs>;

    /// Looks at the state. Called after the steps that are due, on the ranks of [`Self::runs_on`].
    ///
    /// # Errors
    /// Whatever ends the run; it comes back as [`crate::EngineError::Observer`], on the ranks where it arose.
    fn observe(&mut self, snapshot: &Snapshot) -> Result<(), ObserverError>;

    /// Where it runs.
    fn runs_on(&self) -> RunsOn {
        RunsOn::AllRanks
    }

    /// Whether the run is to end early, because of a signal or a clock; asked before every step, on all ranks wherever it
    /// runs. It ends if one of them says so, after a step that they agree on.
    fn wants_end(&self) -> bool {
        false
    }

    /// The run ends early: the step that is to be made now is the last one. Told before [`Self::due`] is asked about it,
    /// on all ranks.
    fn ends_at(&mut self, _step: u64) {}

    /// The integrator comes to its end: the step that is to be made now is its last one. Told as [`Self::ends_at`] is, which it
    /// is to an observer that does not tell them apart.
    fn converges_at(&mut self, step: u64) {
        self.ends_at(step);
    }
}

/// An observer made of a closure; see [`every`].
pub struct Every<F> {
    interval: u64,
    needs: Needs,
    runs_on: RunsOn,
    look: F,
}

/// Calls a closure on all ranks at step 0 and every `interval` steps; with 0, at step 0 alone.
pub fn every<F>(interval: u64, needs: Needs, look: F) -> Every<F>
where
    F: FnMut(&Snapshot) -> Result<(), ObserverError>,
{
    Every { interval, needs, runs_on: RunsOn::AllRanks, look }
}

impl<F> Every<F> {
    /// The same on rank 0 alone.
    #[must_use]
    pub fn on_first_rank(self) -> Self {
        Self { runs_on: RunsOn::FirstRank, ..self }
    }
}

impl<F> Observer for Every<F>
where
    F: FnMut(&Snapshot) -> Result<(), ObserverError>,
{
    fn due(&self, step: u64) -> Option<Needs> {
        step.is_multiple_of(self.interval).then_some(self.needs)
    }

    fn observe(&mut self, snapshot: &Snapshot) -> Result<(), ObserverError> {
        (self.look)(snapshot)
    }

    fn runs_on(&self) -> RunsOn {
        self.runs_on
    }
}
