//! Balance checks of a simulation, and changes of the division that follow from them.

use std::time::Instant;

use md_comm::Reduction;
use md_core::memory;
use md_core::partition::CellLoads;
use md_core::partition::weights::PARTICLE_WORK;

use super::Simulation;
use crate::balance::cost::{Change, LoadUnit};
use crate::balance::proposal::Proposal;
use crate::balance::replay::{Replay, Replayed, changed_cells};
use crate::balance::{BalanceReport, BalanceRule, BalanceWeights, Balancing, loads};
use crate::clock::Phase;
use crate::division::{Decomposition, Division};
use crate::error::EngineError;
use crate::setup::Setup;

impl Simulation<'_> {
    /// Returns the history of load balancing.
    pub fn balance_report(&self) -> &BalanceReport {
        &self.balancer.report
    }

    /// Checks the balance if a check is due, and prepares a new division for the next step.
    /// *Collective.*
    pub(super) fn balance(&mut self) -> Result<(), EngineError> {
        let done = self.state.step;
        let (grid, ranks) = (&self.decomposition.grid, self.world.ranks());
        let replayed = self.balancer.replay.as_mut().map(|replay| replay.take(done, grid, ranks));
        if let Some(division) = replayed.flatten() {
            return self.replace_decomposition(division);
        }
        match self.balancer.due(done) {
            // The caller has already set another division.
            Some(_) if self.neighborhood.next_division.is_some() => Ok(()),
            Some(rule) => memory::or_error(|| self.look_at_balance(rule))?,
            None => Ok(()),
        }
    }

    fn look_at_balance(&mut self, rule: BalanceRule) -> Result<(), EngineError> {
        let begun = Instant::now();
        let own = self.own_loads(rule)?;
        let mine: f64 = own.iter().sum();
        let mut words = [mine.round() as u64];
        self.world.reduce(&mut words, Reduction::Highest)?;
        let most = words[0] as f64;
        words = [mine.round() as u64];
        self.world.reduce(&mut words, Reduction::Sum)?;
        let mean = words[0] as f64 / self.world.ranks() as f64;
        let before = if mean > 0.0 { most / mean } else { 1.0 };
        let report = &mut self.balancer.report;
        report.checks += 1;
        report.imbalance_first.get_or_insert(before);
        report.imbalance_last = Some(before);
        let unit = match rule.weights {
            BalanceWeights::Pairs => LoadUnit::PairsOfAStep { steps: rule.every },
            BalanceWeights::Time => LoadUnit::Nanoseconds,
        };
        let least = self.change().least_ns();
        let can_pay = !self.balancer.is_auto || unit.ns(most - mean) > least;
        if before > rule.threshold && can_pay {
            self.divide_anew(&own, before, unit, rule.weights, begun)?;
        }
        if self.balancer.begun.is_none() {
            self.balancer.report.spent_s += begun.elapsed().as_secs_f64();
        }
        Ok(())
    }

    /// Returns a change of the division in which no particle changes rank.
    fn change(&self) -> Change {
        Change {
            particles_moved: 0.0,
            particles: self.setup.atoms() as f64,
            cells: self.decomposition.grid.len(),
            ranks: self.world.ranks(),
        }
    }

    /// Returns the work of this rank's cells: pairs of a step, or nanoseconds since the last check.
    fn own_loads(&mut self, rule: BalanceRule) -> Result<Vec<f64>, EngineError> {
        let Self { decomposition: Decomposition { grid, plan, .. }, neighborhood, forces, .. } = self;
        let cells = &neighborhood.cells;
        let mut own = forces.pairs_by_cell(cells, plan).unwrap_or_else(|| {
            // Without lists: possible pairs with the neighbouring cells.
            let count = |cell| plan.local_cell(cell).map_or(0.0, |local| cells.count(local as usize) as f64);
            let around = md_core::shell::neighbours(grid.domain().dimension);
            let met =
                |cell| around.iter().map(|&offset| count(md_core::grid::add(cell, offset))).sum::<f64>();
            plan.owned.iter().map(|&cell| 0.5 * count(cell) * (count(cell) + met(cell))).collect()
        });
        for (cell, work) in own.iter_mut().enumerate() {
            *work += PARTICLE_WORK * cells.count(cell) as f64;
        }
        if rule.weights == BalanceWeights::Time {
            let worked_s =
                [Phase::Integrate, Phase::Neighbor, Phase::Force].map(|phase| self.clock.seconds(phase));
            let worked_s: f64 = worked_s.iter().sum();
            // If measuring began since the last check, the times have been reset.
            let since = if worked_s >= self.balancer.worked_s { self.balancer.worked_s } else { 0.0 };
            self.balancer.worked_s = worked_s;
            let pairs: f64 = own.iter().sum();
            let scale = if pairs > 0.0 { (worked_s - since) * 1e9 / pairs } else { 0.0 };
            own.iter_mut().for_each(|work| *work *= scale);
        }
        Ok(own)
    }

    /// Gathers particles and work of all cells. *Collective.*
    fn gather_loads(&self, own: &[f64]) -> Result<CellLoads, EngineError> {
        let Decomposition { grid, plan, .. } = &self.decomposition;
        let cells = grid.len();
        let mut words = loads::words(2 * cells)?;
        for (local, (&cell, work)) in plan.owned.iter().zip(own).enumerate() {
            words[grid.linear(cell)] = self.neighborhood.cells.count(local) as u64;
            words[cells + grid.linear(cell)] = work.round() as u64;
        }
        self.world.reduce(&mut words, Reduction::Sum)?;
        let numbers = |words: &[u64]| words.iter().map(|&word| word as f64).collect();
        Ok(CellLoads { particles: numbers(&words[..cells]), work: numbers(&words[cells..]) })
    }

    /// Schedules the best proposal of the partition for the next step, if one is worth it.
    fn divide_anew(
        &mut self,
        own: &[f64],
        before: f64,
        unit: LoadUnit,
        weights: BalanceWeights,
        begun: Instant,
    ) -> Result<(), EngineError> {
        let loads = self.gather_loads(own)?;
        let (change, is_auto) = (self.change(), self.balancer.is_auto);
        let best = Proposal::best(&self.decomposition, &loads, unit, change, is_auto)?;
        let Some(best) = best else { return Ok(()) };
        let Decomposition { grid, partition, .. } = &self.decomposition;
        let division = Division { grid: grid.clone(), partition: best.partition.clone() };
        loads::agree(&best.owners, self.world)?;
        let is_told = weights == BalanceWeights::Time && self.world.rank() == 0;
        let changed = if is_told { changed_cells(grid, partition, &best.partition) } else { String::new() };
        self.balancer.report.balancings.push(Balancing {
            step: self.state.step,
            imbalance_before: before,
            imbalance_after: best.imbalance,
            particles_moved: best.particles_moved as u64,
            spent_s: 0.0,
            won_s: best.won_ns * 1e-9,
            division: changed,
        });
        self.balancer.report.imbalance_last = Some(best.imbalance);
        self.balancer.begun = Some(begun);
        self.replace_decomposition(division)
    }
}

impl Simulation<'_> {
    /// Changes the division as in another run of the same scenario on the same number of ranks,
    /// instead of checking the balance. Steps must ascend; changes before the current step are
    /// taken as done.
    ///
    /// # Errors
    /// [`EngineError::Replay`]: a change does not follow from the initial division, or its step is
    /// not one of a balance check.
    pub fn replay_balancing(&mut self, all: Vec<Replayed>) -> Result<(), EngineError> {
        let Setup { division, ranks, .. } = &self.setup;
        self.balancer.replay(all, division, *ranks, self.state.step)
    }

    /// Returns the number of balancings of [`Self::replay_balancing`] that are still to come, and
    /// their total number.
    pub fn unreached_balancings(&self) -> Option<[usize; 2]> {
        self.balancer.replay.as_ref().map(Replay::unreached)
    }
}
