//! Simulation on one rank: its parts, and runs of many steps.

mod balance;
mod box_course;
mod checks;
mod cold_start;
mod create;
mod ending;
mod frozen;
mod integrity;
mod levels;
mod observe;
mod rebuild;
mod results;
mod resume;
mod stage;
mod step;
mod stretch;
mod thermo;

use md_comm::{Traffic, World};
use md_core::memory;
use md_core::potential::Tail;
use md_core::rebuild::RebuildWatch;
use md_core::{Evaluation, Field, FieldSpec, LocalCells, PairSums, Particles, Threads};

use crate::balance::Balancer;
use crate::clock::PhaseClock;
use crate::division::{Decomposition, Division};
use crate::error::EngineError;
use crate::forces::{ForceList, GhostPositions};
use crate::measure::{Needs, Observer};
use crate::motion::barostat::BoxReport;
use crate::report::{EnergyReport, NeighborReport};
use crate::setup::Setup;
use crate::state::State;
use box_course::BoxCourse;
pub use cold_start::ColdStart;
use ending::Ending;

/// Rank that gets the data of all.
const FIRST_RANK: usize = 0;

/// One rank of a running simulation.
pub struct Simulation<'w> {
    world: &'w dyn World,
    setup: Setup,
    threads: Threads,
    /// Particles, box, integrator, barostat and clock.
    state: State,
    /// Cells of this rank and the halo around them.
    decomposition: Decomposition<'w>,
    /// Order of the particles, for which ghosts and lists hold.
    neighborhood: Neighborhood,
    forces: ForceList<'w>,
    /// Changes of the box that are due.
    box_course: BoxCourse,
    /// Vote of the ranks to end.
    ending: Ending,
    balancer: Balancer,
    clock: PhaseClock,
    /// What is reported, and what reports need.
    accounts: Accounts,
}

/// Order of the particles in memory between two rebuilds.
struct Neighborhood {
    cells: LocalCells,
    watch: RebuildWatch,
    /// Reduction over all ranks in progress: its step, the largest squared displacement and the
    /// votes to end.
    pending_displacement2: Option<(u64, [f64; 2])>,
    /// Division that replaces the decomposition at the next step.
    next_division: Option<Division>,
}

/// Sums and statistics of a simulation.
#[derive(Default)]
struct Accounts {
    /// Sums of this rank's forces, and the last step that computed them.
    pairs: PairSums,
    pairs_step: u64,
    tail: Tail,
    /// Particles of each species in the whole system; empty without tail correction.
    species_counts: Vec<u64>,
    /// Conserved energy minus total energy, when last computed.
    reservoir_energy: f64,
    /// Part of it from integrators and barostats of earlier stages.
    earlier_reservoirs: f64,
    /// Step at which measuring began, and the traffic until then.
    measured_from: u64,
    traffic_before: Traffic,
    /// Traffic of contexts that have been replaced.
    traffic_closed: Traffic,
    /// Last step that observers have seen.
    observed: Option<u64>,
    rebuilds: NeighborReport,
    energy: EnergyReport,
    box_changes: BoxReport,
    /// Checks of the sum of all forces.
    integrity_checks: u64,
}

impl<'w> Simulation<'w> {
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
        if self.accounts.observed != Some(self.state.step) {
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
        if self.accounts.pairs_step == self.state.step {
            return Ok(());
        }
        self.complete_step()?;
        self.state.particles.clear_forces(&self.threads);
        self.compute_forces(GhostPositions::Stale, Evaluation::WithEnergyAndVirial)
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

    /// Returns the forces.
    pub fn forces(&self) -> &ForceList<'w> {
        &self.forces
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
        self.receive_displacement2()?;
        self.decomposition.halo.finalise()
    }
}
