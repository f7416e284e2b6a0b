//! What observers of a simulation get to see.

use std::time::Instant;

use md_core::observables::SystemSums;

use super::{FIRST_RANK, Simulation};
use crate::checkpoint::{SavedState, Shared, division};
use crate::clock::Phase;
use crate::division::Decomposition;
use crate::error::EngineError;
use crate::forces::{ForceList, GhostPositions, NearPairs};
use crate::measure::{Needs, Observer, RunsOn, Snapshot};
use crate::report::{ParticleRow, RowVector, Thermo};
use crate::state::State;

impl Simulation<'_> {
    /// Passes the present state to the observers that are due. *Collective.*
    pub(super) fn observe(&mut self, observers: &mut [&mut dyn Observer]) -> Result<(), EngineError> {
        let step = self.state.step;
        if !observers.is_empty() {
            self.accounts.observed = Some(step);
        }
        let mut seen = Seen::default();
        for observer in observers {
            let Some(needs) = observer.due(step) else { continue };
            self.provide(needs, &mut seen)?;
            if observer.runs_on() == RunsOn::FirstRank && self.world.rank() != FIRST_RANK {
                continue;
            }
            let snapshot = self.snapshot(&seen);
            let begun = Instant::now();
            let observed = observer.observe(&snapshot);
            self.clock.book_since(Phase::Output, begun);
            observed.map_err(EngineError::Observer)?;
        }
        Ok(())
    }

    /// Returns the state after this step, with the data computed so far.
    fn snapshot<'s>(&'s self, seen: &'s Seen) -> Snapshot<'s> {
        let State { particles, domain, step, time, integrator, .. } = &self.state;
        let rank = self.world.rank();
        let saved = |shared| SavedState { shared, particles, reference: self.neighborhood.watch.reference() };
        Snapshot {
            sums: seen.thermo.as_ref().map(|(sums, _)| sums),
            thermo: seen.thermo.as_ref().map(|(_, thermo)| thermo),
            gathered: seen.gathered.as_deref().filter(|_| rank == FIRST_RANK),
            particle_energies: seen.particle_energies.as_deref(),
            particle_virials: seen.particle_virials.as_ref(),
            near_pairs: Some(self.near_pairs()),
            neighborhood: self.accounts.rebuilds,
            box_warnings: self.box_warnings(),
            minimisation: integrator.minimisation(),
            conserved_momentum: self.conserved_momentum(),
            saved: seen.shared.as_deref().map(saved),
            time: *time,
            step: *step,
            rank,
            domain,
            particles,
        }
    }

    fn near_pairs(&self) -> NearPairs<'_> {
        let Decomposition { grid, plan, pairs, .. } = &self.decomposition;
        NearPairs {
            forces: self.forces.as_slice(),
            particles: &self.state.particles,
            cells: &self.neighborhood.cells,
            grid,
            plan,
            pairs,
            threads: &self.threads,
            simd: self.setup.simd,
        }
    }

    /// Computes the data that an observer needs and that are not in `seen` yet.
    fn provide(&mut self, needs: Needs, seen: &mut Seen) -> Result<(), EngineError> {
        if needs.contains(Needs::VELOCITIES) {
            self.complete_step()?;
        }
        if needs.contains(Needs::ENERGY_AND_VIRIAL) && seen.thermo.is_none() {
            let sums = self.system_sums()?;
            let thermo = self.thermo(&sums);
            self.check_drift(&thermo)?;
            seen.thermo = Some((sums, thermo));
        }
        if needs.contains(Needs::GATHERED_PARTICLES) && seen.gathered.is_none() {
            // This time counts as integration, not as output.
            self.complete_step()?;
            let begun = Instant::now();
            seen.gathered = Some(self.gather_rows(RowVector::Velocity)?);
            self.clock.book_since(Phase::Output, begun);
        }
        if needs.contains(Needs::PARTICLE_ENERGIES) && seen.particle_energies.is_none() {
            seen.particle_energies =
                self.visit_forces(GhostPositions::Stale, ForceList::particle_energies)?;
        }
        if needs.contains(Needs::PARTICLE_VIRIALS) && seen.particle_virials.is_none() {
            seen.particle_virials = self.visit_forces(GhostPositions::Stale, ForceList::particle_virials)?;
        }
        if needs.contains(Needs::SAVED_STATE) && seen.shared.is_none() {
            self.complete_step()?;
            self.finish_last_reduction()?;
            // Combines the contributions of the ranks to the integrator's memory.
            self.reservoir_now()?;
            seen.shared = Some(self.shared().words());
        }
        Ok(())
    }

    /// Returns the part of the state after this complete step that is the same on all ranks.
    fn shared(&self) -> Shared {
        let State { domain, step, time, integrator, barostat, .. } = &self.state;
        let work = barostat.as_ref().map_or(0.0, |barostat| barostat.work);
        Shared {
            step: *step,
            time: *time,
            timestep: self.timestep(),
            time_at_start: self.state.time_at_start,
            origin: domain.origin,
            lengths: domain.lengths,
            lengths_at_rebuild: self.neighborhood.watch.lengths(),
            simd: self.setup.simd,
            history: self.neighborhood.watch.history(),
            neighborhood: self.accounts.rebuilds,
            energy: self.accounts.energy,
            box_changes: self.accounts.box_changes,
            reservoirs: [self.accounts.earlier_reservoirs, work],
            division: division::words(&self.setup, &self.decomposition),
            balance: self.balancer.report.clone(),
            memory: integrator.memory(),
        }
    }
}

/// Data computed so far for the observers of one step.
#[derive(Default)]
struct Seen {
    thermo: Option<(SystemSums, Thermo)>,
    gathered: Option<Vec<ParticleRow>>,
    shared: Option<Vec<u64>>,
    particle_energies: Option<Vec<f64>>,
    particle_virials: Option<[Vec<f64>; 3]>,
}
