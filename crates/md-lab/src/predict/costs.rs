//! What a strategy's messages cost: the machine's numbers laid onto the plans.

use md_comm::Backend;

use super::events::{Leg, Message, Rules};
use super::placement::Nodes;
use super::plans::Messages;
use super::protocol::{Protocol, Synchronisation};
use crate::machine::{ComputeCost, Distance, Machine, MessageCost, Operation};
use crate::name_of;

/// Inside a node and between nodes: the two paths of a message.
const DISTANCES: [Distance; 2] = [Distance::Node, Distance::Network];

/// A backend on a machine, among so many ranks.
pub(super) struct Costs<'m> {
    pub(super) compute: &'m ComputeCost,
    nodes: Nodes,
    /// By path: what moves messages.
    movers: [Backend; 2],
    /// By path: its ranges of bytes, none where that was not measured.
    ranges: [Vec<&'m MessageCost>; 2],
    /// By path: part of the latency in a flush.
    flushed: [f64; 2],
    machine: &'m Machine,
    name: String,
}

impl<'m> Costs<'m> {
    pub(super) fn new(
        machine: &'m Machine,
        compute: &'m ComputeCost,
        nodes: Nodes,
        backend: Backend,
        between_nodes: Backend,
    ) -> Self {
        let movers = if backend == Backend::Hybrid { [Backend::Shm, between_nodes] } else { [backend; 2] };
        let ranges = [0, 1].map(|path| machine.ranges(movers[path], DISTANCES[path]));
        let flushed = movers.map(|mover| Protocol::of(mover).flushed);
        Self { compute, nodes, movers, ranges, flushed, machine, name: name_of(backend) }
    }

    /// The cost of a message's range of bytes.
    fn of(&self, path: usize, bytes: f64) -> Result<&'m MessageCost, String> {
        let range = self.ranges[path].iter().rev().find(|range| range.from_bytes as f64 <= bytes);
        range.copied().ok_or_else(|| {
            let [mover, distance] = [name_of(self.movers[path]), name_of(DISTANCES[path])];
            let own = if mover == self.name {
                "its own backend".to_owned()
            } else {
                format!("backend \"{mover}\"")
            };
            format!("[[message]] of {own} and distance \"{distance}\"")
        })
    }

    /// A stage of an exchange, whose messages have so many bytes per particle and per cell.
    ///
    /// # Errors
    /// What was not measured.
    pub(super) fn leg<'p>(
        &self,
        plan: &'p Messages,
        reversed: &'p Messages,
        images: Option<&[f64]>,
        [particle_bytes, cell_bytes]: [f64; 2],
    ) -> Result<Leg<'p>, String> {
        let (ranks, pack) = (plan.sent.len(), self.compute.per_ghost_packed.seconds);
        let (unpack, each) = (self.compute.per_ghost_unpacked.seconds, self.compute.per_message.seconds);
        let path = |peer: u32, rank: usize| self.nodes.distance(peer as usize, rank) as usize;
        let bytes =
            |edge: usize| particle_bytes * plan.particles[edge] + cell_bytes * f64::from(plan.cells[edge]);
        // Messages of one sender may go different ways: each of its calls is taken to last as long as they do on average.
        let mut calls_s = vec![0.0; ranks];
        for rank in 0..ranks {
            for edge in plan.to(rank) {
                let peer = plan.peer[edge];
                calls_s[peer as usize] += self.of(path(peer, rank), bytes(edge))?.overhead_s;
            }
        }
        let mut flushed_s = vec![0.0_f64; ranks];
        let mut messages = Vec::with_capacity(plan.peer.len());
        for rank in 0..ranks {
            for edge in plan.to(rank) {
                let peer = plan.peer[edge];
                let (sender, path) = (peer as usize, path(peer, rank));
                let cost = self.of(path, bytes(edge))?;
                let number = f64::from(plan.number[edge]);
                let calls = calls_s[sender] * (number - 1.0) / f64::from(plan.sent[sender].1);
                let sent_s = pack * plan.ahead[edge] + each * number + calls;
                let (mut flight_s, flushed) = (cost.one_way_s(bytes(edge)), self.flushed[path]);
                if flushed > 0.0 {
                    let notice_s = (1.0 - flushed) * cost.latency_s;
                    flushed_s[sender] = flushed_s[sender].max(sent_s + flight_s - notice_s);
                    flight_s = notice_s;
                }
                let take_s = unpack * plan.particles[edge] + each + cost.overhead_s;
                let flight_s = f64::max(0.0, flight_s - cost.overhead_s);
                messages.push(Message { peer, path: path as u32, sent_s, flight_s, take_s });
            }
        }
        for message in messages.iter_mut().filter(|message| self.flushed[message.path as usize] > 0.0) {
            message.sent_s = flushed_s[message.peer as usize];
        }
        let pack_s: Vec<f64> = plan
            .sent
            .iter()
            .map(|&(particles, messages)| pack * particles + each * f64::from(messages))
            .collect();
        for (calls, (flushed, pack)) in calls_s.iter_mut().zip(flushed_s.iter().zip(&pack_s)) {
            *calls = calls.max(flushed - pack);
        }
        let images_s =
            images.map_or_else(|| vec![0.0; ranks], |images| images.iter().map(|it| pack * it).collect());
        Ok(Leg {
            plan,
            reversed,
            messages,
            pack_s,
            calls_s,
            images_s,
            posted_s: vec![f64::NEG_INFINITY; ranks],
        })
    }

    /// What holds for all messages; paths that are not used need no numbers.
    ///
    /// # Errors
    /// What was not measured.
    pub(super) fn rules(&self, backend: Backend) -> Result<Rules, String> {
        let farthest = usize::from(self.nodes.count > 1);
        let protocol = Protocol::of(self.movers[farthest]);
        let protocol = Protocol { advances: protocol.advances && Protocol::of(backend).advances, ..protocol };
        let hidden = |path: usize| {
            self.machine
                .overlap(self.movers[path], DISTANCES[path])
                .map_or(1.0, |overlap| overlap.hidden_share)
        };
        let empty = self.ranges[farthest].first();
        let [latency, overhead] = empty.map_or([0.0; 2], |empty| [empty.latency_s, empty.overhead_s]);
        let collective = match protocol.synchronisation {
            Synchronisation::None | Synchronisation::Post => 0.0,
            Synchronisation::Fence | Synchronisation::Barrier => self.beyond_two_ranks()?,
        };
        let alone = f64::max(0.0, (1.0 - protocol.flushed) * latency - 2.0 * overhead);
        let hidden_shares = [hidden(0), hidden(1)];
        Ok(Rules { protocol, hidden_shares, synchronisation_s: alone + collective, post_s: latency })
    }

    /// How much longer a barrier of all ranks takes than one of two, which the latency of a backend that has one contains.
    fn beyond_two_ranks(&self) -> Result<f64, String> {
        let doublings = self.nodes.doublings();
        let total: f64 = doublings.iter().map(|(_, doublings)| doublings).sum();
        if total <= 1.0 {
            return Ok(0.0);
        }
        let all = self.collective_s(Operation::Barrier)?;
        Ok(all.per_doublings_s * (1.0 - 1.0 / total))
    }

    /// A collective call of all ranks: on one rank, and what the doublings add.
    pub(super) fn collective_s(&self, operation: Operation) -> Result<CollectiveTime, String> {
        let mut time = CollectiveTime::default();
        for (distance, doublings) in
            self.nodes.doublings().into_iter().filter(|(_, doublings)| *doublings > 0.0)
        {
            let cost = self.machine.collective(operation, distance).ok_or_else(|| {
                let [operation, distance] = [name_of(operation), name_of(distance)];
                format!("[[collective]] of operation \"{operation}\" and distance \"{distance}\"")
            })?;
            time.base_s = time.base_s.max(cost.base_s);
            time.per_doublings_s += cost.per_doubling_s * doublings;
        }
        Ok(time)
    }

    /// Calls for progress of a rank that computes so many pairs in so long while its messages travel.
    pub(super) fn progress_s(&self, leg: &Leg, rank: usize, work_s: f64, pairs: f64) -> f64 {
        /// After as many the engine looks at its messages.
        const BLOCK_PAIRS: f64 = 32_768.0;
        let messages = &leg.messages[leg.plan.to(rank)];
        let flight_s = messages.iter().map(|message| message.flight_s).fold(0.0, f64::max);
        let call = |message: &Message| {
            let path = message.path as usize;
            self.machine
                .overlap(self.movers[path], DISTANCES[path])
                .map_or(0.0, |overlap| overlap.progress_call_s)
        };
        let call_s = messages.iter().map(call).fold(0.0, f64::max);
        let blocks = (pairs / BLOCK_PAIRS).ceil();
        call_s * f64::min(blocks, (flight_s * blocks / work_s.max(f64::MIN_POSITIVE)).ceil())
    }
}

/// Parts of a collective call's time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CollectiveTime {
    base_s: f64,
    per_doublings_s: f64,
}

impl CollectiveTime {
    pub(super) fn total_s(self) -> f64 {
        self.base_s + self.per_doublings_s
    }
}
