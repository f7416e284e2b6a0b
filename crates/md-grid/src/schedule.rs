//! Messages and computation of an application's step, without running it, from the same plans as
//! those of the contexts.

use md_comm::Rank;

use crate::halo::{HaloPlan, Parcel, sent};
use crate::{Block, Decomposition, GridError, Layout, Messages, Transfer};

/// Halo exchange of a step.
///
/// See [`Schedule`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchanged {
    /// Transfers of the exchange.
    pub plan: HaloPlan,
    /// Part of the step's computation that overlaps the exchange.
    pub beside: Beside,
}

/// Part of a step's computation that overlaps an exchange.
///
/// ```
/// use md_grid::{Beside, Decomposition, Edges, Exchanged, GridError, HaloPlan, Messages, Schedule};
///
/// // Half of the work can overlap the exchange, on 8 of the 10 layers of nodes.
/// let (depth, edges) = ([1, 0, 0], [Edges::Periodic, Edges::Open, Edges::Open]);
/// let plan = HaloPlan::staged(depth, &[0]);
/// let exchanged = Exchanged { plan, beside: Beside::InnerNodes(0.5) };
/// let schedule = Schedule {
///     decomposition: Decomposition::new([10, 4, 4], 1, None, edges)?,
///     depth,
///     messages: Messages::Aggregated,
///     number_bytes: size_of::<f64>(),
///     exchanges: vec![exchanged.clone()],
///     reductions: 0,
/// };
/// assert!((schedule.share_beside(0, &exchanged) - 0.5 * 0.8).abs() < 1e-12);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beside {
    /// None.
    Nothing,
    /// The given share of the computation, on all nodes.
    Share(f64),
    /// The given share of the computation, on the nodes more than one node away from all
    /// neighbours.
    InnerNodes(f64),
}

/// Schedule of a step, equal on all ranks.
///
/// ```
/// use md_grid::{Beside, Decomposition, Edges, Exchanged, GridError, HaloPlan};
/// use md_grid::{Messages, Neighbours, Parcel, Schedule};
///
/// // Two ranks along x, two layers of ghosts along x only.
/// let (depth, edges) = ([2, 0, 0], [Edges::Open; 3]);
/// let plan = HaloPlan::direct(depth, Neighbours::Faces, &[0]);
/// let schedule = Schedule {
///     decomposition: Decomposition::new([12, 9, 5], 2, Some([2, 1, 1]), edges)?,
///     depth,
///     messages: Messages::Aggregated,
///     number_bytes: size_of::<f64>(),
///     exchanges: vec![Exchanged { plan, beside: Beside::Nothing }],
///     reductions: 0,
/// };
/// // Rank 0 sends two layers of 9 x 5 numbers to rank 1, and nothing beyond its open face.
/// let stages = schedule.sent_by(0, &schedule.exchanges[0])?;
/// assert_eq!(stages, [vec![Parcel { peer: 1, bytes: 2 * 9 * 5 * 8 }]]);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Global grid and its division among ranks.
    pub decomposition: Decomposition,
    /// Layers of ghosts along each axis.
    pub depth: [usize; 3],
    /// Grouping of fields into messages.
    pub messages: Messages,
    /// Bytes of a number in a message.
    pub number_bytes: usize,
    /// Exchanges in order.
    pub exchanges: Vec<Exchanged>,
    /// Number of reductions over all ranks.
    pub reductions: usize,
}

impl Schedule {
    /// Returns the messages of a rank in an exchange, stage by stage; messages to itself are copied
    /// locally.
    ///
    /// # Errors
    /// [`GridError::Shape`] if a rank has fewer nodes than are sent.
    pub fn sent_by(&self, rank: Rank, exchanged: &Exchanged) -> Result<Vec<Vec<Parcel>>, GridError> {
        let layout = Layout::new(self.decomposition.block(rank).size, self.depth, self.number_bytes)?;
        let stage = |transfers: &Vec<Transfer>| {
            sent(transfers, &layout, self.number_bytes, self.messages, &self.decomposition, rank)
        };
        exchanged.plan.stages.iter().map(stage).collect()
    }

    /// Returns the number of nodes that a rank updates.
    pub fn nodes_of(&self, rank: Rank) -> usize {
        self.decomposition.block(rank).size.iter().product()
    }

    /// Returns the share of a rank's computation that overlaps an exchange.
    pub fn share_beside(&self, rank: Rank, exchanged: &Exchanged) -> f64 {
        match exchanged.beside {
            Beside::Nothing => 0.0,
            Beside::Share(share) => share,
            Beside::InnerNodes(share) => {
                let Block { size, .. } = self.decomposition.block(rank);
                let inner = |axis: usize| {
                    let outer = if self.decomposition.has_neighbours(axis) { 2 } else { 0 };
                    size[axis].saturating_sub(outer) as f64 / size[axis] as f64
                };
                share * inner(0) * inner(1) * inner(2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::{Buffering, World, local};
    use md_core::ExchangePattern;
    use md_engine::Overlap;

    use super::*;
    use crate::stencil::{self, Compute, Kind, Precision, Problem};
    use crate::{Edges, Neighbours};

    /// Returns the messages and bytes sent by all ranks in a step: as planned, and as counted.
    fn planned_and_counted(problem: &Problem, ranks: usize) -> [[u64; 2]; 2] {
        let schedule = stencil::schedule(problem).unwrap();
        let mut planned = [0, 0];
        for rank in 0..ranks {
            for exchanged in &schedule.exchanges {
                let parcels = schedule.sent_by(rank, exchanged).unwrap();
                for parcel in parcels.into_iter().flatten().filter(|parcel| parcel.peer != rank) {
                    assert!(parcel.peer < ranks);
                    planned = [planned[0] + 1, planned[1] + parcel.bytes as u64];
                }
            }
        }
        let step = |world: &dyn World| {
            let mut app = stencil::open(world, problem).unwrap();
            let before = app.traffic();
            app.step().unwrap();
            let after = app.traffic();
            app.finalise().unwrap();
            [after.messages - before.messages, after.bytes - before.bytes]
        };
        let counted = local::run(ranks, Duration::from_secs(60), step);
        let counted = counted.into_iter().fold([0, 0], |sum, rank| {
            let rank = rank.unwrap();
            [sum[0] + rank[0], sum[1] + rank[1]]
        });
        [planned, counted]
    }

    fn problem(decomposition: Decomposition, kind: Kind) -> Problem {
        Problem {
            decomposition,
            kind,
            precision: Precision::Double,
            exchange: ExchangePattern::Direct,
            messages: Messages::Aggregated,
            buffering: Buffering::Double,
            overlap: Overlap::On,
            may_be_cut: [true; 3],
        }
    }

    #[test]
    fn messages_and_bytes_are_those_of_a_step() {
        let swap = Kind::Swap { fields: 3, depth: 2, neighbours: Neighbours::All, compute: Compute::Average };
        let kinds =
            [swap, Kind::Tvd { fields: 2, courant: [0.5, -0.3, 0.0] }, Kind::Poisson { tolerance: 1e-12 }];
        for kind in kinds {
            for exchange in [ExchangePattern::Direct, ExchangePattern::Staged] {
                for messages in [Messages::Aggregated, Messages::PerField] {
                    for edges in [[Edges::Periodic; 3], [Edges::Periodic, Edges::Periodic, Edges::Open]] {
                        let decomposition =
                            Decomposition::new([12, 11, 5], 6, Some([3, 2, 1]), edges).unwrap();
                        let problem = Problem {
                            exchange,
                            messages,
                            may_be_cut: [true, true, false],
                            ..problem(decomposition, kind.clone())
                        };
                        let [planned, counted] = planned_and_counted(&problem, 6);
                        assert_eq!(planned, counted, "{problem:?}");
                        assert!(planned[0] > 0);
                    }
                }
            }
        }
    }

    #[test]
    fn messages_and_bytes_are_those_of_a_step_on_many_ranks() {
        for (grid, ranks) in [([2, 2, 2], 8), ([4, 2, 2], 16), ([4, 4, 4], 64)] {
            let decomposition =
                Decomposition::new([18, 17, 16], ranks, Some(grid), [Edges::Periodic; 3]).unwrap();
            let kind =
                Kind::Swap { fields: 2, depth: 2, neighbours: Neighbours::All, compute: Compute::Average };
            let problem = problem(decomposition, kind);
            let [planned, counted] = planned_and_counted(&problem, ranks);
            assert_eq!(planned, counted, "{grid:?}");
            assert_eq!(planned[0], 26 * ranks as u64, "{grid:?}");
        }
    }

    /// Two ranks along x: each sends two messages of 2 x 9 x 5 nodes to the other, and to itself
    /// two of 2 x 6 x 5 and two of 2 x 6 x 9 nodes.
    #[test]
    fn what_a_rank_sends_itself_is_counted() {
        let decomposition = Decomposition::new([12, 9, 5], 2, Some([2, 1, 1]), [Edges::Periodic; 3]).unwrap();
        let plan = HaloPlan::direct([2; 3], Neighbours::Faces, &[0]);
        let schedule = Schedule {
            decomposition,
            depth: [2; 3],
            messages: Messages::Aggregated,
            number_bytes: 8,
            exchanges: vec![Exchanged { plan, beside: Beside::Nothing }],
            reductions: 0,
        };
        let sent = schedule.sent_by(0, &schedule.exchanges[0]).unwrap().remove(0);
        let of = |peer: Rank, numbers: usize| {
            let expected = Parcel { peer, bytes: 8 * numbers };
            assert_eq!(
                sent.iter().filter(|parcel| **parcel == expected).count(),
                2,
                "{expected:?} in {sent:?}"
            );
        };
        of(1, 2 * 9 * 5);
        of(0, 2 * 6 * 5);
        of(0, 2 * 6 * 9);
        assert_eq!(sent.len(), 6);
    }

    #[test]
    fn inner_nodes_are_a_node_away_from_neighbours() {
        let edges = [Edges::Periodic, Edges::Open, Edges::Open];
        let decomposition = Decomposition::new([10, 8, 4], 2, Some([1, 2, 1]), edges).unwrap();
        let exchanged = |beside| Exchanged { plan: HaloPlan { stages: Vec::new() }, beside };
        let schedule = Schedule {
            decomposition,
            depth: [1; 3],
            messages: Messages::Aggregated,
            number_bytes: 8,
            exchanges: Vec::new(),
            reductions: 0,
        };
        let share = schedule.share_beside(0, &exchanged(Beside::InnerNodes(0.5)));
        assert!((share - 0.5 * 0.8 * 0.5).abs() < 1e-12, "{share}");
        assert_eq!(schedule.share_beside(0, &exchanged(Beside::Share(0.25))), 0.25);
        assert_eq!((schedule.nodes_of(1), schedule.share_beside(1, &exchanged(Beside::Nothing))), (160, 0.0));
    }
}
