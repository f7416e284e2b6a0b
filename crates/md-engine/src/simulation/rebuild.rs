//! Rebuild steps: migration of particles, new ghosts and new neighbour lists.

use std::time::Instant;

use md_core::force::MethodKind;
use md_core::migrate::{StrayParticle, take_migrants};
use md_core::prediction::Prediction;
use md_core::rebuild::{Due, RebuildDecision};
use md_core::{CellGrid, HaloPlan, Particles, Partition, Threads};

use super::{Neighborhood, Simulation};
use crate::clock::Phase;
use crate::division::halo::{HaloView, Messages, Migration, total};
use crate::division::{Decomposition, Division};
use crate::error::EngineError;
use crate::forces::{ForceList, GhostPositions};
use crate::state::State;

/// Whether a step rebuilds, and the displacement on which the decision is based.
pub(super) struct RebuildAnswer {
    pub(super) due: Due,
    /// Largest displacement over all ranks, squared, if the decision required it.
    pub(super) displacement2: Option<f64>,
}

/// Owner rank of each particle.
struct Owners<'a> {
    grid: &'a CellGrid,
    partition: &'a Partition,
    plan: &'a HaloPlan,
    /// Positions that decide.
    prediction: Prediction,
    threads: &'a Threads,
}

impl Owners<'_> {
    /// Moves particles that this rank does not own into the messages to their owners.
    fn take(&self, particles: &mut Particles, messages: Messages) -> Result<(), EngineError> {
        let Self { grid, partition, plan, prediction, threads } = *self;
        take_migrants(particles, grid, plan, partition, prediction, threads, messages)
            .map_err(|StrayParticle(stray)| EngineError::Stray(stray.id, stray.position))
    }
}

impl<'w> Simulation<'w> {
    /// Returns whether this step rebuilds. If the policy checks displacements, this takes the
    /// maximum over all ranks.
    pub(super) fn rebuild_due(&mut self) -> Result<RebuildAnswer, EngineError> {
        self.finish_last_reduction()?;
        match self.neighborhood.watch.count_step() {
            _ if self.neighborhood.next_division.is_some() => {
                Ok(RebuildAnswer { due: Due::Yes, displacement2: None })
            }
            RebuildDecision::Known(due) => Ok(RebuildAnswer { due, displacement2: None }),
            RebuildDecision::AskAllRanks => {
                self.start_displacement2()?;
                if self.world.ranks() > 1 && !self.neighborhood.watch.may_be_due() {
                    return Ok(RebuildAnswer { due: Due::No, displacement2: None });
                }
                let largest = self.largest_displacement2()?;
                Ok(RebuildAnswer {
                    due: self.neighborhood.watch.decide(largest),
                    displacement2: Some(largest),
                })
            }
        }
    }

    /// Checks that a kept neighbourhood is still valid, and counts the step if it is not: the
    /// results about to be reported may lack pairs. *Collective.*
    pub(super) fn check_neighborhood(&mut self, displacement2: Option<f64>) -> Result<(), EngineError> {
        let displacement = self.check_lost(displacement2)?;
        if !self.can_lack_pairs() {
            return Ok(());
        }
        let over_half_skin = self.neighborhood.watch.over_half_skin(displacement);
        let is_dangerous = self.note_displacement(self.state.step, over_half_skin);
        self.accounts.rebuilds.dangerous_checks += u64::from(is_dangerous);
        Ok(())
    }

    /// Returns whether large displacements can cause missing pairs. A direct sum has no lists, but
    /// it has ghosts, except on one rank between walls.
    fn can_lack_pairs(&self) -> bool {
        let domain = &self.state.domain;
        let has_ghosts =
            self.world.ranks() > 1 || (0..domain.dimension.count()).any(|dim| domain.is_periodic(dim));
        has_ghosts || self.setup.config.neighbor.method != MethodKind::DirectSum
    }

    /// Records the displacement over half the skin of a step, and returns whether it is dangerous.
    fn note_displacement(&mut self, step: u64, displacement: f64) -> bool {
        let tolerated = self.setup.config.neighbor.tolerated;
        let limit = tolerated.map_or(1.0, |tolerated| tolerated.largest_displacement);
        self.accounts.rebuilds.note(step, displacement, limit)
    }

    /// Rebuilds during the run: checks for lost particles and counts the rebuild. Returns whether
    /// ghosts have the true positions. *Collective.*
    pub(super) fn rebuild(&mut self, displacement2: Option<f64>) -> Result<GhostPositions, EngineError> {
        let timestep = self.timestep();
        let watch = &mut self.neighborhood.watch;
        // A barostat that shrinks the box needs the whole skin if displacements are not checked.
        if self.state.barostat.is_none() || !watch.can_be_late() {
            watch.predict(timestep, &self.state.domain);
        }
        let largest = self.check_lost(displacement2)?;
        self.accounts.rebuilds.rebuilds += 1;
        if self.neighborhood.watch.can_be_late() && self.can_lack_pairs() {
            let displacement = self.neighborhood.watch.over_half_skin(largest);
            let is_dangerous = self.note_displacement(self.state.step, displacement);
            self.accounts.rebuilds.dangerous_rebuilds += u64::from(is_dangerous);
        }
        if let Some(division) = self.neighborhood.next_division.take() {
            self.redistribute(division)?;
        }
        self.move_and_rebuild()
    }

    /// Starts the reduction of the largest displacement over all ranks. *Collective.*
    fn start_displacement2(&mut self) -> Result<(), EngineError> {
        let Self { state, neighborhood: Neighborhood { watch, .. }, threads, clock, world, ending, .. } =
            self;
        let displacement2 = clock.time(Phase::Neighbor, || watch.displacement2(&state.particles, threads));
        let asked = [displacement2, ending.vote()];
        clock.time(Phase::HaloWait, || world.start_max(&asked))?;
        self.neighborhood.pending_displacement2 = Some((state.step, asked));
        Ok(())
    }

    /// Returns the largest squared displacement over all ranks since the last rebuild.
    /// *Collective.*
    pub(super) fn largest_displacement2(&mut self) -> Result<f64, EngineError> {
        if self.neighborhood.pending_displacement2.is_none() {
            self.start_displacement2()?;
        }
        self.receive_displacement2()
    }

    /// Finishes the reduction in progress, at the latest before the next one starts. *Collective.*
    pub(super) fn receive_displacement2(&mut self) -> Result<f64, EngineError> {
        let Self { neighborhood, clock, world, ending, .. } = self;
        let Some((step, mut largest)) = neighborhood.pending_displacement2.take() else { return Ok(0.0) };
        clock.time(Phase::HaloWait, || world.finish_max(&mut largest))?;
        let [displacement2, votes] = largest;
        ending.count(votes, step);
        neighborhood.watch.hear(displacement2);
        Ok(displacement2)
    }

    /// Finishes the reduction of the last step if no rank has waited for it. The step is not
    /// expected to have been dangerous; if it was, it is counted. *Collective.*
    pub(super) fn finish_last_reduction(&mut self) -> Result<(), EngineError> {
        let Some((step, _)) = self.neighborhood.pending_displacement2 else { return Ok(()) };
        let largest = self.receive_displacement2()?;
        if self.neighborhood.watch.decide(largest) == Due::Yes {
            self.note_displacement(step, self.neighborhood.watch.over_half_skin(largest));
            self.accounts.rebuilds.dangerous_checks += 1;
        }
        Ok(())
    }

    /// Replaces the decomposition and sends every particle to its new owner, which can be any rank.
    /// *Collective.*
    fn redistribute(&mut self, division: Division) -> Result<(), EngineError> {
        let parallel = &self.setup.config.parallel;
        let new = Decomposition::open(self.world, division, parallel, &self.state.particles)?;
        let others = self.decomposition.peers_to(&new, self.world.rank(), self.world.ranks());
        let Decomposition { halo: closed, .. } = std::mem::replace(&mut self.decomposition, new);
        let replaced = closed.traffic();
        closed.finalise()?;
        let mut migration = Migration::open(self.world, others, parallel.buffering)?;
        let Self { state: State { particles, domain, .. }, decomposition, threads, .. } = self;
        domain.wrap(particles, threads);
        let Decomposition { grid, partition, plan, .. } = decomposition;
        let owners = Owners { grid, partition, plan, prediction: Prediction::NOW, threads };
        migration.exchange(
            particles,
            |particles, messages| owners.take(particles, messages),
            &mut Vec::new(),
        )?;
        let closed = [self.accounts.traffic_closed, replaced, migration.context().traffic()];
        self.accounts.traffic_closed = total(closed);
        migration.finalise()
    }

    /// Migrates and sorts particles, makes the border and rebuilds the data of the forces, all for
    /// predicted positions. Returns whether ghosts have the true positions. *Collective.*
    pub(super) fn move_and_rebuild(&mut self) -> Result<GhostPositions, EngineError> {
        let Self {
            state: State { particles, domain, .. }, decomposition, neighborhood, clock, threads, ..
        } = self;
        let Neighborhood { cells, watch, .. } = neighborhood;
        let prediction = watch.prediction();
        let Decomposition { grid, partition, plan, halo, .. } = decomposition;
        clock.time(Phase::Migrate, || {
            prediction.wrap(domain, particles, threads);
            let owners = Owners { grid, partition, plan, prediction, threads };
            halo.migrate(particles, |particles, messages| owners.take(particles, messages))
        })?;
        clock.time(Phase::Neighbor, || {
            cells.sort_predicted(particles, grid, plan, prediction, threads);
            watch.move_ahead(particles, threads);
        });
        let begun = Instant::now();
        halo.make_border(&mut HaloView { particles, cells, plan, domain, threads, clock })?;
        clock.book_since(Phase::Border, begun);
        let (begun, claimed_s) = (Instant::now(), clock.claimed_s());
        self.visit_forces(GhostPositions::Fresh, ForceList::rebuild)?;
        self.neighborhood.watch.rebuilt(&mut self.state.particles, self.state.domain.lengths);
        self.clock.book_rest(Phase::Neighbor, begun, claimed_s);
        Ok(if prediction.is_now() { GhostPositions::Fresh } else { GhostPositions::Stale })
    }
}
