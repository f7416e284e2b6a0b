//! Balance checks and the decisions that follow from them.

use std::time::Instant;

use md_comm::Reduction;
use md_core::memory;
use md_core::partition::weights::{PARTICLE_WORK, imbalance};
use md_core::partition::{CellLoads, Partition};

use super::cost::{Change, LoadUnit};
use super::{BalanceReport, BalanceRule, BalanceWeights, Balancing, loads, replay};
use crate::clock::Phase;
use crate::division::{Decomposition, Division};
use crate::error::EngineError;
use crate::forces::interaction::Interaction;
use crate::simulation::Simulation;

/// A proposal must reduce the highest load at least to this fraction of the present one.
const LEAST_IMPROVEMENT: f64 = 0.99;

/// A partition that may replace the present one.
struct Proposal {
    partition: Partition,
    /// Owner of every cell.
    owners: Vec<usize>,
    imbalance: f64,
    particles_moved: f64,
    /// Nanoseconds saved until the next check.
    won_ns: f64,
    cost_ns: f64,
}

impl<I: Interaction> Simulation<'_, I> {
    /// Returns the history of load balancing.
    pub fn balance_report(&self) -> &BalanceReport {
        &self.balancer.report
    }

    /// Checks the balance if a check is due, and prepares a new division for the next step.
    /// *Collective.*
    pub(crate) fn balance(&mut self) -> Result<(), EngineError> {
        let done = self.state.step;
        let (grid, ranks) = (&self.decomposition.grid, self.world.ranks());
        let replayed = self.balancer.replay.as_mut().map(|replay| replay.take(done, grid, ranks));
        if let Some(division) = replayed.flatten() {
            return self.replace_decomposition(division);
        }
        match self.balancer.due(done) {
            // The caller has already set another division.
            Some(_) if self.next_division.is_some() => Ok(()),
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
        let least = self.change(0.0).least_ns();
        let can_pay = !self.balancer.is_auto || unit.ns(most - mean) > least;
        if before > rule.threshold && can_pay {
            self.divide_anew(&own, before, unit, rule.weights, begun)?;
        }
        if self.balancer.begun.is_none() {
            self.balancer.report.spent_s += begun.elapsed().as_secs_f64();
        }
        Ok(())
    }

    fn change(&self, particles_moved: f64) -> Change {
        Change {
            particles_moved,
            particles: self.setup.atoms() as f64,
            cells: self.decomposition.grid.len(),
            ranks: self.world.ranks(),
        }
    }

    /// Returns the work of this rank's cells: pairs of a step, or nanoseconds since the last check.
    fn own_loads(&mut self, rule: BalanceRule) -> Result<Vec<f64>, EngineError> {
        let Self { decomposition: Decomposition { grid, plan, .. }, cells, interaction, .. } = self;
        let mut own = interaction.pairs_by_cell(cells, plan).unwrap_or_else(|| {
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
            words[grid.linear(cell)] = self.cells.count(local) as u64;
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
        let Some(best) = self.best_proposal(&loads, unit)? else { return Ok(()) };
        let Decomposition { grid, partition, .. } = &self.decomposition;
        let division = Division { grid: grid.clone(), partition: best.partition.clone() };
        loads::agree(&best.owners, self.world)?;
        let is_told = weights == BalanceWeights::Time && self.world.rank() == 0;
        let changed =
            if is_told { replay::changed_cells(grid, partition, &best.partition) } else { String::new() };
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

    fn best_proposal(&self, loads: &CellLoads, unit: LoadUnit) -> Result<Option<Proposal>, EngineError> {
        let (Decomposition { grid, partition, .. }, ranks) = (&self.decomposition, self.world.ranks());
        let most = |work: &[f64]| work.iter().copied().fold(0.0, f64::max);
        let now = partition.owners(grid);
        let present = most(&loads.by_owner(&now, ranks));
        let propose = |partition: Partition| {
            let then = partition.owners(grid);
            let work = loads.by_owner(&then, ranks);
            let particles_moved = loads::particles_moved(loads, &now, &then);
            Proposal {
                imbalance: imbalance(&work),
                won_ns: unit.ns(present - most(&work)),
                cost_ns: self.change(particles_moved).ns(),
                particles_moved,
                owners: then,
                partition,
            }
        };
        let proposals = partition.rebalanced(grid, loads)?.into_iter().map(propose);
        let net = |proposal: &Proposal| proposal.won_ns - proposal.cost_ns;
        let best = proposals.reduce(|best, next| if net(&next) > net(&best) { next } else { best });
        let pays = |proposal: &Proposal| {
            let is_better = proposal.won_ns > unit.ns(present * (1.0 - LEAST_IMPROVEMENT));
            is_better && (!self.balancer.is_auto || net(proposal) > 0.0)
        };
        Ok(best.filter(pays))
    }
}
