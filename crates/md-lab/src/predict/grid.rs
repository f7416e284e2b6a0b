//! Steps of applications on grids, played by the same event model as those of particles.

use md_comm::Backend;
use md_core::partition::PartitionKind;
use md_core::{ExchangePattern, Shell};
use md_engine::Phase;

use super::costs::Costs;
use super::events::{Clocks, Leg, PARTICLES, Rules, Window};
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
    /// Nodes of all ranks.
    pub nodes: u64,
    /// Updates of nodes, by rank.
    pub updates: Vec<f64>,
    /// In their order.
    pub exchanges: Vec<GridExchange>,
    /// Sums over all ranks, after the exchanges.
    pub sums: usize,
}

/// An exchange of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct GridExchange {
    /// Stage by stage, by rank: to whom it sends, and how many bytes.
    pub stages: Vec<Vec<Vec<(usize, f64)>>>,
    /// By rank: share of the step's computation that is done meanwhile.
    pub beside: Vec<f64>,
}

/// What computing and packing cost a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GridCost {
    /// An update of a node.
    pub per_update_s: f64,
    /// Writing a byte into a message.
    pub per_byte_packed_s: f64,
    /// Reading one.
    pub per_byte_unpacked_s: f64,
}

/// Predicts one number of ranks; what is left out is remarked upon.
///
/// # Errors
/// No room for so many ranks.
pub fn predict_grid(
    step: &GridStep,
    exchange: ExchangePattern,
    cost: GridCost,
    machine: &Machine,
    request: &Request,
) -> Result<(Vec<Prediction>, Vec<String>), PredictError> {
    let ranks = step.updates.len();
    let steps = request.steps_on(ranks);
    room::expect(room::of_ranks(ranks, WARM_UP + steps), request.memory, || {
        format!("a prediction of {steps} steps on {ranks} ranks")
    })?;
    let compute = ComputeCost {
        per_ghost_packed_s: cost.per_byte_packed_s,
        per_ghost_unpacked_s: cost.per_byte_unpacked_s,
        ..ComputeCost::default()
    };
    let exchanges: Vec<Planned> = step.exchanges.iter().map(Planned::of).collect();
    let scene = Scene { step, exchanges, exchange, cost, compute, machine, request, steps };
    let (mut predictions, mut left_out) = (Vec::new(), LeftOut::new());
    for strategy in request.strategies.iter().filter(|strategy| strategy.exchange == exchange) {
        match scene.prediction(strategy.backend) {
            Ok(prediction) => predictions.push(prediction),
            Err(reason) => {
                left_out.entry((reason, name_of(strategy.backend))).or_default().insert(ranks);
            }
        }
    }
    Ok((predictions, remarks_on(&left_out)))
}

/// An exchange as its receivers see it.
struct Planned<'s> {
    stages: Vec<Stage>,
    beside: &'s [f64],
}

impl<'s> Planned<'s> {
    fn of(exchange: &'s GridExchange) -> Self {
        let stage = |ranks: &Vec<Vec<(usize, f64)>>| {
            let mut out = Messages::default();
            for sent in ranks {
                out.push_row(sent.iter().map(|&(peer, bytes)| (peer as u32, bytes, 0)).collect());
            }
            let gather = out.reversed();
            Stage { scatter: gather.reversed(), gather, images: vec![0.0; ranks.len()] }
        };
        Self { stages: exchange.stages.iter().map(stage).collect(), beside: &exchange.beside }
    }

    /// The bytes of a message are the particles of which each has one.
    fn legs(&self, costs: &Costs) -> Result<Vec<Leg<'_>>, String> {
        // A stage in which nobody sends is none.
        let stages = self.stages.iter().filter(|stage| !stage.gather.peer.is_empty());
        let legs = stages.map(|stage| costs.leg(&stage.gather, &stage.scatter, &stage.images, [1.0, 0.0]));
        legs.collect()
    }
}

/// A number of ranks.
struct Scene<'a> {
    step: &'a GridStep,
    exchanges: Vec<Planned<'a>>,
    exchange: ExchangePattern,
    cost: GridCost,
    compute: ComputeCost,
    machine: &'a Machine,
    request: &'a Request,
    steps: usize,
}

/// A strategy's exchanges: their messages, and the work beside them by rank.
type Legs<'p> = Vec<(Vec<Leg<'p>>, Vec<f64>)>;

impl Scene<'_> {
    fn prediction(&self, backend: Backend) -> Result<Prediction, String> {
        let Self { step, request, machine, .. } = self;
        let ranks = step.updates.len();
        let nodes = Nodes::new(ranks, request.ranks_per_node.unwrap_or(ranks), request.placement);
        let costs = Costs::new(machine, &self.compute, nodes, backend, request.between_nodes);
        let rules = costs.rules(backend)?;
        let sums_s = if step.sums == 0 || ranks == 1 {
            0.0
        } else {
            step.sums as f64 * costs.collective_s(Operation::Allreduce)?
        };
        let mut legs = self.legs(&costs)?;
        let (mut clocks, mut phases) = (Clocks::new(ranks), [0.0; Phase::ALL.len()]);
        let mut step_s =
            |phases: &mut StepPhases| self.play(&mut legs, &mut clocks, (&rules, sums_s), phases);
        for _ in 0..WARM_UP {
            step_s(&mut phases);
        }
        phases = [0.0; Phase::ALL.len()];
        let samples: Vec<f64> = (0..self.steps).map(|_| step_s(&mut phases)).collect();
        let interval = Interval::of(&samples).ok_or_else(|| "no steps".to_owned())?;
        // Packing is part of what `compare` measures on a grid.
        let alone = self.legs(&costs)?.into_iter().flat_map(|(legs, _)| legs);
        let sent = || self.exchanges.iter().flat_map(|exchange| &exchange.stages).map(|stage| &stage.gather);
        let messages: usize = sent().map(|stage| stage.peer.len()).sum();
        let bytes: f64 = sent().flat_map(|stage| &stage.particles).sum();
        Ok(Prediction {
            strategy: Strategy {
                backend,
                shell: Shell::Full,
                exchange: self.exchange,
                partition: PartitionKind::default(),
            },
            ranks,
            grid: step.grid.clone(),
            atoms: step.nodes,
            messages: messages as f64 / ranks as f64,
            bytes: (0.0 + bytes) / ranks as f64,
            step: interval,
            rebuild_s: interval.median_s,
            mean_s: interval.median_s,
            exchange_s: play::exchange_s(&costs, backend, alone)?,
            phases: phases.map(|seconds| seconds / (self.steps * ranks) as f64),
        })
    }

    fn legs<'p>(&'p self, costs: &Costs) -> Result<Legs<'p>, String> {
        let of = |exchange: &'p Planned<'_>| {
            let work = self.step.updates.iter().zip(exchange.beside);
            let work = work.map(|(updates, beside)| self.cost.per_update_s * updates * beside);
            Ok((exchange.legs(costs)?, work.collect()))
        };
        self.exchanges.iter().map(of).collect()
    }

    /// One step: how much later the last rank is afterwards.
    fn play(
        &self,
        legs: &mut Legs,
        clocks: &mut Clocks,
        (rules, sums_s): (&Rules, f64),
        phases: &mut StepPhases,
    ) -> f64 {
        let (ranks, before) = (self.step.updates.len(), clocks.latest_s());
        let (idle, noise) = (vec![0.0; ranks], vec![[1.0_f32; 2]; ranks]);
        let mut rest: Vec<f64> =
            self.step.updates.iter().map(|updates| self.cost.per_update_s * updates).collect();
        for (legs, work_s) in legs {
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
        if sums_s > 0.0 {
            let together = clocks.latest_s() + sums_s;
            let busy: f64 = clocks.now_s.iter().sum();
            phases[Phase::Other as usize] += together * ranks as f64 - busy;
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
    use crate::machine::{Distance, MessageCost};
    use crate::predict::{Placement, Scaling};

    /// A ring of ranks that send 1000 bytes to both neighbours, and compute meanwhile or afterwards.
    fn ring(ranks: usize, beside: f64) -> GridStep {
        let sent = |rank: usize| vec![((rank + 1) % ranks, 1000.0), ((rank + ranks - 1) % ranks, 1000.0)];
        let stages = vec![(0..ranks).map(sent).collect()];
        GridStep {
            grid: format!("{ranks}x1x1"),
            nodes: 100 * ranks as u64,
            updates: vec![100.0; ranks],
            exchanges: vec![GridExchange { stages, beside: vec![beside; ranks] }],
            sums: 0,
        }
    }

    fn machine() -> Machine {
        let cost = MessageCost {
            backend: Backend::P2p,
            distance: Distance::Node,
            from_bytes: 0,
            below_bytes: None,
            latency_s: 1e-6,
            overhead_s: 0.0,
            seconds_per_byte: 1e-9,
            rms_residual: 0.0,
            largest_residual: 0.0,
            samples: 0,
        };
        Machine { messages: vec![cost], ..Machine::default() }
    }

    fn predicted(step: &GridStep, backend: Backend) -> (Vec<Prediction>, Vec<String>) {
        let exchange = ExchangePattern::Direct;
        let strategy =
            Strategy { backend, shell: Shell::Full, exchange, partition: PartitionKind::default() };
        let request = Request {
            ranks: vec![4],
            ranks_per_node: None,
            placement: Placement::Block,
            scaling: Scaling::Strong,
            strategies: vec![strategy],
            between_nodes: Backend::P2p,
            steps: Some(5),
            seed: 1,
            memory: None,
        };
        let cost = GridCost { per_update_s: 1e-7, ..GridCost::default() };
        predict_grid(step, exchange, cost, &machine(), &request).unwrap()
    }

    #[test]
    fn a_step_is_its_messages_and_its_work_and_hides_what_travels_beside_work() {
        let step_s = |beside| predicted(&ring(4, beside), Backend::P2p).0[0].step.median_s;
        // 2 us of a message, 10 us of work; a message that travels while 5 us of work are done costs nothing.
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
        let sums = GridStep { sums: 2, ..ring(4, 0.0) };
        assert!(predicted(&sums, Backend::P2p).1[0].contains("[[collective]] of operation \"allreduce\""));
    }
}
