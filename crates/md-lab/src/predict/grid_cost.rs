//! Costs of computation and packing on a grid, interpolated between runs of several sizes.

use super::costs::Costs;
use super::{GridStep, Request};
use crate::machine::{ComputeCost, Machine, Operation};
use md_core::words::counted;

/// Costs of a rank's own work.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GridCost {
    /// Seconds per update of a node.
    pub per_update_s: f64,
    /// Seconds that an update adds to the sums over all nodes, without the reductions.
    pub per_update_summed_s: f64,
    /// Seconds to write a byte into a message, or to copy it to a periodic image on the same rank.
    pub per_byte_packed_s: f64,
    /// Seconds to read a byte from a message.
    pub per_byte_unpacked_s: f64,
}

/// Seconds of all ranks together in the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridTimes {
    /// Number of steps.
    pub steps: f64,
    /// Computation at the nodes.
    pub integrate_s: f64,
    /// Sums over all nodes, including reductions.
    pub reduce_s: f64,
    /// Packing and copying.
    pub pack_s: f64,
    /// Unpacking.
    pub unpack_s: f64,
}

impl GridCost {
    /// Derives the costs from the times of a run with this step; work that did not occur costs 0.
    pub fn of(step: &GridStep, times: &GridTimes, machine: &Machine, request: &Request) -> Self {
        let ranks = step.updates.len();
        let updates = times.steps * step.updates.iter().sum::<f64>();
        let [sent, copied] = step.bytes().map(|bytes| times.steps * bytes);
        let per = |seconds: f64, count: f64| if count > 0.0 { seconds / count } else { 0.0 };
        let nodes = request.nodes(ranks);
        let idle = ComputeCost::default();
        let costs = Costs::new(machine, &idle, nodes, request.between_nodes, request.between_nodes);
        let reduction_s = costs.whole_collective_s(Operation::Allreduce).unwrap_or(0.0);
        let reductions_s = reduction_s * step.reductions as f64 * times.steps * ranks as f64;
        Self {
            per_update_s: per(times.integrate_s, updates),
            per_update_summed_s: per(f64::max(0.0, times.reduce_s - reductions_s), updates),
            per_byte_packed_s: per(times.pack_s, sent + copied),
            per_byte_unpacked_s: per(times.unpack_s, sent),
        }
    }

    fn between(self, other: Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| (1.0 - share) * a + share * b;
        Self {
            per_update_s: mix(self.per_update_s, other.per_update_s),
            per_update_summed_s: mix(self.per_update_summed_s, other.per_update_summed_s),
            per_byte_packed_s: mix(self.per_byte_packed_s, other.per_byte_packed_s),
            per_byte_unpacked_s: mix(self.per_byte_unpacked_s, other.per_byte_unpacked_s),
        }
    }
}

/// Costs by the number of updates of a rank and step: data that fits into a cache costs less.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GridCosts {
    /// Costs, by ascending number of updates.
    known: Vec<(f64, GridCost)>,
}

impl GridCosts {
    /// Adds the costs from a run.
    pub fn add(&mut self, step: &GridStep, cost: GridCost) {
        self.known.push((updates_per_rank(step), cost));
        self.known.sort_by(|a, b| a.0.total_cmp(&b.0));
    }

    /// Returns whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the costs for a step: linear in the logarithm of the updates between two runs, and
    /// those of the nearest run outside the measured range.
    pub(super) fn at(&self, step: &GridStep) -> GridCost {
        let updates = updates_per_rank(step);
        let next = self.known.partition_point(|known| known.0 <= updates);
        match (next.checked_sub(1).map(|last| self.known[last]), self.known.get(next).copied()) {
            (Some((low, below)), Some((high, above))) => {
                below.between(above, (updates / low).ln() / (high / low).ln())
            }
            (Some((_, cost)), None) | (None, Some((_, cost))) => cost,
            (None, None) => GridCost::default(),
        }
    }

    /// Returns a remark for a step that is much larger or smaller than all measured ones.
    pub(super) fn remark(&self, step: &GridStep) -> Option<String> {
        const FAR: f64 = 1.5;
        let (smallest, largest) = (self.known.first()?.0, self.known.last()?.0);
        let updates = updates_per_rank(step);
        let is_far = updates * FAR < smallest || updates > FAR * largest;
        is_far.then(|| {
            format!(
                "{}: {updates:.0} updates of a rank and step, but runs were measured with {smallest:.0} to {largest:.0}: caches may \
                 make each cost more or less",
                counted(step.updates.len(), "rank")
            )
        })
    }
}

fn updates_per_rank(step: &GridStep) -> f64 {
    step.updates.iter().sum::<f64>() / step.updates.len().max(1) as f64
}
