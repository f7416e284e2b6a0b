//! The layout of a context: its specification and capacities.

use std::fmt::Display;

use crate::{CommError, Edge, EdgeId, ExchangeSpec, Rank};

/// The layout of a context, shared by its ledger and its transport, and replaced when capacities
/// change.
#[derive(Debug, Clone)]
pub(crate) struct ExchangeLayout {
    pub(super) rank: Rank,
    pub(super) spec: ExchangeSpec,
    pub(super) receive_capacity: Vec<usize>,
}

impl ExchangeLayout {
    pub(crate) fn spec(&self) -> &ExchangeSpec {
        &self.spec
    }

    /// Returns an edge, which must exist.
    pub(crate) fn edge(&self, EdgeId(i): EdgeId) -> &Edge {
        &self.spec.edges[i]
    }

    pub(crate) fn edge_ids(&self) -> impl Iterator<Item = EdgeId> + use<> {
        (0..self.spec.edges.len()).map(EdgeId)
    }

    /// Returns the largest message (for fixed sizes: the exact length) that may arrive along an
    /// edge.
    pub(crate) fn receive_capacity(&self, edge: EdgeId) -> usize {
        self.receive_capacity[edge.0]
    }

    /// Returns the sending edge whose messages arrive along a receiving edge, if both ends are this
    /// rank.
    #[cfg(feature = "mpi")]
    pub(crate) fn source(&self, receiving: usize) -> Option<usize> {
        let edges = &self.spec.edges;
        let Edge { peer, receive_channel, flow, .. } = edges[receiving];
        let sends_here =
            |edge: &Edge| edge.peer == peer && edge.flow.sends() && edge.send_channel == receive_channel;
        if peer == self.rank && flow.receives() { edges.iter().position(sends_here) } else { None }
    }

    #[cold]
    pub(crate) fn timeout(&self, waited_s: f64, awaited: String) -> CommError {
        CommError::Timeout { context: self.spec.name, rank: self.rank, waited_s, awaited }
    }

    #[cold]
    pub(crate) fn misuse(&self, what: impl Display) -> CommError {
        CommError::Misuse { context: self.spec.name, what: what.to_string() }
    }

    #[cold]
    pub(crate) fn mismatch(&self, edge: EdgeId, what: impl Display) -> CommError {
        let Edge { peer, receive_channel: channel, .. } = *self.edge(edge);
        CommError::Mismatch { context: self.spec.name, peer, channel, what: what.to_string() }
    }
}
