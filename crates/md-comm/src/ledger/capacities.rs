//! The ledger's part in opening, negotiating and reversing a context.

use std::rc::Rc;

use super::Ledger;
use crate::negotiation::{Change, grown_capacity};
use crate::{CommError, Edge, ExchangeSpec, Flow};

impl Ledger {
    /// Takes note of the capacities that the senders announced for their edges.
    pub(crate) fn learn_capacities(&mut self, capacities: &[usize]) {
        Rc::make_mut(&mut self.terms).receive_capacity.copy_from_slice(capacities);
    }

    /// `negotiate`: nothing is in flight, and there is a need for every edge.
    pub(crate) fn expect_needs(&self, need: &[usize]) -> Result<(), CommError> {
        self.expect_idle("negotiated")?;
        if need.len() == self.spec().edges.len() {
            return Ok(());
        }
        let what = format!("negotiated {} lengths for {} edges", need.len(), self.spec().edges.len());
        Err(self.misuse(what))
    }

    /// What `need` would change on this rank. Changes nothing.
    pub(crate) fn change(&self, need: &[usize]) -> Change {
        let sending = self.with_longest(need).zip(&self.spec().edges).filter(|(_, edge)| edge.flow.sends());
        let change = sending.map(|(need, edge)| Change::of(self.spec().sizes, edge.send_capacity, need));
        change.max().unwrap_or(Change::None)
    }

    /// What has been needed already counts, whatever the caller expects.
    fn with_longest(&self, need: &[usize]) -> impl Iterator<Item = usize> {
        need.iter().zip(&self.longest_sent).map(|(&need, &longest)| need.max(longest))
    }

    /// The capacities that [`Self::apply`] would make (0 for edges that do not send).
    pub(crate) fn capacities_for(&self, need: &[usize]) -> impl Iterator<Item = usize> {
        let sizes = self.spec().sizes;
        let capacity = move |(edge, need): (&Edge, usize)| {
            if edge.flow.sends() { grown_capacity(sizes, edge.send_capacity, need) } else { 0 }
        };
        self.spec().edges.iter().zip(self.with_longest(need)).map(capacity)
    }

    /// Makes `need` valid for the sending edges.
    pub(crate) fn apply(&mut self, need: &[usize]) {
        let capacities: Vec<usize> = self.capacities_for(need).collect();
        let edges = Rc::make_mut(&mut self.terms).spec.edges.iter_mut().zip(capacities);
        for (edge, capacity) in edges.filter(|(edge, _)| edge.flow.sends()) {
            edge.send_capacity = capacity;
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
        let edges = self.spec().edges.iter().zip(&self.terms.receive_capacity).map(reversed).collect();
        ExchangeSpec { edges, ..self.spec().clone() }
    }
}
