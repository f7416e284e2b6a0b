//! Costs of a strategy's messages: the numbers of the machine applied to the plans.

use md_comm::Backend;

use super::events::{Leg, Message, Rules};
use super::placement::Nodes;
use super::plans::{Messages, Way};
use super::protocol::{Protocol, Synchronisation, has_windows};
use crate::machine::{ComputeCost, Distance, Machine, MessageCost, Operation, OverlapCost};
use crate::name_of;

/// Paths of a message; the index of each is its number.
const DISTANCES: [Distance; PATHS] = [Distance::Node, Distance::Network, Distance::Across];
pub(super) const PATHS: usize = 3;

/// Costs of a backend on a machine, for a number of ranks.
pub(super) struct Costs<'m> {
    pub(super) compute: &'m ComputeCost,
    nodes: Nodes,
    /// By path: backend that moves the messages.
    movers: [Backend; PATHS],
    /// By path: costs of each range of bytes; empty if they were not measured.
    ranges: [Vec<&'m MessageCost>; PATHS],
    /// By path: fraction of the latency spent in a flush.
    flushed: [f64; PATHS],
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
        let is_made_of_two = backend == Backend::Hybrid;
        let movers =
            if is_made_of_two { [Backend::Shm, between_nodes, Backend::Shm] } else { [backend; PATHS] };
        let mut ranges = [0, 1, 2].map(|path| machine.ranges(movers[path], DISTANCES[path]));
        if ranges[Distance::Across as usize].is_empty() {
            ranges[Distance::Across as usize] = ranges[Distance::Node as usize].clone();
        }
        let flushed = movers.map(|mover| Protocol::of(mover).flushed);
        Self { compute, nodes, movers, ranges, flushed, machine, name: name_of(backend) }
    }

    /// Returns the costs of another backend and other work, on the same nodes.
    pub(super) fn with(&self, backend: Backend, compute: &'m ComputeCost) -> Self {
        Self::new(self.machine, compute, self.nodes, backend, backend)
    }

    pub(super) fn ranks(&self) -> usize {
        self.nodes.ranks
    }

    /// Returns the cost of a message of this length.
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

    /// Returns a stage of an exchange, whose messages have `bytes` bytes per particle and per cell.
    ///
    /// # Errors
    /// The measurement that is missing.
    pub(super) fn leg<'p>(&self, way: Way<'p>, bytes: [f64; 2]) -> Result<Leg<'p>, String> {
        let Way { plan, reversed, senders, images } = way;
        let (pack, notices_s) = (self.compute.per_ghost_packed_s, self.notices_s());
        let mut messages = Vec::new();
        let (mut pack_s, mut calls_s) = (Vec::new(), Vec::new());
        for sender in senders.examples() {
            let prices = self.prices(reversed, sender, bytes)?;
            let begins = messages.len();
            let mut calls = prices.iter().fold(0.0, |calls, price| calls + price.busy_s);
            self.add_messages(&mut messages, (reversed, sender), &prices, calls);
            calls += notices_s * reversed.further_peers(sender);
            let packed = pack * plan.sent[sender].0;
            let flushed = self.flush(&mut messages[begins..], &prices);
            calls_s.push(calls.max(flushed - packed));
            pack_s.push(packed);
        }
        let taken_s = |rank: usize| notices_s * plan.further_peers(rank) / plan.to(rank).len().max(1) as f64;
        Ok(Leg {
            way,
            messages,
            notices_s: (0..self.ranks()).map(taken_s).collect(),
            pack_s: senders.by_rank(&pack_s),
            calls_s: senders.by_rank(&calls_s),
            images_s: images.iter().map(|particles| pack * particles).collect(),
            posted_s: vec![f64::NEG_INFINITY; self.ranks()],
        })
    }

    /// Returns the seconds that a rank spends on post and complete per neighbour. These are
    /// separate messages, one of each per neighbour. Those of one neighbour are part of the
    /// latency.
    fn notices_s(&self) -> f64 {
        let farthest = usize::from(self.nodes.count > 1);
        if Protocol::of(self.movers[farthest]).synchronisation != Synchronisation::Post {
            return 0.0;
        }
        let message = self.machine.ranges(Backend::P2p, DISTANCES[farthest]).first().copied();
        2.0 * message.map_or(0.0, |message| message.overhead_s)
    }

    /// Returns the costs of all messages of a rank, in its order.
    fn prices(
        &self,
        sent: &Messages,
        sender: usize,
        [per_particle, per_cell]: [f64; 2],
    ) -> Result<Vec<Price<'m>>, String> {
        let price = |edge: usize| {
            let path = self.nodes.distance(sender, sent.peer[edge] as usize) as usize;
            let bytes = per_particle * sent.particles[edge] + per_cell * f64::from(sent.cells[edge]);
            let cost = self.of(path, bytes)?;
            let one_way_s = cost.one_way_s(bytes);
            let longer_s = f64::max(0.0, one_way_s - self.of(path, 0.0)?.latency_s);
            // Flushed data has arrived before the receiver has to do anything.
            let ends = if self.flushed[path] > 0.0 { 1.0 } else { 2.0 };
            let busy_s = cost.overhead_s + cost.serial_share * longer_s / ends;
            Ok(Price { path, cost, one_way_s, busy_s })
        };
        sent.to(sender).map(price).collect()
    }

    /// Adds the messages of a sender. They may take different paths, so the calls are spread evenly
    /// over the time of all of them.
    fn add_messages(
        &self,
        messages: &mut Vec<Message>,
        (sent, sender): (&Messages, usize),
        prices: &[Price],
        calls_s: f64,
    ) {
        let ComputeCost { per_ghost_packed_s, per_ghost_unpacked_s, .. } = self.compute;
        let mut packed = 0.0;
        for (number, (edge, price)) in sent.to(sender).zip(prices).enumerate() {
            let Price { path, one_way_s, busy_s, .. } = *price;
            let particles = sent.particles[edge];
            packed += particles;
            messages.push(Message {
                path: path as u32,
                sent_s: per_ghost_packed_s * packed + calls_s * number as f64 / prices.len() as f64,
                flight_s: f64::max(0.0, one_way_s - busy_s),
                take_s: per_ghost_unpacked_s * particles + busy_s,
            });
        }
    }

    /// Delays the notices of a sender until its puts are acknowledged, and returns that time.
    fn flush(&self, messages: &mut [Message], prices: &[Price]) -> f64 {
        let mut flushed_s = 0.0;
        let noticed = |price: &Price| self.flushed[price.path] > 0.0;
        for (message, price) in messages.iter_mut().zip(prices).filter(|(_, price)| noticed(price)) {
            let notice_s = (1.0 - self.flushed[price.path]) * price.cost.latency_s;
            flushed_s = f64::max(flushed_s, message.sent_s + price.one_way_s - notice_s);
            message.flight_s = f64::max(0.0, notice_s - price.cost.overhead_s);
            message.take_s -= price.busy_s - price.cost.overhead_s;
        }
        for (message, _) in messages.iter_mut().zip(prices).filter(|(_, price)| noticed(price)) {
            message.sent_s = flushed_s;
        }
        flushed_s
    }

    /// Returns the overlap of a path. It is measured for all ranks of a node together.
    fn overlap(&self, path: usize) -> Option<&'m OverlapCost> {
        let distance = if DISTANCES[path] == Distance::Network { Distance::Network } else { Distance::Node };
        self.machine.overlap(self.movers[path], distance)
    }

    /// Returns the rules of all messages; unused paths need no measurements.
    ///
    /// # Errors
    /// The measurement that is missing.
    pub(super) fn rules(&self, backend: Backend) -> Result<Rules, String> {
        let farthest = usize::from(self.nodes.count > 1);
        let protocol = Protocol::of(self.movers[farthest]);
        let protocol = Protocol { advances: protocol.advances && Protocol::of(backend).advances, ..protocol };
        let hidden = |path: usize| self.overlap(path).map_or(1.0, |overlap| overlap.hidden_share);
        let empty = self.ranges[farthest].first();
        let [latency, overhead] = empty.map_or([0.0; 2], |empty| [empty.latency_s, empty.overhead_s]);
        let collective = match protocol.synchronisation {
            Synchronisation::None | Synchronisation::Post => 0.0,
            Synchronisation::Fence | Synchronisation::Barrier => self.beyond_two_ranks(Operation::Barrier)?,
        };
        let alone = f64::max(0.0, (1.0 - protocol.flushed) * latency - 2.0 * overhead);
        let hidden_shares = [0, 1, 2].map(hidden);
        Ok(Rules { protocol, hidden_shares, synchronisation_s: alone + collective, post_s: latency })
    }

    /// Returns how much longer a collective call takes among all ranks than between two, which is
    /// part of the latency of the backends that make such calls.
    fn beyond_two_ranks(&self, operation: Operation) -> Result<f64, String> {
        let doublings = self.nodes.doublings();
        let total: f64 = doublings.iter().map(|(_, doublings)| doublings).sum();
        if total <= 1.0 {
            return Ok(0.0);
        }
        Ok(self.collective_s(operation)? * (1.0 - 1.0 / total))
    }

    /// Returns the part of a collective call of all ranks that depends on the number of doublings.
    pub(super) fn collective_s(&self, operation: Operation) -> Result<f64, String> {
        let mut time_s = 0.0;
        for (distance, doublings) in
            self.nodes.doublings().into_iter().filter(|(_, doublings)| *doublings > 0.0)
        {
            let cost = self.machine.collective(operation, distance).ok_or_else(|| {
                let [operation, distance] = [name_of(operation), name_of(distance)];
                format!("[[collective]] of operation \"{operation}\" and distance \"{distance}\"")
            })?;
            time_s += cost.per_doubling_s * doublings;
        }
        Ok(time_s)
    }

    /// Returns the seconds of a whole collective call of all ranks.
    pub(super) fn whole_collective_s(&self, operation: Operation) -> Result<f64, String> {
        if self.nodes.ranks == 1 {
            return Ok(0.0);
        }
        let farthest = DISTANCES[usize::from(self.nodes.count > 1)];
        let base_s = self.machine.collective(operation, farthest).map_or(0.0, |cost| cost.base_s);
        Ok(base_s + self.collective_s(operation)?)
    }

    /// Returns the seconds that all ranks spend on the windows of a context at a rebuild, as far as
    /// this was measured; for `hybrid`, the sum of both halves.
    pub(super) fn negotiation_s(&self, backend: Backend) -> f64 {
        let farthest = usize::from(self.nodes.count > 1);
        let halves = if backend == Backend::Hybrid { 0..=1 } else { farthest..=farthest };
        let with_windows = halves.filter(|&path| has_windows(self.movers[path]));
        let of_half = |path: usize| {
            let measured = self.machine.negotiation(self.movers[path], DISTANCES[path]);
            let more = [Operation::Allreduce, Operation::Barrier].map(|it| self.beyond_two_ranks(it));
            measured.map_or(0.0, |it| it.two_ranks_s) + more.into_iter().flatten().sum::<f64>()
        };
        if self.nodes.ranks > 1 { with_windows.map(of_half).sum() } else { 0.0 }
    }

    /// Returns each rank's seconds of progress calls while its messages travel and it computes
    /// `pairs` pairs in `work_s` seconds.
    pub(super) fn progress_s(&self, leg: &Leg, work_s: &[f64], pairs: &[f64]) -> Vec<f64> {
        /// Number of pairs after which the engine makes a progress call.
        const BLOCK_PAIRS: f64 = 32_768.0;
        let calls_s = [0, 1, 2].map(|path| self.overlap(path).map_or(0.0, |it| it.progress_call_s));
        let of_rank = |rank: usize| {
            let flight_s = leg.to(rank).map(|(_, message)| message.flight_s).fold(0.0, f64::max);
            let call_s = leg.to(rank).map(|(_, message)| calls_s[message.path as usize]).fold(0.0, f64::max);
            let blocks = (pairs[rank] / BLOCK_PAIRS).ceil();
            call_s * f64::min(blocks, (flight_s * blocks / work_s[rank].max(f64::MIN_POSITIVE)).ceil())
        };
        (0..work_s.len()).map(of_rank).collect()
    }
}

/// Cost of a message.
struct Price<'m> {
    path: usize,
    cost: &'m MessageCost,
    one_way_s: f64,
    /// Seconds of work of the sender, and of the receiver too if nothing is flushed.
    busy_s: f64,
}
