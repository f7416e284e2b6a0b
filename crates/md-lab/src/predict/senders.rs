//! Groups of ranks that send alike. The cost of a message follows from what its sender sends, in
//! which order and how far. Many ranks have only a few kinds of senders, so costs are computed once
//! per kind and stay in the caches.

use std::collections::HashMap;
use std::ops::Range;

use super::placement::Nodes;
use super::plans::Messages;

/// The senders of a stage in one direction, by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Senders {
    /// By message, in the order of the receivers: its index among the messages of all kinds.
    pub(super) place: Vec<u32>,
    /// Kind of each rank.
    kind: Vec<u32>,
    /// By kind: one of its ranks, and the index of its first message.
    examples: Vec<(u32, u32)>,
}

impl Senders {
    /// Groups the senders of the messages `plan`. `reversed` has each rank's receivers in order.
    pub(super) fn of(plan: &Messages, reversed: &Messages, nodes: &Nodes) -> Self {
        let ranks = plan.sent.len();
        let mut senders =
            Self { place: vec![0; plan.peer.len()], kind: Vec::with_capacity(ranks), examples: Vec::new() };
        let (mut kinds, mut row, mut places) = (HashMap::new(), Vec::new(), 0);
        let mut next = plan.first.clone();
        for sender in 0..ranks {
            let sent = reversed.to(sender);
            row.clear();
            row.extend(sent.clone().map(|edge| likeness(reversed, nodes, sender, edge)));
            let kind = kinds.get(&row).copied().unwrap_or_else(|| {
                let new = senders.examples.len() as u32;
                senders.examples.push((sender as u32, places));
                places += sent.len() as u32;
                kinds.insert(row.clone(), new);
                new
            });
            senders.kind.push(kind);
            let (_, first) = senders.examples[kind as usize];
            for (number, edge) in sent.enumerate() {
                let place = &mut next[reversed.peer[edge] as usize];
                senders.place[*place as usize] = first + number as u32;
                *place += 1;
            }
        }
        senders
    }

    /// Returns one rank of each kind.
    pub(super) fn examples(&self) -> impl Iterator<Item = usize> {
        self.examples.iter().map(|&(rank, _)| rank as usize)
    }

    /// Returns the value of each rank from the values of the kinds.
    pub(super) fn by_rank(&self, of_kind: &[f64]) -> Vec<f64> {
        self.kind.iter().map(|&kind| of_kind[kind as usize]).collect()
    }
}

/// Returns what determines a message's cost: particles, cells, path, and whether the previous
/// message has the same receiver.
fn likeness(reversed: &Messages, nodes: &Nodes, sender: usize, edge: usize) -> [u64; 2] {
    let Range { start, .. } = reversed.to(sender);
    let receiver = reversed.peer[edge];
    let path = nodes.distance(sender, receiver as usize) as u64;
    let again = u64::from(edge > start && reversed.peer[edge - 1] == receiver);
    [reversed.particles[edge].to_bits(), u64::from(reversed.cells[edge]) << 3 | path << 1 | again]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::placement::Placement;

    /// Returns a ring of ranks that send to both neighbours; the last two send twice to one.
    fn ring(ranks: u32, particles: impl Fn(u32) -> f64) -> Messages {
        let mut out = Messages::default();
        for rank in 0..ranks {
            let [next, last] = [(rank + 1) % ranks, (rank + ranks - 1) % ranks];
            let other = if rank + 2 < ranks { last } else { next };
            out.push_row(vec![(next, particles(rank), 1), (other, particles(rank), 1)]);
        }
        out.reversed()
    }

    #[test]
    fn every_message_is_found_where_its_senders_kind_has_it() {
        let cases = [(12, 12, 1, 2), (4, 4, 1, 5), (4, 2, 1, 6), (4, 4, 5, 11), (1, 1, 12, 12)];
        for (per_node, complex, every, kinds) in cases {
            let nodes = Nodes::new(12, per_node, Placement::Block).with_complexes(complex);
            let plan = ring(12, |rank| f64::from(rank % every));
            let reversed = plan.reversed();
            let senders = Senders::of(&plan, &reversed, &nodes);
            assert_eq!(senders.examples.len(), kinds, "{per_node} {every}");
            for receiver in 0..12 {
                for edge in plan.to(receiver) {
                    let place = senders.place[edge];
                    let is_before = |(_, first): &&(u32, u32)| *first <= place;
                    let (example, first) = *senders.examples.iter().rfind(is_before).unwrap();
                    let found = reversed.to(example as usize).start + (place - first) as usize;
                    assert_eq!(reversed.particles[found], plan.particles[edge]);
                    let path = |sender: u32, receiver| nodes.distance(sender as usize, receiver);
                    let own = path(plan.peer[edge], receiver);
                    assert_eq!(path(example, reversed.peer[found] as usize), own, "{receiver} {edge}");
                }
            }
        }
    }
}
