//! Forces do not depend on the division of the work: every partition with every shell, exchange and
//! method, against a direct sum.

use md_core::force::{MethodKind, Precision};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_core::thinned::{Region, ThinnedLattice};
use md_core::{Dimension, ExchangePattern, PartitionKind, Shell};
use md_engine::{Config, ParticleRow, ParticleSource, RowVector, Setup, Simulation};

use crate::common::on_ranks;

/// An off-centre droplet in its vapour, displaced from the lattice so that there are forces: 6
/// cells per side.
pub(crate) fn droplet(dimension: Dimension) -> Config {
    let (kind, cells) = match dimension {
        Dimension::Two => (LatticeKind::Sq, [16, 17, 1]),
        Dimension::Three => (LatticeKind::Fcc, [10, 10, 11]),
    };
    let lattice = Lattice::with_density(kind, 0.8, cells);
    let region = Region::Droplet { centre: [0.3, 0.4, 0.6], radius: 5.0 };
    let thinned = ThinnedLattice::new(lattice, dimension.count(), vec![region], 0.05, 3);
    let config = Config::new(ParticleSource::Thinned(thinned), LennardJones::reduced(2.5)).displaced(0.9);
    Config { dimension, temperature: Some(0.8), ..config }
}

/// The partitions available in this build.
pub(crate) fn kinds() -> impl Iterator<Item = PartitionKind> {
    let is_built = |kind: &PartitionKind| cfg!(feature = "metis") || *kind != PartitionKind::Metis;
    PartitionKind::ALL.iter().copied().filter(is_built)
}

/// One combination of division and method.
#[derive(Debug, Clone, Copy)]
struct Way {
    ranks: usize,
    partition: PartitionKind,
    shell: Shell,
    exchange: ExchangePattern,
    method: MethodKind,
    precision: Precision,
}

/// Returns `None` where the box is too thin for the ranks.
fn forces(base: &Config, way: Way) -> Option<Vec<ParticleRow>> {
    let Way { ranks, partition, shell, exchange, method, precision } = way;
    let mut config = base.clone();
    (config.parallel.partition, config.parallel.shell) = (partition, shell);
    config.parallel.exchange = exchange;
    (config.neighbor.method, config.neighbor.precision) = (method, precision);
    let setup = Setup::new(config, ranks).ok()?;
    Some(on_ranks(ranks, |world| {
        let mut simulation = Simulation::new(world, &setup)?;
        let rows = simulation.gather_rows(RowVector::Force)?;
        simulation.finalise()?;
        Ok(rows)
    }))
}

/// Every partition on 1, 2, 3, 4, 7, 8 and 16 ranks, each with two or three of the six combinations
/// of shell and exchange (one on 16 ranks) and the methods and precisions in turn: every partition
/// is combined with each of them. Ranks are threads; tests/truth/backends.rs tests the other
/// backends.
fn ways() -> impl Iterator<Item = Way> {
    let methods = [
        (MethodKind::Clusters, Precision::Double),
        (MethodKind::Cells, Precision::Double),
        (MethodKind::Clusters, Precision::Mixed),
    ];
    let divisions = kinds().flat_map(|partition| [1, 2, 3, 4, 7, 8, 16].map(|ranks| (partition, ranks)));
    let exchanges = Shell::ALL
        .iter()
        .flat_map(|&shell| ExchangePattern::ALL.iter().map(move |&exchange| (shell, exchange)));
    let all = divisions.flat_map(move |division| exchanges.clone().map(move |exchange| (division, exchange)));
    // Many ranks are many threads, so fewer combinations of shell and exchange are tested on them.
    let is_chosen = |&(number, ((_, ranks), _)): &(usize, ((_, usize), _))| {
        number % if ranks > 8 { 6 } else { 3 } == ranks % 3
    };
    all.enumerate().filter(is_chosen).map(move |(number, ((partition, ranks), (shell, exchange)))| {
        let (method, precision) = methods[(number / 2 + number / 6) % methods.len()];
        Way { ranks, partition, shell, exchange, method, precision }
    })
}

fn check(base: &Config) {
    let reference = Way {
        ranks: 1,
        partition: PartitionKind::Rect,
        shell: Shell::Half,
        exchange: ExchangePattern::Direct,
        method: MethodKind::DirectSum,
        precision: Precision::Double,
    };
    let expected = forces(base, reference).unwrap();
    let square: f64 = expected.iter().flat_map(|row| row.vector).map(|force| force * force).sum();
    let rms = (square / expected.len() as f64).sqrt();
    assert!(rms > 0.1, "no forces to compare");
    let mut compared = 0;
    for way in ways() {
        let Some(found) = forces(base, way) else {
            assert!(way.partition == PartitionKind::Rect, "{way:?}");
            continue;
        };
        let tolerance = if way.precision == Precision::Mixed { 1e-4 } else { 1e-11 };
        let difference = crate::common::largest_difference(&found, &expected, |row| row.vector);
        assert!(difference < tolerance * rms, "{way:?}: {difference} of {rms}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn forces_do_not_depend_on_the_division_of_a_box() {
    check(&droplet(Dimension::Three));
}

#[test]
fn forces_do_not_depend_on_the_division_of_a_plane() {
    check(&droplet(Dimension::Two));
}
