//! Proposals for another division, and the choice among them.

use md_core::partition::weights::imbalance;
use md_core::partition::{CellLoads, Partition};

use super::cost::{Change, LoadUnit};
use super::loads;
use crate::division::Decomposition;
use crate::error::EngineError;

/// A proposal must reduce the highest load at least to this fraction of the present one.
const LEAST_IMPROVEMENT: f64 = 0.99;

/// A partition that may replace the present one.
pub(crate) struct Proposal {
    pub(crate) partition: Partition,
    /// Owner of every cell.
    pub(crate) owners: Vec<usize>,
    pub(crate) imbalance: f64,
    pub(crate) particles_moved: f64,
    /// Nanoseconds saved until the next check.
    pub(crate) won_ns: f64,
    cost_ns: f64,
}

impl Proposal {
    /// Returns the best proposal of the partition for these loads, if one is worth it; `change` is
    /// a change in which no particle changes rank.
    ///
    /// # Errors
    /// [`EngineError::Grid`].
    pub(crate) fn best(
        Decomposition { grid, partition, .. }: &Decomposition,
        loads: &CellLoads,
        unit: LoadUnit,
        change: Change,
        is_auto: bool,
    ) -> Result<Option<Self>, EngineError> {
        let ranks = change.ranks;
        let most = |work: &[f64]| work.iter().copied().fold(0.0, f64::max);
        let now = partition.owners(grid);
        let present = most(&loads.by_owner(&now, ranks));
        let propose = |partition: Partition| {
            let then = partition.owners(grid);
            let work = loads.by_owner(&then, ranks);
            let particles_moved = loads::particles_moved(loads, &now, &then);
            Self {
                imbalance: imbalance(&work),
                won_ns: unit.ns(present - most(&work)),
                cost_ns: Change { particles_moved, ..change }.ns(),
                particles_moved,
                owners: then,
                partition,
            }
        };
        let proposals = partition.rebalanced(grid, loads)?.into_iter().map(propose);
        let net = |proposal: &Self| proposal.won_ns - proposal.cost_ns;
        let best = proposals.reduce(|best, next| if net(&next) > net(&best) { next } else { best });
        let pays = |proposal: &Self| {
            let is_better = proposal.won_ns > unit.ns(present * (1.0 - LEAST_IMPROVEMENT));
            is_better && (!is_auto || net(proposal) > 0.0)
        };
        Ok(best.filter(pays))
    }
}
