//! Steps of applications on grids, predicted with the event model of particles.

use md_comm::Backend;
use md_core::partition::PartitionKind;
use md_core::words::counted;
use md_core::{ExchangePattern, Shell};
use md_engine::Phase;

use super::costs::Costs;
use super::events::{Clocks, Leg, PARTICLES, Rules, Window};
use super::grid_cost::{GridCost, GridCosts};
use super::placement::Nodes;
use super::plans::{Messages, Stage};
use super::play;
use super::room;
use super::{LeftOut, PredictError, Prediction, Request, StepPhases, WARM_UP, remarks_on};
use crate::machine::{ComputeCost, Machine, Operation};
use crate::statistics::Interval;
use crate::{Strategy, name_of};

/// A step on a number of ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct GridStep {
    /// Ranks along each axis.
    pub grid: String,
    /// Number of nodes of all ranks.
    pub nodes: u64,
    /// By rank: number of updates of nodes.
    pub updates: Vec<f64>,
    /// Exchanges, in their order.
    pub exchanges: Vec<GridExchange>,
    /// Number of reductions over all ranks, after the exchanges.
    pub reductions: usize,
}

/// An exchange of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct GridExchange {
    /// By stage and rank: receivers and bytes; bytes to itself are copied without a message.
    pub stages: Vec<Vec<Vec<(usize, f64)>>>,
    /// By rank: share of the step's computation that is done during the exchange.
    pub beside: Vec<f64>,
}

impl GridStep {
    /// Returns the number of bytes of all messages of all ranks.
    pub fn sent_bytes(&self) -> f64 {
        self.bytes()[0]
    }

    /// Returns sender, receiver and bytes of all messages; in copies, sender and receiver are
    /// equal.
    pub(super) fn sent(&self) -> impl Iterator<Item = ([usize; 2], f64)> {
        let stages = self.exchanges.iter().flat_map(|exchange| &exchange.stages);
        let ranks = stages.flat_map(|stage| stage.iter().enumerate());
        ranks.flat_map(|(rank, sent)| sent.iter().map(move |&(peer, bytes)| ([rank, peer], bytes)))
    }

    /// Returns the bytes of all messages, and those copied to periodic images on the same rank.
    pub(super) fn bytes(&self) -> [f64; 2] {
        let mut bytes = [0.0; 2];
        self.sent().for_each(|([rank, peer], count)| bytes[usize::from(peer == rank)] += count);
        bytes
    }
}

/// Predicts the step on its number of ranks, with remarks on what was left out.
///
/// # Errors
/// [`PredictError::NoRoom`], [`PredictError::Refused`].
pub fn predict_grid(
    step: &GridStep,
    exchange: ExchangePattern,
    costs: &GridCosts,
    machine: &Machine,
    request: &Request,
) -> Result<(Vec<Prediction>, Vec<String>), PredictError> {
    let ranks = step.updates.len();
    let steps = request.steps_on(ranks);
    room::expect(room::of_ranks(ranks, WARM_UP + steps), request.memory, || {
        format!("a prediction of {} on {}", counted(steps, "step"), counted(ranks, "rank"))
    })?;
    let cost = costs.at(step);
    let compute = ComputeCost {
        per_ghost_packed_s: cost.per_byte_packed_s,
        per_ghost_unpacked_s: cost.per_byte_unpacked_s,
        ..ComputeCost::default()
    };
    let nodes = request.nodes(ranks);
    let exchanges: Vec<Planned> =
        step.exchanges.iter().map(|exchange| Planned::of(exchange, &nodes)).collect();
    let scene = Scene { step, exchanges, exchange, cost, compute, machine, request, nodes, steps };
    let (mut predictions, mut left_out) = (Vec::new(), LeftOut::new());
    for strategy in request.strategies.iter().filter(|strategy| strategy.exchange == exchange) {
        match scene.prediction(strategy.backend) {
            Ok(prediction) => predictions.push(prediction),
            Err(reason) => {
                left_out.entry((reason, name_of(strategy.backend))).or_default().insert(ranks);
            }
        }
    }
    Ok((predictions, remarks_on(&left_out).into_iter().chain(costs.remark(step)).collect()))
}

/// An exchange with its messages by receiver.
struct Planned<'s> {
    /// Stages in which at least one rank sends.
    stages: Vec<Stage>,
    /// By rank: bytes copied in stages in which no rank sends.
    copied: Vec<f64>,
    beside: &'s [f64],
}

impl<'s> Planned<'s> {
    fn of(exchange: &'s GridExchange, nodes: &Nodes) -> Self {
        let mut planned =
            Self { stages: Vec::new(), copied: vec![0.0; exchange.beside.len()], beside: &exchange.beside };
        for ranks in &exchange.stages {
            let (mut out, mut images) = (Messages::default(), Vec::with_capacity(ranks.len()));
            for (rank, sent) in ranks.iter().enumerate() {
                let others = sent.iter().filter(|(peer, _)| *peer != rank);
                out.push_row(others.map(|&(peer, bytes)| (peer as u32, bytes, 0)).collect());
                // The sum of an empty iterator is -0.
                let own = sent.iter().filter(|(peer, _)| *peer == rank);
                images.push(0.0 + own.map(|(_, bytes)| bytes).sum::<f64>());
            }
            if out.peer.is_empty() {
                planned.copied.iter_mut().zip(images).for_each(|(copied, bytes)| *copied += bytes);
            } else {
                planned.stages.push(Stage::new(&out, images, nodes));
            }
        }
        planned
    }

    /// Returns the stages with their costs. Each byte is treated as a particle of one byte.
    fn legs(&self, costs: &Costs) -> Result<Vec<Leg<'_>>, String> {
        self.stages.iter().map(|stage| costs.leg(stage.there(), [1.0, 0.0])).collect()
    }
}

/// Inputs of the prediction on one number of ranks.
struct Scene<'a> {
    step: &'a GridStep,
    exchanges: Vec<Planned<'a>>,
    exchange: ExchangePattern,
    cost: GridCost,
    compute: ComputeCost,
    machine: &'a Machine,
    request: &'a Request,
    nodes: Nodes,
    steps: usize,
}

/// Exchanges of a strategy: the messages, and the overlapping work by rank.
type Legs<'p> = Vec<(Vec<Leg<'p>>, Vec<f64>)>;

impl Scene<'_> {
    fn prediction(&self, backend: Backend) -> Result<Prediction, String> {
        let Self { step, request, machine, .. } = self;
        let ranks = step.updates.len();
        let costs = Costs::new(machine, &self.compute, self.nodes, backend, request.between_nodes);
        let rules = costs.rules(backend)?;
        let reductions_s = match step.reductions {
            0 => 0.0,
            reductions => reductions as f64 * costs.whole_collective_s(Operation::Allreduce)?,
        };
        let mut legs = self.legs(&costs)?;
        let (mut clocks, mut phases) = (Clocks::new(ranks), [0.0; Phase::ALL.len()]);
        let mut step_s =
            |phases: &mut StepPhases| self.play(&mut legs, &mut clocks, (&rules, reductions_s), phases);
        for _ in 0..WARM_UP {
            step_s(&mut phases);
        }
        phases = [0.0; Phase::ALL.len()];
        let samples: Vec<f64> = (0..self.steps).map(|_| step_s(&mut phases)).collect();
        let interval = Interval::of(&samples).ok_or_else(|| "no steps".to_owned())?;
        let sent = || self.exchanges.iter().flat_map(|exchange| &exchange.stages).map(|stage| &stage.gather);
        let messages: usize = sent().map(|stage| stage.peer.len()).sum();
        let bytes: f64 = sent().flat_map(|stage| &stage.particles).sum();
        let partition = PartitionKind::default();
        Ok(Prediction {
            strategy: Strategy { backend, shell: Shell::Full, exchange: self.exchange, partition },
            ranks,
            grid: step.grid.clone(),
            atoms: step.nodes,
            messages: messages as f64 / ranks as f64,
            bytes: (0.0 + bytes) / ranks as f64,
            step: interval,
            rebuild_s: interval.median_s,
            mean_s: interval.median_s,
            exchange_s: self.exchange_s(&costs, backend)?,
            phases: phases.map(|seconds| seconds / (self.steps * ranks) as f64),
        })
    }

    /// Returns the seconds of the exchanges alone. On a grid, `compare` includes packing in them.
    fn exchange_s(&self, costs: &Costs, backend: Backend) -> Result<f64, String> {
        let alone = self.legs(costs)?.into_iter().flat_map(|(legs, _)| legs);
        let copied_s = |planned: &Planned| self.copied_s(planned).into_iter().fold(0.0, f64::max);
        let copied_s: f64 = self.exchanges.iter().map(copied_s).sum();
        Ok(play::exchange_s(costs, backend, alone)? + copied_s)
    }

    fn legs<'p>(&'p self, costs: &Costs) -> Result<Legs<'p>, String> {
        let of = |exchange: &'p Planned<'_>| {
            let work = self.step.updates.iter().zip(exchange.beside);
            let work = work.map(|(updates, beside)| self.cost.per_update_s * updates * beside);
            Ok((exchange.legs(costs)?, work.collect()))
        };
        self.exchanges.iter().map(of).collect()
    }

    /// Returns each rank's seconds of copying in stages in which no rank sends.
    fn copied_s(&self, planned: &Planned) -> Vec<f64> {
        planned.copied.iter().map(|bytes| self.cost.per_byte_packed_s * bytes).collect()
    }

    /// Plays one step, and returns how much the clock of the last rank advances.
    fn play(
        &self,
        legs: &mut Legs,
        clocks: &mut Clocks,
        (rules, reductions_s): (&Rules, f64),
        phases: &mut StepPhases,
    ) -> f64 {
        let (ranks, before) = (self.step.updates.len(), clocks.latest_s());
        let (idle, noise) = (vec![0.0; ranks], vec![[1.0_f32; 2]; ranks]);
        let of_updates =
            |cost_s: f64| self.step.updates.iter().map(|updates| cost_s * updates).collect::<Vec<f64>>();
        let mut rest = of_updates(self.cost.per_update_s);
        for ((legs, work_s), planned) in legs.iter_mut().zip(&self.exchanges) {
            phases[Phase::HaloPack as usize] += clocks.work(&self.copied_s(planned), &noise, PARTICLES);
            let window = Window { work_s, noise: &noise, progress_s: &idle };
            let spent = clocks.exchange(legs, rules, Some(window));
            let parts = [
                (Phase::HaloPack, spent.pack_s),
                (Phase::HaloTransfer, spent.calls_s),
                (Phase::HaloWait, spent.wait_s),
                (Phase::HaloUnpack, spent.take_s),
                (Phase::Integrate, spent.work_s),
            ];
            parts.into_iter().for_each(|(phase, seconds)| phases[phase as usize] += seconds);
            if !legs.is_empty() {
                rest.iter_mut().zip(work_s).for_each(|(rest, done)| *rest = f64::max(0.0, *rest - *done));
            }
        }
        phases[Phase::Integrate as usize] += clocks.work(&rest, &noise, PARTICLES);
        if self.step.reductions > 0 {
            let begun: f64 = clocks.now_s.iter().sum();
            clocks.work(&of_updates(self.cost.per_update_summed_s), &noise, PARTICLES);
            let together = clocks.latest_s() + reductions_s;
            phases[Phase::Reduce as usize] += together * ranks as f64 - begun;
            clocks.now_s.fill(together);
        }
        let lasted = clocks.latest_s() - before;
        phases[Phase::Total as usize] += lasted * ranks as f64;
        lasted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{CollectiveCost, Distance, HalfWidths, MessageCost};
    use crate::predict::{GridTimes, Placement, Scaling};

    /// Returns a ring of ranks that send 1000 bytes to both neighbours, and do the share `beside`
    /// of their computation meanwhile.
    fn ring(ranks: usize, beside: f64) -> GridStep {
        let sent = |rank: usize| vec![((rank + 1) % ranks, 1000.0), ((rank + ranks - 1) % ranks, 1000.0)];
        let stages = vec![(0..ranks).map(sent).collect()];
        GridStep {
            grid: format!("{ranks}x1x1"),
            nodes: 100 * ranks as u64,
            updates: vec![100.0; ranks],
            exchanges: vec![GridExchange { stages, beside: vec![beside; ranks] }],
            reductions: 0,
        }
    }

    fn machine() -> Machine {
        let cost = MessageCost {
            backend: Backend::P2p,
            latency_s: 1e-6,
            seconds_per_byte: 1e-9,
            ..MessageCost::default()
        };
        Machine { messages: vec![cost], ..Machine::default() }
    }

    fn predicted(step: &GridStep, backend: Backend) -> (Vec<Prediction>, Vec<String>) {
        let cost = GridCost { per_update_s: 1e-7, ..GridCost::default() };
        predicted_at(step, backend, cost, &machine())
    }

    fn request(backend: Backend) -> Request {
        let exchange = ExchangePattern::Direct;
        let strategy =
            Strategy { backend, shell: Shell::Full, exchange, partition: PartitionKind::default() };
        Request {
            ranks: vec![4],
            ranks_per_node: None,
            ranks_per_complex: None,
            placement: Placement::Block,
            scaling: Scaling::Strong,
            strategies: vec![strategy],
            between_nodes: Backend::P2p,
            steps: Some(5),
            seed: 1,
            memory: None,
        }
    }

    fn predicted_at(
        step: &GridStep,
        backend: Backend,
        cost: GridCost,
        machine: &Machine,
    ) -> (Vec<Prediction>, Vec<String>) {
        let mut costs = GridCosts::default();
        costs.add(step, cost);
        predict_grid(step, ExchangePattern::Direct, &costs, machine, &request(backend)).unwrap()
    }

    /// Ranks that are their own neighbours along an axis copy, with or without messages.
    #[test]
    fn what_a_rank_copies_costs_as_much_as_what_it_packs() {
        let cost = GridCost { per_update_s: 1e-7, per_byte_packed_s: 1e-9, ..GridCost::default() };
        let step_s = |step: &GridStep| predicted_at(step, Backend::P2p, cost, &machine()).0[0].step.median_s;
        let mut step = ring(4, 0.0);
        // 2 us of a message, 2 us of packing, 10 us of work.
        assert!((step_s(&step) - 14e-6).abs() < 1e-12, "{}", step_s(&step));
        step.exchanges[0].stages.push((0..4).map(|rank| vec![(rank, 3000.0)]).collect());
        assert_eq!(step.bytes(), [8000.0, 12000.0]);
        assert!((step_s(&step) - 17e-6).abs() < 1e-12, "{}", step_s(&step));
        let all = predicted_at(&step, Backend::P2p, cost, &machine()).0.remove(0);
        assert_eq!((all.messages, all.bytes), (2.0, 2000.0));
        assert!((all.phases[Phase::HaloPack as usize] - 5e-6).abs() < 1e-12);
        assert!((all.exchange_s - 7e-6).abs() < 1e-12, "{}", all.exchange_s);
        let mut alone = ring(1, 0.0);
        alone.exchanges[0].stages = vec![vec![vec![(0, 3000.0)]]];
        assert!((step_s(&alone) - 13e-6).abs() < 1e-12, "{}", step_s(&alone));
    }

    /// The costs derived from the times of a predicted run are those of the prediction.
    #[test]
    fn sums_are_computed_and_reduced() {
        let collective = CollectiveCost {
            operation: Operation::Allreduce,
            distance: Distance::Node,
            base_s: 5e-7,
            per_doubling_s: 1e-6,
            rms_residual: 0.0,
            largest_residual: 0.0,
            samples: 0,
            half_widths: HalfWidths::new(),
        };
        let machine = Machine { collectives: vec![collective], ..machine() };
        let step = GridStep { reductions: 4, ..ring(4, 0.0) };
        let cost = GridCost { per_update_s: 1e-7, per_update_summed_s: 2e-8, ..GridCost::default() };
        let found = predicted_at(&step, Backend::P2p, cost, &machine).0.remove(0);
        // 12 us as without sums, 2 us of summation, 4 reductions of 2.5 us.
        assert!((found.step.median_s - 24e-6).abs() < 1e-12, "{}", found.step.median_s);
        let reduce_s = found.phases[Phase::Reduce as usize];
        assert!((reduce_s - 12e-6).abs() < 1e-12, "{reduce_s}");
        let times = GridTimes {
            steps: 3.0,
            integrate_s: 12e-5,
            reduce_s: 12.0 * reduce_s,
            pack_s: 0.0,
            unpack_s: 0.0,
        };
        let again = GridCost::of(&step, &times, &machine, &request(Backend::P2p));
        assert!((again.per_update_summed_s / 2e-8 - 1.0).abs() < 1e-9, "{again:?}");
        assert!((again.per_update_s / 1e-7 - 1.0).abs() < 1e-9, "{again:?}");
    }

    #[test]
    fn costs_change_with_the_size_of_a_rank() {
        let sized = |updates: f64| GridStep { updates: vec![updates; 2], ..ring(2, 0.0) };
        let of = |per_update_s: f64| GridCost { per_update_s, ..GridCost::default() };
        let mut costs = GridCosts::default();
        costs.add(&sized(10_000.0), of(3e-9));
        costs.add(&sized(100.0), of(1e-9));
        for (updates, cost_s) in [(10.0, 1e-9), (100.0, 1e-9), (1000.0, 2e-9), (10_000.0, 3e-9), (1e6, 3e-9)]
        {
            let found_s = costs.at(&sized(updates)).per_update_s;
            assert!((found_s - cost_s).abs() < 1e-20, "{updates}: {found_s}");
        }
        assert_eq!(costs.remark(&sized(1000.0)), None);
        assert!(costs.remark(&sized(1e6)).is_some_and(|it| it.contains("with 100 to 10000")));
    }

    #[test]
    fn a_step_is_its_messages_and_its_work_and_hides_what_travels_beside_work() {
        let step_s = |beside| predicted(&ring(4, beside), Backend::P2p).0[0].step.median_s;
        // 2 us of a message, 10 us of work; a message during 5 us of work costs nothing.
        assert!((step_s(0.0) - 12e-6).abs() < 1e-12, "{}", step_s(0.0));
        assert!((step_s(0.5) - 10e-6).abs() < 1e-12, "{}", step_s(0.5));
        let all = predicted(&ring(4, 0.0), Backend::P2p).0.remove(0);
        assert_eq!((all.messages, all.bytes, all.atoms), (2.0, 2000.0, 400));
        assert!((all.phases[Phase::Integrate as usize] - 10e-6).abs() < 1e-12);
        assert!((all.phases[Phase::HaloWait as usize] - 2e-6).abs() < 1e-12);
        assert!((all.exchange_s - 2e-6).abs() < 1e-12);
    }

    #[test]
    fn what_was_not_measured_is_left_out_and_said() {
        let (predictions, remarks) = predicted(&ring(4, 0.0), Backend::RmaFence);
        assert!(predictions.is_empty());
        assert!(remarks[0].starts_with("left out on 4 ranks, because the machine has no "), "{remarks:?}");
        let sums = GridStep { reductions: 2, ..ring(4, 0.0) };
        assert!(predicted(&sums, Backend::P2p).1[0].contains("[[collective]] of operation \"allreduce\""));
    }
}
