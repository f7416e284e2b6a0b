//! A barostat's change of the box, between two steps: particles, box, grid, images and the watch over the neighbourhood are
//! stretched together, then forces and energy are computed anew.
//!
//! Cells keep their number and their owners until they get too thin for the cutoff and skin, or so long that more of them would fit:
//! then the box is divided anew. Pair lists are kept as long as their skin lasts, of which a shrinking box takes its part.

use md_core::rebuild::Due;
use md_core::{Domain, Evaluation};

use crate::barostat::{PressureMoment, Stretch};
use crate::config::NeighborConfig;
use crate::decomposition::Division;
use crate::error::EngineError;
use crate::interaction::{GhostPositions, Interaction};
use crate::simulation::Simulation;

/// Of cutoff + skin: cells that must be that much longer before there are more of them, so that a box that breathes is not divided anew
/// all the time.
const MORE_CELLS_AT: f64 = 1.05;

impl<I: Interaction> Simulation<'_, I> {
    /// Whether the box changes after this step, for which energy and virial are needed.
    pub(crate) fn barostat_acts_after(&self, step: u64) -> bool {
        self.state.barostat.as_ref().is_some_and(|barostat| barostat.acts_after(step))
    }

    /// Changes the box if the barostat acts after the present step. To be called before the next one, when observers have seen
    /// this. *Collective.*
    pub(crate) fn couple_pressure(&mut self) -> Result<(), EngineError> {
        let step = self.state.step;
        if !self.barostat_acts_after(step) {
            return Ok(());
        }
        self.hear_of_last_step()?;
        let before = self.total_energy()?;
        let sums = self.system_sums()?;
        let observables = sums.observables(&self.state.domain, self.tail);
        let now = PressureMoment {
            step,
            pressure: observables.pressure_tensor,
            volume: self.state.domain.volume(),
            temperature: self.state.integrator.temperature(step).unwrap_or_default(),
        };
        let Some(stretch) = self.state.barostat.as_ref().map(|barostat| barostat.stretch(&now)) else {
            return Ok(());
        };
        self.box_changes.note(stretch.extent);
        self.stretch_box(stretch, sums.thermal.drift)?;
        let work = self.total_energy()? - before;
        if let Some(barostat) = &mut self.state.barostat {
            barostat.work += work;
        }
        Ok(())
    }

    /// Of all particles, with the tail. *Collective.*
    fn total_energy(&mut self) -> Result<f64, EngineError> {
        let sums = self.system_sums()?;
        Ok(0.5 * sums.twice_kinetic() + sums.pairs.energy + self.tail.energy)
    }

    /// Velocities are stretched about that of the whole system.
    fn stretch_box(
        &mut self,
        Stretch { lengths, velocities, .. }: Stretch,
        drift: [f64; 3],
    ) -> Result<(), EngineError> {
        let list_radius = self.list_radius();
        let (state, threads) = (&mut self.state, &self.threads);
        let origin = state.domain.origin;
        state.particles.stretch_positions(origin, lengths, threads);
        state.particles.scale_velocities_about(drift, velocities, threads);
        state.particles.clear_forces(threads);
        let stretched = state.domain.stretched(lengths);
        self.follow_box(stretched);
        match &mut self.next_division {
            Some(division) => division.grid = division.grid.over(self.state.domain),
            None => self.next_division = self.division_for_box(list_radius)?,
        }
        let ghosts = if self.must_rebuild_stretched()? {
            self.rebuild(None)?;
            GhostPositions::Fresh
        } else {
            GhostPositions::Stale
        };
        self.compute_forces(ghosts, Evaluation::WithEnergyAndVirial)
    }

    /// Stretches what belongs to the box until the next rebuild, but for the particles: to the same bits however many changes of the
    /// box there were since the last one.
    pub(crate) fn follow_box(&mut self, domain: Domain) {
        let list_radius = self.list_radius();
        let Self { decomposition, watch, state, setup, .. } = self;
        (state.domain, setup.domain) = (domain, domain);
        decomposition.grid = decomposition.grid.over(domain);
        decomposition.halo.stretch(&domain);
        watch.stretch(list_radius, &domain);
        self.tail = self.tail_now();
    }

    /// Another division, if the present cells are too thin or far too long.
    fn division_for_box(&self, list_radius: f64) -> Result<Option<Division>, EngineError> {
        let (domain, grid) = (self.state.domain, &self.decomposition.grid);
        let is_too_thin = self.setup.check_cells(grid, self.interaction.cutoff()).is_err();
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

    /// Whether lists do not hold in the stretched box. *Collective.*
    fn must_rebuild_stretched(&mut self) -> Result<bool, EngineError> {
        if self.next_division.is_some() || self.watch.is_used_up() {
            return Ok(true);
        }
        if self.watch.can_be_late() {
            return Ok(false);
        }
        let largest = self.largest_displacement2()?;
        Ok(self.watch.decide(largest) == Due::Yes)
    }

    fn list_radius(&self) -> f64 {
        let NeighborConfig { skin, .. } = self.setup.config.neighbor;
        self.interaction.cutoff() + skin
    }
}
