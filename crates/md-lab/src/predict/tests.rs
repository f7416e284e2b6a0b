//! Tests of the model where the answer is known, by hand or from the messages of real ranks.

use std::time::Duration;

use md_comm::{Traffic, World, local};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_core::{Boundary, PartitionKind, SimdLevel};
use md_engine::{SimdChoice, Simulation};

use super::events::{Clocks, Window};
use super::plans::Messages;
use super::*;
use crate::machine::{CollectiveCost, HalfWidths, NegotiationCost, Operation};

const LATENCY_S: f64 = 3e-6;
const OVERHEAD_S: f64 = 2e-7;
const BYTE_S: f64 = 1e-9;
const DOUBLING_S: f64 = 1e-6;
const PARTICLE_BYTES: f64 = 24.0;

/// Returns a machine on which messages have costs and computation has none.
pub(super) fn machine() -> Machine {
    let message = |&backend: &Backend| MessageCost {
        latency_s: LATENCY_S,
        overhead_s: OVERHEAD_S,
        seconds_per_byte: BYTE_S,
        backend,
        ..MessageCost::default()
    };
    let collective = |operation| CollectiveCost {
        operation,
        distance: Distance::Node,
        base_s: 0.0,
        per_doubling_s: DOUBLING_S,
        rms_residual: 0.0,
        largest_residual: 0.0,
        samples: 0,
        half_widths: HalfWidths::new(),
    };
    Machine {
        messages: Backend::ALL.iter().map(message).collect(),
        collectives: vec![collective(Operation::Barrier), collective(Operation::Allreduce)],
        computes: vec![free()],
        ..Machine::default()
    }
}

fn free() -> ComputeCost {
    ComputeCost { threads: 1, ..ComputeCost::default() }
}

/// Returns a stage whose ranks send messages of these numbers of particles to these ranks.
fn messages(to: &[&[(u32, f64)]]) -> Stage {
    let mut out = Messages::default();
    to.iter()
        .for_each(|row| out.push_row(row.iter().map(|&(peer, particles)| (peer, particles, 1)).collect()));
    Stage::new(&out, vec![0.0; to.len()], &Nodes::one(to.len()))
}

/// Returns the clocks after each exchange; before it every rank works for the given time.
fn exchanges(backend: Backend, to: &[&[(u32, f64)]], work_s: &[&[f64]]) -> Vec<Vec<f64>> {
    let (machine, compute, ranks) = (machine(), free(), to.len());
    let costs = Costs::new(&machine, &compute, Nodes::one(ranks), backend, Backend::P2p);
    let stage = messages(to);
    let mut legs = [costs.leg(stage.there(), [PARTICLE_BYTES, 0.0]).unwrap()];
    let rules = costs.rules(backend).unwrap();
    let mut clocks = Clocks::new(ranks);
    let exchange = |work_s: &&[f64]| {
        clocks.work(work_s, &vec![[1.0; 2]; ranks], 0);
        clocks.exchange(&mut legs, &rules, None);
        clocks.now_s.clone()
    };
    work_s.iter().map(exchange).collect()
}

fn ring(ranks: u32) -> Vec<Vec<(u32, f64)>> {
    let neighbours = |rank: u32| vec![((rank + 1) % ranks, 0.0), ((rank + ranks - 1) % ranks, 0.0)];
    (0..ranks).map(neighbours).collect()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-12, "{what}: {found:e} instead of {expected:e}");
}

#[test]
fn one_message_takes_what_the_machine_says() {
    let apart = |backend| !matches!(backend, Backend::Auto | Backend::Hybrid);
    for &backend in Backend::ALL.iter().filter(|&&backend| apart(backend)) {
        let after = exchanges(backend, &[&[(1, 10.0)], &[]], &[&[0.0, 0.0]]);
        assert_close(after[0][1], LATENCY_S + 240.0 * BYTE_S, backend.name());
        let none = exchanges(backend, &[&[(1, 0.0)], &[]], &[&[0.0, 0.0]]);
        assert_close(none[0][1], LATENCY_S, backend.name());
    }
}

#[test]
fn post_and_complete_are_messages_to_every_neighbour() {
    let sender_s = |backend, to: &[(u32, f64)]| exchanges(backend, &[to, &[], &[]], &[&[0.0; 3]])[0][0];
    let [one, two] = [&[(1, 0.0)][..], &[(1, 0.0), (2, 0.0)]];
    let further_s = |backend| sender_s(backend, two) - sender_s(backend, one);
    assert_close(further_s(Backend::P2p), OVERHEAD_S, "a message");
    assert_close(further_s(Backend::RmaPscw), 3.0 * OVERHEAD_S, "a put, a post and a complete");
}

#[test]
fn a_late_rank_delays_its_neighbours_or_everybody() {
    const LATE_S: f64 = 1e-3;
    let ring = ring(8);
    let to: Vec<&[(u32, f64)]> = ring.iter().map(Vec::as_slice).collect();
    let mut late = [0.0; 8];
    late[3] = LATE_S;
    let who = |backend| {
        let after = exchanges(backend, &to, &[&late]);
        (0..8).filter(|&rank| after[0][rank] > LATE_S).collect::<Vec<_>>()
    };
    let neighbours = [2, 3, 4];
    for backend in [
        Backend::P2p,
        Backend::NeighborCollective,
        Backend::RmaLock,
        Backend::RmaNotify,
        Backend::RmaPscw,
        Backend::Shm,
    ] {
        assert_eq!(who(backend), neighbours, "{backend:?}");
    }
    for backend in [Backend::RmaFence, Backend::RmaBarrier] {
        assert_eq!(who(backend), [0, 1, 2, 3, 4, 5, 6, 7], "{backend:?}");
        // Three doublings, one of which is part of the latency.
        let after = exchanges(backend, &to, &[&late]);
        let least = LATE_S + LATENCY_S + 2.0 * DOUBLING_S;
        assert!((least - 1e-9..least + 2.0 * LATENCY_S).contains(&after[0][7]), "{:e}", after[0][7]);
    }
}

#[test]
fn lateness_spreads_by_one_neighbour_a_step() {
    const LATE_S: f64 = 1e-3;
    let ring = ring(9);
    let to: Vec<&[(u32, f64)]> = ring.iter().map(Vec::as_slice).collect();
    let mut late = [0.0; 9];
    late[4] = LATE_S;
    let nothing: &[f64] = &[0.0; 9];
    let after = exchanges(Backend::P2p, &to, &[&late, nothing, nothing, nothing]);
    for (step, clocks) in after.iter().enumerate() {
        let are_late: Vec<usize> = (0..9).filter(|&rank| clocks[rank] > LATE_S).collect();
        assert_eq!(are_late, (4 - (step + 1).min(4)..=4 + (step + 1).min(4)).collect::<Vec<_>>());
    }
    // Posts of receivers that themselves wait for other ranks carry the delay over two ranks.
    let posted = exchanges(Backend::RmaPscw, &to, &[&late, nothing]);
    assert_eq!((0..9).filter(|&rank| posted[1][rank] > LATE_S).count(), 7);
}

#[test]
fn only_a_share_of_a_message_hides_behind_work() {
    let (machine, compute) = (machine(), free());
    let costs = Costs::new(&machine, &compute, Nodes::one(2), Backend::P2p, Backend::P2p);
    let stage = messages(&[&[(1, 0.0)], &[]]);
    let after = |share: f64, work: f64| {
        let mut rules = costs.rules(Backend::P2p).unwrap();
        rules.hidden_shares = [share; 3];
        let mut clocks = Clocks::new(2);
        let window = Window { work_s: &[0.0, work], noise: &[[1.0; 2]; 2], progress_s: &[0.0; 2] };
        let mut legs = [costs.leg(stage.there(), [PARTICLE_BYTES, 0.0]).unwrap()];
        clocks.exchange(&mut legs, &rules, Some(window));
        clocks.now_s[1]
    };
    assert_close(after(1.0, 1e-6), LATENCY_S, "all hides");
    assert_close(after(1.0, 1e-5), 1e-5 + OVERHEAD_S, "there before it is wanted");
    assert_close(after(0.0, 1e-6), 1e-6 + LATENCY_S, "nothing hides");
    assert_close(after(0.5, 1e-6), 0.5e-6 + LATENCY_S, "half of the work is gained");
}

fn config(boundary: [Boundary; 3], partition: PartitionKind) -> Config {
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [8, 7, 9]);
    let mut config = Config::new(lattice, LennardJones::reduced(2.5));
    (config.boundary, config.parallel.partition) = (boundary, partition);
    // The size of clusters, and so the number of computed pairs, depends on the vector length.
    config.parallel.simd = SimdChoice::Named(SimdLevel::Baseline);
    config
}

/// Returns each rank's messages and bytes in a real exchange, and its number of particles.
fn of_real_ranks(setup: &Setup) -> Vec<(u64, u64, usize)> {
    let of_rank = |world: &dyn World| {
        let mut simulation = Simulation::new(world, setup).unwrap();
        let Traffic { messages, bytes } = simulation.freeze().unwrap().traffic();
        (messages, bytes, simulation.state().particles.owned())
    };
    local::run(setup.ranks, Duration::from_secs(60), of_rank).into_iter().map(Result::unwrap).collect()
}

#[test]
fn messages_and_bytes_are_those_of_real_ranks() {
    use Boundary::{Periodic, Reflecting};
    let systems = [
        ([Periodic; 3], PartitionKind::Rect),
        ([Periodic, Reflecting, Periodic], PartitionKind::Rect),
        ([Periodic; 3], PartitionKind::Stripe),
    ];
    for (boundary, partition) in systems {
        let mut distinct = None;
        for (ranks, shell) in
            [1, 2, 4, 8, 12].into_iter().flat_map(|ranks| Shell::ALL.iter().map(move |&it| (ranks, it)))
        {
            for &exchange in ExchangePattern::ALL {
                let what = format!("{boundary:?} {partition:?} {ranks} {shell:?} {exchange:?}");
                let mut config = config(boundary, partition);
                (config.parallel.shell, config.parallel.exchange) = (shell, exchange);
                let setup = Setup::new(config, ranks).unwrap();
                let plans = Plans::new(
                    &setup.division,
                    &Nodes::one(ranks),
                    &Density::of(&setup),
                    (shell, exchange),
                    0.5,
                );
                let returns = shell.force_return() == md_core::shell::ForceReturn::Needed;
                let real = of_real_ranks(&setup);
                for (rank, &(messages, bytes, owned)) in real.iter().enumerate() {
                    let scatter =
                        plans.stages.iter().filter(|_| returns).map(|stage| stage.scatter.sent[rank]);
                    let sent = plans.stages.iter().map(|stage| stage.gather.sent[rank]).chain(scatter);
                    let (particles, count) = sent.fold((0.0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
                    assert_eq!(
                        (u64::from(count), 24 * particles as u64),
                        (messages, bytes),
                        "{what}, rank {rank}"
                    );
                    assert_eq!(plans.owned[rank], owned as f64, "{what}, rank {rank}");
                }
                // The cells do not depend on the number of stages or on which rank computes a pair.
                if partition == PartitionKind::Stripe {
                    let all = *distinct.get_or_insert(plans.distinct_candidates);
                    assert!((plans.distinct_candidates / all - 1.0).abs() < 1e-12, "{what}");
                }
            }
        }
    }
}

pub(super) fn request(ranks: &[usize], backends: &[Backend]) -> Request {
    let (shell, exchange, partition) = (Shell::Half, ExchangePattern::Direct, PartitionKind::Rect);
    Request {
        ranks: ranks.to_vec(),
        ranks_per_node: None,
        ranks_per_complex: None,
        placement: Placement::Block,
        scaling: Scaling::Strong,
        strategies: backends
            .iter()
            .map(|&backend| Strategy { backend, shell, exchange, partition })
            .collect(),
        between_nodes: Backend::P2p,
        steps: Some(6),
        seed: 1,
        memory: None,
    }
}

#[test]
fn the_mean_density_is_nearly_the_counted_one() {
    let setup = Setup::new(config([Boundary::Periodic; 3], PartitionKind::Rect), 8).unwrap();
    let mean = Density::Mean(setup.atoms() as f64 / setup.division.grid.len() as f64);
    let [counted, mean] = [Density::of(&setup), mean].map(|density| {
        Plans::new(&setup.division, &Nodes::one(8), &density, (Shell::Half, ExchangePattern::Direct), 0.5)
    });
    let (ours, theirs) = (counted.sent(Shell::Half), mean.sent(Shell::Half));
    assert_eq!(ours.0, theirs.0);
    assert!((ours.1 / theirs.1 - 1.0).abs() < 0.1, "{ours:?} {theirs:?}");
    assert!((counted.distinct_candidates / mean.distinct_candidates - 1.0).abs() < 0.1);
}

#[test]
fn what_was_not_measured_is_left_out_with_the_reason() {
    let mut machine = machine();
    machine.messages.retain(|cost| cost.backend != Backend::RmaLock);
    let mut request = request(&[1, 8, 100_000], &[Backend::P2p, Backend::RmaLock]);
    let config = config([Boundary::Periodic; 3], PartitionKind::Rect);
    let forecast = predict(&config, &machine, &request).unwrap();
    let of = |backend: Backend| forecast.predictions.iter().filter(move |it| it.strategy.backend == backend);
    assert_eq!(of(Backend::P2p).map(|it| it.ranks).collect::<Vec<_>>(), [1, 8]);
    assert_eq!(of(Backend::RmaLock).map(|it| it.ranks).collect::<Vec<_>>(), [1], "nothing is sent");
    assert!(
        forecast.remarks[0].starts_with("100000 ranks left out: the box is too thin"),
        "{:?}",
        forecast.remarks
    );
    assert_eq!(
        forecast.remarks[1],
        "left out on 8 ranks, because the machine has no [[message]] of its own backend and distance \"node\": `rma-lock`"
    );
    request.ranks_per_node = Some(4);
    request.ranks = vec![8];
    let error = predict(&config, &machine, &request).unwrap_err().to_string();
    assert!(error.starts_with("no strategy can be predicted: left out on 8 ranks, because"), "{error}");
    machine.computes.clear();
    assert_eq!(
        predict(&config, &machine, &request).unwrap_err().to_string(),
        "there is no [[compute]] with method = \"clusters\", precision = \"double\" and threads = 1"
    );
}

#[test]
fn a_step_is_its_phases_and_the_best_strategy_changes() {
    let mut machine = machine();
    let compute = &mut machine.computes[0];
    (compute.per_computed_pair_s, compute.force_scatter) = (1e-9, 0.05);
    (compute.per_particle_s, compute.particle_scatter) = (2e-9, 0.02);
    (compute.per_ghost_packed_s, compute.per_ghost_unpacked_s) = (1e-9, 1e-9);
    // The fence is cheap between two ranks and expensive among many.
    let fence = machine.messages.iter_mut().find(|it| it.backend == Backend::RmaFence).unwrap();
    (fence.latency_s, fence.seconds_per_byte) = (1e-6, BYTE_S / 4.0);
    machine.collectives[0].per_doubling_s = 1e-4;
    let config = config([Boundary::Periodic; 3], PartitionKind::Rect);
    let forecast =
        predict(&config, &machine, &request(&[2, 8, 27], &[Backend::P2p, Backend::RmaFence])).unwrap();
    for it in &forecast.predictions {
        let total = it.phases[Phase::Total as usize];
        let sum: f64 = it.phases[..Phase::Other as usize].iter().sum();
        assert!((sum / total - 1.0).abs() < 0.1, "{it:?}");
        assert!(it.step.low_s <= it.step.median_s && it.step.median_s <= it.step.high_s);
        assert!(it.rebuild_s > it.step.median_s && it.mean_s > it.step.median_s);
        // Positions and returned forces, and nothing else.
        assert!(it.exchange_s > 0.0 && it.exchange_s < it.phases[Phase::Total as usize], "{it:?}");
    }
    let [[before, after]] = forecast.changes()[..] else { panic!("{:?}", forecast.best()) };
    assert_eq!((before.strategy.backend, after.strategy.backend), (Backend::RmaFence, Backend::P2p));
    assert_eq!((before.ranks, after.ranks), (2, 8));
    let mut vague = forecast.clone();
    vague.predictions.iter_mut().for_each(|it| it.step.low_s = 0.0);
    assert_eq!(vague.changes(), Vec::<[&Prediction; 2]>::new(), "intervals that touch prove nothing");
}

#[test]
fn messages_across_core_complexes_cost_what_was_measured_across() {
    let config = config([Boundary::Periodic; 3], PartitionKind::Rect);
    let exchange_s = |machine: &Machine, ranks_per_complex, backend| {
        let request = Request { ranks_per_complex, ..request(&[8], &[backend]) };
        predict(&config, machine, &request).unwrap().predictions[0].exchange_s
    };
    let (plain, mut far) = (machine(), machine());
    let slower = |cost: &MessageCost| MessageCost {
        distance: Distance::Across,
        latency_s: 10.0 * LATENCY_S,
        ..cost.clone()
    };
    far.messages.extend(plain.messages.iter().map(slower));
    for backend in [Backend::P2p, Backend::Hybrid, Backend::RmaFence] {
        let near_s = exchange_s(&far, None, backend);
        assert_eq!(near_s, exchange_s(&far, Some(8), backend), "all on one");
        assert_eq!(near_s, exchange_s(&plain, Some(4), backend), "not measured across: as on a node");
        let [parted_s, scattered_s] = [4, 1].map(|ranks| exchange_s(&far, Some(ranks), backend));
        assert!(parted_s > 2.0 * near_s, "{backend:?} {near_s} {parted_s}");
        assert!(scattered_s >= parted_s, "{backend:?} {parted_s} {scattered_s}");
    }
}

#[test]
fn windows_are_paid_for_at_a_rebuild() {
    let config = config([Boundary::Periodic; 3], PartitionKind::Rect);
    let rebuild_s = |machine: &Machine| {
        predict(&config, machine, &request(&[2], &[Backend::RmaFence])).unwrap().predictions[0].rebuild_s
    };
    let mut dear = machine();
    let (backend, distance) = (Backend::RmaFence, Distance::Node);
    dear.negotiations = vec![NegotiationCost { backend, distance, two_ranks_s: 1e-3 }];
    // Migration, border, positions, forces. The ranks also wait for each other at the windows, which
    // takes microseconds.
    let more_s = rebuild_s(&dear) - rebuild_s(&machine());
    assert!((more_s - 4e-3).abs() < 1e-5, "{more_s:e}");
}

#[test]
fn weak_scaling_gives_every_rank_the_same() {
    let config = config([Boundary::Periodic; 3], PartitionKind::Rect);
    let weak = Request { scaling: Scaling::Weak, ..request(&[1, 8, 1000], &[Backend::P2p]) };
    let forecast = predict(&config, &machine(), &weak).unwrap();
    let atoms: Vec<u64> = forecast.predictions.iter().map(|it| it.atoms / it.ranks as u64).collect();
    assert_eq!(atoms, [2016; 3]);
    assert_eq!(forecast.predictions[2].grid, "10x10x10");
    let bytes = forecast.predictions[2].bytes / forecast.predictions[1].bytes;
    assert!((0.8..1.2).contains(&bytes), "{bytes}");
}

/// Ten messages, each of which takes a microsecond more than an empty one: half of it at each end,
/// or all of it before the notice.
#[test]
fn messages_follow_each_other_by_the_serial_share() {
    let template = machine().messages.remove(0);
    let exchange_s = |backend: Backend, serial_share: f64| {
        let cost = MessageCost {
            backend,
            latency_s: 1e-6,
            overhead_s: 0.0,
            seconds_per_byte: 1e-9,
            serial_share,
            ..template.clone()
        };
        exchange_s(&[cost], 10, 1000.0)
    };
    for (backend, share, expected_us) in [
        (Backend::P2p, 0.0, 2.0),
        (Backend::P2p, 1.0, 10.0),
        (Backend::P2p, 0.5, 5.0),
        (Backend::RmaLock, 0.0, 2.0),
        (Backend::RmaLock, 1.0, 11.0),
    ] {
        let us = 1e6 * exchange_s(backend, share);
        assert!((us - expected_us).abs() < 1e-6, "{backend:?} {share}: {us}");
    }
}
