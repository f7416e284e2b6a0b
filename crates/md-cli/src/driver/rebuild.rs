//! The steps that rebuild: who moves to which rank, who is a ghost where, which pairs are looked at.

use md_core::migrate::take_migrants;
use md_core::rebuild::{Due, Verdict};

use super::error::RunError;
use super::halo::HaloState;
use super::simulation::Simulation;
use crate::report::Phase;

impl Simulation<'_> {
    /// Whether this step rebuilds; asks all ranks where the policy looks at displacements.
    pub(super) fn rebuild_due(&mut self) -> Result<Due, RunError> {
        match self.watch.count_step() {
            Verdict::Decided(due) => Ok(due),
            Verdict::AskAllRanks => {
                let mut largest = [self.clock.time(Phase::Neighbor, || {
                    self.watch.displacement2(&self.particles, &self.setup.threads)
                })];
                self.clock.time(Phase::HaloWait, || self.world.max(&mut largest))?;
                Ok(self.watch.decide(largest[0]))
            }
        }
    }

    /// A rebuild in the course of the run: makes sure nobody is lost, and counts. *Collective.*
    pub(super) fn rebuild(&mut self) -> Result<(), RunError> {
        let largest = self.check_lost()?;
        self.rebuilds += 1;
        self.dangerous_rebuilds += u64::from(self.watch.is_dangerous(largest));
        self.move_and_rebuild()
    }

    /// Makes sure nobody has moved too far to be followed, and returns the largest squared displacement since the last
    /// rebuild. *Collective.*
    pub(super) fn check_lost(&mut self) -> Result<f64, RunError> {
        let reach = self.setup.grid.shortest_edge();
        let mut largest = [self
            .clock
            .time(Phase::Neighbor, || self.watch.displacement2(&self.particles, &self.setup.threads))];
        self.clock.time(Phase::HaloWait, || self.world.max(&mut largest))?;
        if largest[0] > reach * reach {
            self.report_lost(reach)?;
        }
        Ok(largest[0])
    }

    /// Migrates, sorts, makes the border and the method's work. *Collective.*
    pub(super) fn move_and_rebuild(&mut self) -> Result<(), RunError> {
        let Self { setup, plan, particles, cells, halo, clock, method, watch, .. } = self;
        clock.time(Phase::Migrate, || {
            setup.domain.wrap(particles, &setup.threads);
            let (outgoing, threads) = (halo.outgoing(), &setup.threads);
            match take_migrants(particles, &setup.grid, plan, &setup.partition, outgoing, threads) {
                Some(stray) => Err(RunError::Stray(stray.id, stray.position)),
                None => halo.migrate(particles),
            }
        })?;
        clock.time(Phase::Neighbor, || cells.sort(particles, &setup.grid, plan, &setup.threads));
        clock.time(Phase::Border, || {
            halo.border(&mut HaloState {
                particles,
                cells,
                plan,
                domain: &setup.domain,
                threads: &setup.threads,
            })
        })?;
        clock.time(Phase::Neighbor, || {
            method.rebuild(setup.system(plan, cells), particles);
            watch.rebuilt(particles);
        });
        Ok(())
    }
}
