//! The ledger's part in opening, negotiating and reversing a context.

use super::Ledger;
use crate::negotiation::{Change, decode_length, grown_capacity};
use crate::{CommError, Edge, EdgeId, ExchangeSpec, Flow};

impl Ledger {
    /// The largest message (for fixed sizes: the exact one) that may arrive along an edge.
    pub(crate) fn receive_capacity(&self, edge: EdgeId) -> usize {
        self.receive_capacity[edge.0]
    }

    /// Takes note of what the sender of an edge said about its capacity.
    pub(crate) fn learn_capacity(&mut self, edge: EdgeId, message: &[u8]) -> Result<(), CommError> {
        let length = decode_length(message);
        let length = length.ok_or_else(|| self.mismatch(edge, "is no capacity".to_owned()))?;
        self.receive_capacity[edge.0] = length;
        Ok(())
    }

    /// The same for all edges at once, already decoded.
    #[cfg(feature = "mpi")]
    pub(crate) fn learn_capacities(&mut self, capacities: &[usize]) {
        self.receive_capacity.copy_from_slice(capacities);
    }

    /// The sending edge whose messages arrive along a receiving edge, if both ends are this rank.
    #[cfg(feature = "mpi")]
    pub(crate) fn source(&self, receiving: usize) -> Option<usize> {
        let edges = &self.spec.edges;
        let Edge { peer, receive_channel, flow, .. } = edges[receiving];
        let sends_here =
            |edge: &Edge| edge.peer == peer && edge.flow.sends() && edge.send_channel == receive_channel;
        if peer == self.rank && flow.receives() { edges.iter().position(sends_here) } else { None }
    }

    /// `negotiate`: what `need` would change on this rank. Changes nothing.
    pub(crate) fn change(&self, need: &[usize]) -> Result<Change, CommError> {
        self.expect_idle("negotiated")?;
        if need.len() != self.spec.edges.len() {
            let what = format!("negotiated {} lengths for {} edges", need.len(), self.spec.edges.len());
            return Err(self.misuse(what));
        }
        let sending = self.with_longest(need).zip(&self.spec.edges).filter(|(_, edge)| edge.flow.sends());
        let change = sending.map(|(need, edge)| Change::of(self.spec.sizes, edge.send_capacity, need));
        Ok(change.max().unwrap_or(Change::None))
    }

    /// What has been needed already counts, whatever the caller expects.
    fn with_longest(&self, need: &[usize]) -> impl Iterator<Item = usize> {
        need.iter().zip(&self.longest_sent).map(|(&need, &longest)| need.max(longest))
    }

    /// The capacities that [`Self::apply`] would make (0 for edges that do not send).
    #[cfg(feature = "mpi")]
    pub(crate) fn capacities_for(&self, need: &[usize]) -> impl Iterator<Item = usize> {
        let sizes = self.spec.sizes;
        let capacity = move |(edge, need): (&Edge, usize)| {
            if edge.flow.sends() { grown_capacity(sizes, edge.send_capacity, need) } else { 0 }
        };
        self.spec.edges.iter().zip(self.with_longest(need)).map(capacity)
    }

    /// Makes `need` valid for the sending edges.
    pub(crate) fn apply(&mut self, need: &[usize]) {
        let needs = need.iter().zip(&self.longest_sent);
        for (edge, (&need, &longest)) in
            self.spec.edges.iter_mut().zip(needs).filter(|(edge, _)| edge.flow.sends())
        {
            edge.send_capacity = grown_capacity(self.spec.sizes, edge.send_capacity, need.max(longest));
        }
    }

    /// The same edges the other way; what the peers could send to this rank, this rank can now send to them.
    pub(crate) fn reversed_spec(&self) -> ExchangeSpec {
        let reversed = |(edge, &send_capacity): (&Edge, &usize)| Edge {
            peer: edge.peer,
            send_channel: edge.receive_channel,
            receive_channel: edge.send_channel,
            flow: edge.flow.reversed(),
            send_capacity: if edge.flow == Flow::SendOnly { 0 } else { send_capacity },
        };
        let edges = self.spec.edges.iter().zip(&self.receive_capacity).map(reversed).collect();
        ExchangeSpec { edges, ..self.spec.clone() }
    }
}
