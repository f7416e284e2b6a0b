//! Observers of a run, such as thermo tables, trajectories and progress bars.

use std::error::Error;
use std::ops::BitOr;

use md_core::observables::SystemSums;
use md_core::{ConservedMomentum, Domain, Particles};

use crate::checkpoint::SavedState;
use crate::forces::NearPairs;
use crate::motion::integrator::Minimisation;
use crate::report::{NeighborReport, ParticleRow, Thermo};

/// Data that an observer needs of the state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs(u8);

impl Needs {
    /// Only step and time.
    pub const NOTHING: Self = Self(0);
    /// Velocities at the full step, in [`Snapshot::particles`].
    pub const VELOCITIES: Self = Self(1);
    /// Energies, virial, temperature and pressure of the whole system: [`Snapshot::thermo`]. A step
    /// with them takes longer.
    pub const ENERGY_AND_VIRIAL: Self = Self(2);
    /// All particles on rank 0: [`Snapshot::gathered`].
    pub const GATHERED_PARTICLES: Self = Self(4);
    /// Everything on which later steps depend: [`Snapshot::saved`].
    pub const SAVED_STATE: Self = Self(8);
    /// The energy of each particle: [`Snapshot::particle_energies`].
    pub const PARTICLE_ENERGIES: Self = Self(16);
    /// The virial of each particle: [`Snapshot::particle_virials`].
    pub const PARTICLE_VIRIALS: Self = Self(32);

    /// Returns whether all of `others` are needed.
    pub fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns the union of both.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

impl BitOr for Needs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

/// Ranks on which an observer runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunsOn {
    /// All ranks; it may not communicate unless it does so on all.
    #[default]
    AllRanks,
    /// Rank 0.
    FirstRank,
}

/// State of the simulation after a step. Data that an observer has not requested may be missing.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// This rank.
    pub rank: usize,
    /// Number of steps made.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
    /// Global box.
    pub domain: &'a Domain,
    /// Particles of this rank. Positions may lie outside the box until the next rebuild; velocities
    /// are those of the full step only if requested.
    pub particles: &'a Particles,
    /// Thermodynamic state of the system.
    pub thermo: Option<&'a Thermo>,
    /// Sums from which `thermo` was computed.
    pub sums: Option<&'a SystemSums>,
    /// All particles by id, with velocities, on rank 0; `None` elsewhere.
    pub gathered: Option<&'a [ParticleRow]>,
    /// Energies of the particles of this rank, in their order: half the energy of each of their
    /// pairs, and all of what a force gives to single particles, without tail correction. `None` if
    /// a force does not provide them.
    pub particle_energies: Option<&'a [f64]>,
    /// Virials of the same particles: half the virial of each of their pairs, without tail
    /// correction, in the columns xx, yy and zz.
    pub particle_virials: Option<&'a [Vec<f64>; 3]>,
    /// Pairs for which forces are computed; `None` if there are none, as in a frame of a
    /// trajectory.
    pub near_pairs: Option<NearPairs<'a>>,
    /// State from which a checkpoint is written.
    pub saved: Option<SavedState<'a>>,
    /// Statistics of rebuilds so far.
    pub neighborhood: NeighborReport,
    /// Warnings about the box so far.
    pub box_warnings: &'a [String],
    /// Axes along which the total momentum is conserved.
    pub conserved_momentum: ConservedMomentum,
    /// Progress of the integrator, if it minimises.
    pub minimisation: Option<Minimisation>,
}

/// Error of an observer, of any type.
pub type ObserverError = Box<dyn Error + Send + Sync>;

/// Observer of a run. Every rank has an instance, even if [`Self::observe`] runs on rank 0 only;
/// `due` is called on all.
pub trait Observer {
    /// Returns the data it needs after this step, the same on all ranks; `None` if it does not
    /// observe the step.
    fn due(&self, step: u64) -> Option<Needs>;

    /// Observes the state. Called after the steps that are due, on the ranks of [`Self::runs_on`].
    ///
    /// # Errors
    /// Any error ends the run; it is returned as [`crate::EngineError::Observer`], on the ranks
    /// where it occurred.
    fn observe(&mut self, snapshot: &Snapshot) -> Result<(), ObserverError>;

    /// Returns the ranks on which [`Self::observe`] is called.
    fn runs_on(&self) -> RunsOn {
        RunsOn::AllRanks
    }

    /// Returns whether the run is to end early, because of a signal or a time limit. Called before
    /// every step on all ranks, regardless of [`Self::runs_on`]. If one of them returns true, the
    /// run ends after a step on which all ranks agree.
    fn wants_end(&self) -> bool {
        false
    }

    /// Returns why it could not observe the system in this box, if so; the same on all ranks. The
    /// barostat then does not change the box to it, and the run ends normally.
    fn box_problem(&self, _domain: &Domain) -> Option<String> {
        None
    }

    /// Announces that the run ends early, after the given step. Called before [`Self::due`] for
    /// that step, on all ranks.
    fn ends_at(&mut self, _step: u64) {}

    /// Announces that the integrator has converged, so that the given step is the last one. Called
    /// in place of [`Self::ends_at`], which is the default.
    fn converges_at(&mut self, step: u64) {
        self.ends_at(step);
    }
}

/// Observer made from a closure; see [`every`].
pub struct Every<F> {
    interval: u64,
    needs: Needs,
    runs_on: RunsOn,
    look: F,
}

/// Returns an observer that calls a closure on all ranks at step 0 and every `interval` steps; with
/// 0, only at step 0.
pub fn every<F>(interval: u64, needs: Needs, look: F) -> Every<F>
where
    F: FnMut(&Snapshot) -> Result<(), ObserverError>,
{
    Every { interval, needs, runs_on: RunsOn::AllRanks, look }
}

impl<F> Every<F> {
    /// Restricts the observer to rank 0.
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
