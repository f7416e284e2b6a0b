//! The ranks that share memory with this one.
//!
//! For tests and experiments on one machine, the environment variable `MD_RANKS_PER_NODE=N` makes
//! nodes smaller: consecutive blocks of N ranks count as a node.

use super::ffi::Communicator;
use super::world::Inner;
use crate::{Backend, CommError, ExchangeSpec, Rank};

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

impl Inner {
    /// Returns the node, which is found at the first call. *Collective.*
    pub(super) fn find_node(&self) -> Result<&Node, CommError> {
        if let Some(node) = self.node.get() {
            return Ok(node);
        }
        let group = self.rank / ranks_per_node()?;
        let communicator = self.communicator.node()?.split(group as std::ffi::c_int)?;
        let (_, members) = communicator.rank_and_ranks()?;
        let mine = (self.rank as u64).to_ne_bytes().to_vec();
        let all = communicator.gather_all(mine, members, self.limit())?;
        let ranks = bytemuck::pod_collect_to_vec::<u8, u64>(&all);
        let ranks = ranks.into_iter().map(|rank| rank as Rank).collect();
        let layout = match self.highest(members as u64)? as usize {
            most if most == self.ranks => Layout::OneNode,
            1 => Layout::OneRankPerNode,
            _ => Layout::SharedNodes,
        };
        Ok(self.node.get_or_init(|| Node { communicator, ranks, layout }))
    }

    /// Refuses, on all ranks, a context with an edge that leads to another node. *Collective.*
    pub(super) fn expect_on_node(&self, spec: &ExchangeSpec) -> Result<(), CommError> {
        let node = self.find_node()?;
        let away = spec.edges.iter().map(|edge| edge.peer).find(|&peer| node.member(peer).is_none());
        if self.highest(away.is_some().into())? == 0 {
            return Ok(());
        }
        let example = away.map(|peer| format!(", such as from rank {} to {peer}", self.rank));
        let reason = format!(
            "context `{}` has edges between nodes{}; shared memory ends at the node",
            spec.name,
            example.unwrap_or_default()
        );
        Err(Backend::Shm.unavailable(reason))
    }
}
