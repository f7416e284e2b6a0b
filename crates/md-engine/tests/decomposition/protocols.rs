//! Forces do not depend on the protocol: whole rows and cells on request, with any order of
//! messages.

use std::cell::Cell;

use md_comm::conformance::HeldBack;
use md_comm::{CommError, Exchange, ExchangeSpec, UnexpectedMessages, World};
use md_core::force::MethodKind;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::{Dimension, ExchangePattern, PartitionKind, Shell};
use md_engine::{Config, EngineError, Needs, ParticleRow, Protocol, RowVector, Setup, Simulation, every};

use crate::common::{largest_difference, melt, on_ranks};
use crate::partitions::{droplet, kinds};

/// A world that delays messages.
struct Unfair<'w> {
    inner: &'w dyn World,
    seed: Cell<u64>,
}

impl World for Unfair<'_> {
    md_comm::forward_to_inner!(rank ranks gather_all broadcast gather shift barrier abort platform);

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        self.inner.open(spec)
    }

    fn open_unexpected(&self, name: &'static str) -> Result<Box<dyn UnexpectedMessages>, CommError> {
        let seed = self.seed.replace(self.seed.get() + 1);
        Ok(Box::new(HeldBack::new(self.inner.open_unexpected(name)?, seed * 100 + self.rank() as u64)))
    }
}

/// Order in which messages arrive.
#[derive(Debug, Clone, Copy)]
enum Order {
    Sent,
    /// Random delays.
    HeldBack(u64),
}

fn by(protocol: Protocol, partition: PartitionKind, base: &Config) -> Config {
    let mut config = base.clone();
    (config.parallel.protocol, config.parallel.partition) = (protocol, partition);
    config.neighbor.method = MethodKind::Cells;
    config
}

fn with_world<T: Send>(
    ranks: usize,
    order: Order,
    work: impl Fn(&dyn World) -> Result<T, EngineError> + Sync,
) -> T {
    on_ranks(ranks, |world| match order {
        Order::Sent => work(world),
        Order::HeldBack(seed) => work(&Unfair { inner: world, seed: Cell::new(seed) }),
    })
}

/// Returns the forces after a few steps, which include steps with and without a rebuild.
fn forces(config: Config, ranks: usize, order: Order) -> Result<Vec<ParticleRow>, EngineError> {
    let setup = Setup::new(config, ranks)?;
    Ok(with_world(ranks, order, |world| {
        let mut simulation = Simulation::new(world, &setup)?;
        simulation.run(3, &mut [])?;
        let rows = simulation.gather_rows(RowVector::Force)?;
        simulation.finalise()?;
        Ok(rows)
    }))
}

fn check(base: &Config, ways: impl Iterator<Item = (Protocol, PartitionKind, usize, Order)>) {
    let expected = forces(by(Protocol::One, PartitionKind::Rect, base), 1, Order::Sent).unwrap();
    let square: f64 = expected.iter().flat_map(|row| row.vector).map(|force| force * force).sum();
    let rms = (square / expected.len() as f64).sqrt();
    assert!(rms > 0.1, "no forces to compare");
    for (protocol, partition, ranks, order) in ways {
        let case = format!("{protocol:?}, {partition:?}, {ranks} ranks, {order:?}");
        let found = forces(by(protocol, partition, base), ranks, order);
        let found = found.unwrap_or_else(|error| panic!("{case}: {error}"));
        let difference = largest_difference(&found, &expected, |row| row.vector);
        assert!(difference < 1e-12 * rms, "{case}: {difference} of {rms}");
    }
}

/// Combinations for `dist`; `rect` cannot divide boxes of 6 cells among 7 ranks.
fn dist() -> impl Iterator<Item = (Protocol, PartitionKind, usize, Order)> {
    let all = kinds().flat_map(|partition| [1, 2, 3, 4, 7, 8].map(|ranks| (partition, ranks)));
    let fitting = all.filter(|&(partition, ranks)| partition != PartitionKind::Rect || ranks != 7);
    fitting.map(|(partition, ranks)| (Protocol::Dist, partition, ranks, Order::Sent))
}

fn simple() -> impl Iterator<Item = (Protocol, PartitionKind, usize, Order)> {
    [1, 2, 3].into_iter().map(|ranks| (Protocol::Simple, PartitionKind::Stripe, ranks, Order::Sent))
}

#[test]
fn forces_in_a_plane_do_not_depend_on_the_protocol() {
    check(&droplet(Dimension::Two), dist().chain(simple()));
}

#[test]
fn forces_in_a_box_do_not_depend_on_the_protocol() {
    check(&droplet(Dimension::Three), dist().chain(simple()));
}

#[test]
fn forces_do_not_depend_on_the_order_of_messages() {
    let held_back = (1..4).flat_map(|seed| {
        let scattered = (Protocol::Dist, PartitionKind::Scattered, 5, Order::HeldBack(seed));
        let stripe = (Protocol::Dist, PartitionKind::Stripe, 4, Order::HeldBack(seed));
        let simple = (Protocol::Simple, PartitionKind::Stripe, 3, Order::HeldBack(seed));
        [scattered, stripe, simple]
    });
    check(&droplet(Dimension::Two), held_back);
}

/// Particles migrate, cells are rebuilt, and energies equal those of a run with ghosts.
#[test]
fn a_run_has_the_thermodynamics_of_one_by_ghosts() {
    let run = |protocol, partition, order| {
        // Four layers of cells.
        let tall = Lattice::with_density(LatticeKind::Fcc, 0.8442, [6, 6, 8]);
        let melt = Config { particles: tall.into(), ..melt() };
        let setup = Setup::new(by(protocol, partition, &melt), 2).unwrap();
        with_world(2, order, |world| {
            let mut simulation = Simulation::new(world, &setup)?;
            let mut thermo = Vec::new();
            let mut observer = every(10, Needs::ENERGY_AND_VIRIAL, |now| {
                thermo.extend(now.thermo.copied());
                Ok(())
            });
            simulation.run(100, &mut [&mut observer])?;
            simulation.finalise()?;
            Ok(thermo)
        })
    };
    let expected = run(Protocol::One, PartitionKind::Stripe, Order::Sent);
    assert_eq!(expected.len(), 11);
    for (protocol, partition, order) in [
        (Protocol::Simple, PartitionKind::Stripe, Order::Sent),
        (Protocol::Dist, PartitionKind::Stripe, Order::HeldBack(7)),
        (Protocol::Dist, PartitionKind::Scattered, Order::Sent),
    ] {
        for (a, b) in run(protocol, partition, order).iter().zip(&expected) {
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
            let same = a.step == b.step
                && close(a.total_per_atom, b.total_per_atom)
                && close(a.pressure, b.pressure);
            assert!(same, "{protocol:?}, {partition:?}: {a:?} instead of {b:?}");
        }
    }
}

/// Rows are sent with positions and forces and returned with forces; nothing else is sent between
/// two rebuilds.
#[test]
fn a_step_of_simple_sends_two_messages_per_rank() {
    let (messages, bytes, particles) = on_ranks(2, |world| {
        let setup = Setup::new(by(Protocol::Simple, PartitionKind::Stripe, &droplet(Dimension::Two)), 2)?;
        let mut simulation = Simulation::new(world, &setup)?;
        let before = simulation.decomposition().halo.traffic();
        simulation.step(md_core::Evaluation::ForcesOnly)?;
        let after = simulation.decomposition().halo.traffic();
        // The other rank's first row, an image of which is next to this rank's last row.
        let state = simulation.state();
        let decomposition = simulation.decomposition();
        let row = decomposition.plan.owned.iter().map(|cell| cell[1]).min().unwrap_or(0);
        let is_in_row = |&i: &usize| decomposition.grid.cell_of(state.particles.position_of(i))[1] == row;
        let own_row = (0..state.particles.owned()).filter(is_in_row).count() as u64;
        simulation.finalise()?;
        Ok((after.messages - before.messages, after.bytes - before.bytes, own_row))
    });
    assert_eq!(messages, 2);
    let header = 3 * 8;
    // This rank's own row is sent, and the other's is returned with two numbers per particle.
    let out = header + particles * 4 * 8;
    assert!(bytes > out + header && (bytes - out - header) % 16 == 0, "{bytes} bytes, {out} of them out");
}

#[test]
fn what_does_not_go_with_a_protocol_is_refused() {
    let refusal = |change: &dyn Fn(&mut Config), ranks| {
        let mut config = by(Protocol::Simple, PartitionKind::Stripe, &melt());
        change(&mut config);
        Setup::new(config, ranks).unwrap_err().to_string()
    };
    let method = refusal(&|config| config.neighbor.method = MethodKind::Clusters, 2);
    assert_eq!(method, "the protocol `simple` needs the method `cells`");
    let shell = refusal(&|config| config.parallel.shell = Shell::Full, 2);
    assert_eq!(shell, "the protocol `simple` needs the half shell");
    let exchange = refusal(&|config| config.parallel.exchange = ExchangePattern::Staged, 2);
    assert_eq!(exchange, "the protocol `simple` needs the direct exchange");
    let threads = refusal(&|config| config.parallel.threads = 2, 2);
    assert_eq!(threads, "the protocol `simple` needs one thread per rank");
    let partition = refusal(&|config| config.parallel.partition = PartitionKind::Rcb, 2);
    assert_eq!(partition, "the protocol `simple` needs the partition `stripe`");
    let rows = "the protocol `simple` needs 6 layers of cells for 3 ranks, 2 for each, but there are 3";
    assert_eq!(refusal(&|_| (), 3), rows);
    let cells = refusal(&|config| config.parallel.protocol = Protocol::Dist, 28);
    assert_eq!(
        cells,
        "the box is too thin for the ranks: 28 ranks, but only 27 cells of at least cutoff + skin"
    );
}
