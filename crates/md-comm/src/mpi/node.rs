//! The ranks that share memory with this one.
//!
//! For tests and experiments on one machine, the environment variable `MD_RANKS_PER_NODE=N` makes
//! nodes smaller: consecutive blocks of N ranks count as a node.

use super::ffi::{Communicator, Limit};
use crate::{CommError, Rank, Reduction};

/// Variable for tests and experiments: consecutive blocks of this number of ranks count as a node.
const RANKS_PER_NODE: &str = "MD_RANKS_PER_NODE";

/// One node's communicator, kept until MPI is finalised.
#[derive(Debug)]
pub(crate) struct Node {
    pub(super) communicator: Communicator,
    /// Ranks in the world, in the order of their numbers in `communicator`.
    ranks: Vec<Rank>,
    pub(super) layout: Layout,
}

/// Distribution of the ranks over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// All ranks on one node.
    OneNode,
    /// Several nodes, some of which have several ranks.
    SharedNodes,
    /// Each rank on a node of its own.
    OneRankPerNode,
}

impl Node {
    /// Finds the node of this rank, one of the `ranks` of the world's communicator. *Collective.*
    pub(super) fn find(world: &Communicator, ranks: usize, limit: Limit) -> Result<Self, CommError> {
        let group = limit.rank / ranks_per_node()?;
        let communicator = world.node()?.split(group as std::ffi::c_int)?;
        let (_, members) = communicator.rank_and_ranks()?;
        let mine = (limit.rank as u64).to_ne_bytes().to_vec();
        let all = communicator.gather_all(mine, members, limit)?;
        let on_node = bytemuck::pod_collect_to_vec::<u8, u64>(&all);
        let most = world.reduce(vec![members as u64], Reduction::Highest, limit)?[0] as usize;
        let layout = match most {
            _ if most == ranks => Layout::OneNode,
            1 => Layout::OneRankPerNode,
            _ => Layout::SharedNodes,
        };
        Ok(Self { communicator, ranks: on_node.into_iter().map(|rank| rank as Rank).collect(), layout })
    }

    /// Returns a rank's number on the node, if it is there.
    pub(super) fn member(&self, rank: Rank) -> Option<Rank> {
        self.ranks.binary_search(&rank).ok()
    }

    /// Returns the number of ranks on the node.
    pub(super) fn size(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the node's lowest rank, which identifies the node: all of its ranks agree on it and
    /// no other node has it.
    pub(super) fn lowest(&self) -> Rank {
        self.ranks.first().copied().unwrap_or_default()
    }
}

/// Returns the variable's value. Without it a node has all ranks that share memory.
fn ranks_per_node() -> Result<usize, CommError> {
    let Some(text) = std::env::var_os(RANKS_PER_NODE) else { return Ok(usize::MAX) };
    let text = text.to_string_lossy();
    let ranks = text.trim().parse().ok().filter(|&ranks| ranks > 0);
    ranks.ok_or_else(|| CommError::Environment {
        variable: RANKS_PER_NODE,
        value: text.into_owned(),
        expected: "it must be a number of ranks from 1, or not be set",
    })
}

/// Checks the value of the environment variable, for programs that look for the first node late, or
/// never.
///
/// # Errors
/// Returns [`CommError::Environment`] if the value is invalid.
pub fn check_environment() -> Result<(), CommError> {
    ranks_per_node().map(drop)
}
