//! How the capacities of a context are learnt and negotiated.

use std::rc::Rc;

use super::{ExchangeLayout, Ledger};
use crate::negotiation::{Growth, grown_capacity};
use crate::{CommError, Edge, ExchangeSpec, Flow};

impl Ledger {
    /// Stores the capacities that the senders announced for their edges.
    pub(crate) fn learn_capacities(&mut self, capacities: &[usize]) {
        if self.layout.receive_capacity != capacities {
            Rc::make_mut(&mut self.layout).receive_capacity.copy_from_slice(capacities);
        }
    }

    /// Checks a `negotiate`: nothing is in flight, and `need` has an entry for every edge.
    pub(crate) fn expect_needs(&self, need: &[usize]) -> Result<(), CommError> {
        self.expect_idle("negotiated")?;
        if need.len() == self.spec().edges.len() {
            return Ok(());
        }
        let (needs, edges) = (need.len(), self.spec().edges.len());
        Err(self.misuse(format_args!("negotiated {needs} lengths for {edges} edges")))
    }

    /// Returns whether `need` would change a capacity of this rank.
    pub(crate) fn changes(&self, need: &[usize]) -> bool {
        let edges = self.spec().edges.iter().zip(self.capacities_for(need));
        edges.into_iter().any(|(edge, capacity)| edge.flow.sends() && edge.send_capacity != capacity)
    }

    /// Returns how the capacities have changed since this layout.
    pub(crate) fn growth_since(&self, before: &ExchangeLayout) -> Growth {
        let sent = self.spec.edges.iter().zip(&before.spec.edges);
        let mut sent = sent.map(|(now, before)| (now.send_capacity, before.send_capacity));
        let received = self.receive_capacity.iter().zip(&before.receive_capacity);
        let grown =
            sent.any(|(now, before)| now > before) || received.into_iter().any(|(now, before)| now > before);
        if grown { Growth::Grown } else { Growth::Unchanged }
    }

    /// Raises each need to the longest message sent so far.
    fn with_longest(&self, need: &[usize]) -> impl Iterator<Item = usize> {
        need.iter().zip(&self.longest_sent).map(|(&need, &longest)| need.max(longest))
    }

    /// Returns the capacities that [`Self::apply`] would set (0 for edges that do not send).
    pub(crate) fn capacities_for(&self, need: &[usize]) -> impl Iterator<Item = usize> {
        let sizes = self.spec().sizes;
        let capacity = move |(edge, need): (&Edge, usize)| {
            if edge.flow.sends() { grown_capacity(sizes, edge.send_capacity, need) } else { 0 }
        };
        self.spec().edges.iter().zip(self.with_longest(need)).map(capacity)
    }

    /// Applies `need` to the capacities of the sending edges.
    pub(crate) fn apply(&mut self, need: &[usize]) {
        if !self.changes(need) {
            return;
        }
        let capacities: Vec<usize> = self.capacities_for(need).collect();
        let edges = Rc::make_mut(&mut self.layout).spec.edges.iter_mut().zip(capacities);
        for (edge, capacity) in edges.filter(|(edge, _)| edge.flow.sends()) {
            edge.send_capacity = capacity;
        }
    }

    /// Returns the spec of the same edges in the opposite direction. This rank may send to each
    /// peer what the peer could send to this rank.
    pub(crate) fn reversed_spec(&self) -> ExchangeSpec {
        let reversed = |(edge, &send_capacity): (&Edge, &usize)| Edge {
            peer: edge.peer,
            send_channel: edge.receive_channel,
            receive_channel: edge.send_channel,
            flow: edge.flow.reversed(),
            send_capacity: if edge.flow == Flow::SendOnly { 0 } else { send_capacity },
        };
        let edges = self.spec().edges.iter().zip(&self.layout.receive_capacity).map(reversed).collect();
        ExchangeSpec { edges, ..self.spec().clone() }
    }
}
