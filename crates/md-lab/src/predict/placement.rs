//! Placement of ranks on nodes.

use serde::{Deserialize, Serialize};

use crate::machine::Distance;

/// Order in which ranks fill nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// One node after the other.
    #[default]
    Block,
    /// One rank on each node in turn.
    RoundRobin,
}

impl Placement {
    /// All placements, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// Ranks on nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nodes {
    placement: Placement,
    ranks_per_node: usize,
    ranks_per_complex: usize,
    pub(super) ranks: usize,
    /// Number of nodes.
    pub(super) count: usize,
}

impl Nodes {
    /// Creates a placement of `ranks` ranks with at most `ranks_per_node` on a node.
    pub(super) fn new(ranks: usize, ranks_per_node: usize, placement: Placement) -> Self {
        let ranks_per_node = ranks_per_node.clamp(1, ranks);
        let count = ranks.div_ceil(ranks_per_node);
        Self { placement, ranks_per_node, ranks_per_complex: usize::MAX, ranks, count }
    }

    /// Returns the placement with this number of ranks on each group of cores that share a
    /// last-level cache; the ranks of a node fill the groups one after the other.
    pub(super) fn with_complexes(self, ranks_per_complex: usize) -> Self {
        Self { ranks_per_complex: ranks_per_complex.max(1), ..self }
    }

    /// Places all ranks on one node.
    pub(crate) fn one(ranks: usize) -> Self {
        Self::new(ranks, ranks, Placement::Block)
    }

    fn node(&self, rank: usize) -> usize {
        match self.placement {
            Placement::Block => rank / self.ranks_per_node,
            Placement::RoundRobin => rank % self.count,
        }
    }

    /// Returns the number of a rank's core complex on its node.
    fn complex(&self, rank: usize) -> usize {
        let place = match self.placement {
            Placement::Block => rank % self.ranks_per_node,
            Placement::RoundRobin => rank / self.count,
        };
        place / self.ranks_per_complex
    }

    /// Returns the distance between two ranks.
    pub(super) fn distance(&self, a: usize, b: usize) -> Distance {
        if self.node(a) != self.node(b) {
            Distance::Network
        } else if self.complex(a) == self.complex(b) {
            Distance::Node
        } else {
            Distance::Across
        }
    }

    /// Returns the largest amount that leaves a node, given the amounts sent between ranks.
    pub(super) fn most_leaving(&self, sent: impl Iterator<Item = ([usize; 2], f64)>) -> f64 {
        let mut leaving = vec![0.0; self.count];
        for ([from, to], amount) in sent {
            let [from, to] = [from, to].map(|rank| self.node(rank));
            leaving[from] += if from == to { 0.0 } else { amount };
        }
        leaving.into_iter().fold(0.0, f64::max)
    }

    /// Returns the number of doublings from one rank to a whole node, and from one node to all.
    pub(super) fn doublings(&self) -> [(Distance, f64); 2] {
        let log2 = |count: usize| (count as f64).log2();
        [(Distance::Node, log2(self.ranks_per_node)), (Distance::Network, log2(self.count))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_core_complexes_of_a_node_one_after_the_other() {
        use Distance::{Across, Network, Node};
        let from_first = |placement| {
            let nodes = Nodes::new(8, 4, placement).with_complexes(2);
            (0..8).map(|rank| nodes.distance(0, rank)).collect::<Vec<_>>()
        };
        let block = [Node, Node, Across, Across, Network, Network, Network, Network];
        assert_eq!(from_first(Placement::Block), block);
        let in_turn = [Node, Network, Node, Network, Across, Network, Across, Network];
        assert_eq!(from_first(Placement::RoundRobin), in_turn);
    }

    #[test]
    fn ranks_fill_nodes_in_either_order() {
        let nodes = |placement| {
            let nodes = Nodes::new(7, 3, placement);
            (0..7).map(|rank| nodes.node(rank)).collect::<Vec<_>>()
        };
        assert_eq!(nodes(Placement::Block), [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(nodes(Placement::RoundRobin), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(
            Nodes::new(64, 16, Placement::Block).doublings().map(|(_, doublings)| doublings),
            [4.0, 2.0]
        );
    }
}
