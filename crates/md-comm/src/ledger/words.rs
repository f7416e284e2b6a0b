//! Errors in the words all transports share.

use super::Ledger;
use crate::{CommError, Edge, EdgeId};

impl Ledger {
    /// `rank 3 (channel 0), rank 5 (channel 0)`: the edges that have not delivered yet.
    pub(crate) fn awaited_edges(&self) -> String {
        let name = |EdgeId(i)| {
            let edge: &Edge = &self.spec.edges[i];
            format!("rank {} (channel {})", edge.peer, edge.receive_channel)
        };
        self.edge_ids().filter(|&edge| self.awaits(edge)).map(name).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn timeout(&self, waited_s: f64, awaited: String) -> CommError {
        CommError::Timeout { context: self.spec.name, rank: self.rank, waited_s, awaited }
    }

    pub(crate) fn misuse(&self, what: String) -> CommError {
        CommError::Misuse { context: self.spec.name, what }
    }

    pub(crate) fn mismatch(&self, edge: EdgeId, what: String) -> CommError {
        let Edge { peer, receive_channel: channel, .. } = self.spec.edges[edge.0];
        CommError::Mismatch { context: self.spec.name, peer, channel, what }
    }
}
