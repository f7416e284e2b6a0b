//! Change of the box by a barostat, between two steps: particles, box, grid, images and rebuild
//! watch are stretched together, then forces and energy are recomputed.
//!
//! Cells keep their number and their owners until they are too thin for cutoff and skin, or so long
//! that more of them would fit: then the box is divided again. Pair lists are kept as long as their
//! skin lasts; a shrinking box uses up part of it.

use md_core::force::Summation;
use md_core::rebuild::Due;
use md_core::{Domain, Evaluation};

use super::Simulation;
use super::box_course::PlannedChange;
use crate::config::NeighborConfig;
use crate::division::Division;
use crate::error::EngineError;
use crate::forces::GhostPositions;
use crate::motion::barostat::Stretch;

/// Minimum cell length, in units of cutoff + skin, for a new division into more cells, so that a
/// box whose size fluctuates is not divided repeatedly.
const MORE_CELLS_AT: f64 = 1.05;

impl Simulation<'_> {
    /// Returns whether the box changes after this step, which requires energy and virial.
    pub(super) fn barostat_acts_after(&self, step: u64) -> bool {
        self.state.barostat.as_ref().is_some_and(|barostat| barostat.acts_after(step))
    }

    /// Changes the box if the barostat acts after the present step. Must be called before the next
    /// step, after observers have seen this one. *Collective.*
    pub(super) fn couple_pressure(&mut self) -> Result<(), EngineError> {
        let planned = match self.box_course.take_plan() {
            Some(planned) => planned,
            None => self.unwatched_change()?,
        };
        let PlannedChange::Stretch { stretch, energy, drift } = planned else { return Ok(()) };
        self.accounts.box_changes.note(stretch.extent);
        self.stretch_box(stretch, drift)?;
        let sums = self.system_sums()?;
        let work = 0.5 * sums.twice_kinetic() + sums.pairs.energy + self.accounts.tail.energy - energy;
        if let Some(barostat) = &mut self.state.barostat {
            barostat.work += work;
        }
        Ok(())
    }

    /// Returns the change of the box when steps are made one by one, without a run that could end
    /// normally. *Collective.*
    fn unwatched_change(&mut self) -> Result<PlannedChange, EngineError> {
        let planned = self.planned_change()?;
        if let PlannedChange::Stretch { stretch, .. } = &planned
            && let Some(problem) = self.box_problem(&self.state.domain.stretched(stretch.lengths), &[])
        {
            return Err(EngineError::Box { step: self.state.step, problem });
        }
        Ok(planned)
    }

    /// Changes the box; velocities are scaled about the drift of the whole system.
    fn stretch_box(
        &mut self,
        Stretch { lengths, velocities, .. }: Stretch,
        drift: [f64; 3],
    ) -> Result<(), EngineError> {
        let list_radius = self.list_radius();
        let (state, threads) = (&mut self.state, &self.threads);
        let stretched = match self.setup.config.neighbor.summation {
            Summation::Rounded => {
                state.particles.stretch_positions(state.domain.origin, lengths, threads);
                state.domain.stretched(lengths)
            }
            Summation::Exact => state.domain.stretch_in_quanta(&mut state.particles, lengths),
        };
        state.particles.scale_velocities_about(drift, velocities, threads);
        state.particles.clear_forces(threads);
        self.follow_box(stretched);
        match (self.division_for_box(list_radius)?, &mut self.neighborhood.next_division) {
            (Some(division), next) => *next = Some(division),
            (None, Some(division)) => division.grid = division.grid.over(self.state.domain),
            (None, None) => (),
        }
        let ghosts = if self.must_rebuild_stretched()? { self.rebuild(None)? } else { GhostPositions::Stale };
        self.compute_forces(ghosts, Evaluation::WithEnergyAndVirial)
    }

    /// Adapts everything that depends on the box, except the particles, until the next rebuild. The
    /// bits of the result do not depend on the number of changes since the last rebuild.
    pub(super) fn follow_box(&mut self, domain: Domain) {
        let list_radius = self.list_radius();
        let Self { decomposition, neighborhood, state, setup, .. } = self;
        (state.domain, setup.domain) = (domain, domain);
        decomposition.grid = decomposition.grid.over(domain);
        decomposition.halo.stretch(&domain);
        neighborhood.watch.stretch(list_radius, &domain);
        self.accounts.tail = self.tail_now();
    }

    /// Returns another division if the present cells are too thin or far too long.
    fn division_for_box(&self, list_radius: f64) -> Result<Option<Division>, EngineError> {
        let domain = self.state.domain;
        // If another division takes effect in this step, its cells must fit, not the present ones.
        let coming = self.neighborhood.next_division.as_ref().map(|division| division.grid.over(domain));
        let grid = coming.as_ref().unwrap_or(&self.decomposition.grid);
        let is_too_thin = self.setup.check_cells(grid, self.setup.config.forces.cutoff()).is_err();
        let (parallel, ranks) = (&self.setup.config.parallel, self.world.ranks());
        let rank_grid = parallel.rank_grid_for(&domain, ranks);
        let divided =
            |least: f64| Division::new(domain, least, self.atoms(), ranks, parallel.partition, rank_grid);
        if is_too_thin {
            return Ok(Some(divided(list_radius)?));
        }
        let finer = divided(MORE_CELLS_AT * list_radius).ok();
        Ok(finer.filter(|division| division.grid.len() > grid.len()))
    }

    /// Returns whether lists are no longer valid in the stretched box. *Collective.*
    fn must_rebuild_stretched(&mut self) -> Result<bool, EngineError> {
        if self.neighborhood.next_division.is_some() || self.neighborhood.watch.is_used_up() {
            return Ok(true);
        }
        if self.neighborhood.watch.can_be_late() {
            return Ok(false);
        }
        let largest = self.largest_displacement2()?;
        Ok(self.neighborhood.watch.decide(largest) == Due::Yes)
    }

    fn list_radius(&self) -> f64 {
        let NeighborConfig { skin, .. } = self.setup.config.neighbor;
        self.setup.config.forces.cutoff() + skin
    }
}
