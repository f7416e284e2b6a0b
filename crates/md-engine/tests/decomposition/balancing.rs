//! Load balancing during a run: the work becomes even, no particle is lost, and a repeated run
//! balances identically.

use md_core::lattice::{Lattice, LatticeKind};
use md_core::observables::SystemSums;
use md_core::potential::LennardJones;
use md_core::thinned::{Region, ThinnedLattice};
use md_core::{PartitionKind, Shell};
use md_engine::balance::replay::Replayed;
use md_engine::{
    Balance, BalanceReport, BalanceRule, BalanceWeights, Config, ParticleRow, ParticleSource, RowVector,
    Setup, Simulation,
};

use crate::common::{largest_difference, melt, on_ranks};
use crate::partitions::kinds;

const EVERY: u64 = 5;
const STEPS: u64 = 18;

/// A droplet off centre in x, in vapour of density 0.02; 15 cells per side.
fn droplet() -> Config {
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8, [25; 3]);
    let region = Region::Droplet { centre: [0.3, 0.5, 0.55], radius: 11.0 };
    let thinned = ThinnedLattice::new(lattice, 3, vec![region], 0.025, 7);
    let config = Config::new(ParticleSource::Thinned(thinned), LennardJones::reduced(2.5));
    Config { temperature: Some(0.7), seed: 11, ..config }
}

fn rule(weights: BalanceWeights) -> Balance {
    Balance::By(BalanceRule { every: EVERY, threshold: 1.02, weights })
}

struct Course {
    rows: Vec<ParticleRow>,
    sums: SystemSums,
    report: BalanceReport,
}

fn run(config: &Config, ranks: usize, replayed: Option<&[Replayed]>) -> Course {
    let setup = Setup::new(config.clone(), ranks).unwrap();
    on_ranks(ranks, |world| {
        let mut simulation = Simulation::new(world, &setup)?;
        if let Some(replayed) = replayed {
            simulation.replay_balancing(replayed.to_vec())?;
        }
        simulation.run(STEPS, &mut [])?;
        let course = Course {
            rows: simulation.gather_rows(RowVector::Velocity)?,
            sums: simulation.system_sums()?,
            report: simulation.balance_report().clone(),
        };
        simulation.finalise()?;
        Ok(course)
    })
}

fn with(base: &Config, partition: PartitionKind, shell: Shell, balance: Balance) -> Config {
    let mut config = base.clone();
    (config.parallel.partition, config.parallel.shell) = (partition, shell);
    config.parallel.balance = balance;
    config
}

/// Returns the part of the report that does not depend on the clock.
fn steps(report: &BalanceReport) -> Vec<(u64, f64, f64, u64)> {
    let of =
        |it: &md_engine::Balancing| (it.step, it.imbalance_before, it.imbalance_after, it.particles_moved);
    report.balancings.iter().map(of).collect()
}

#[test]
fn a_droplet_is_balanced_twice_and_the_run_goes_on_as_without() {
    let base = droplet();
    let steady = run(&with(&base, PartitionKind::Rect, Shell::Half, Balance::Off), 4, None);
    assert_eq!(steady.report, BalanceReport::default());
    for (ranks, kind, shell) in [
        (4, PartitionKind::Rcb, Shell::Half),
        (8, PartitionKind::Rcb, Shell::Eighth),
        (4, PartitionKind::Hilbert, Shell::Full),
        (4, PartitionKind::Rect, Shell::Half),
        (3, PartitionKind::Stripe, Shell::Half),
        (4, PartitionKind::Metis, Shell::Half),
    ] {
        if !kinds().any(|built| built == kind) {
            continue;
        }
        let case = format!("{kind:?} on {ranks}, {shell:?}");
        let config = with(&base, kind, shell, rule(BalanceWeights::Pairs));
        let Course { rows, sums, report } = run(&config, ranks, None);
        assert_eq!(report.checks, 3, "{case}");
        let last = report.imbalance_last.unwrap();
        let most = match kind {
            PartitionKind::Rect => 1.5,
            PartitionKind::Metis => 1.12,
            _ => 1.05,
        };
        assert!(last <= most, "{case}: {report:?}");
        let difference = largest_difference(&rows, &steady.rows, |row| row.position);
        assert!(difference < 1e-9, "{case}: {difference}");
        assert_eq!(sums.atoms, steady.sums.atoms, "{case}");
        assert_eq!(sums.pairs.useful_pairs, steady.sums.pairs.useful_pairs, "{case}");
        assert!(report.balancings.iter().all(|it| it.division.is_empty()), "a repeated run needs no file");
    }
}

#[test]
fn a_repeated_run_balances_in_the_same_way_to_the_bit() {
    let config = with(&droplet(), PartitionKind::Stripe, Shell::Half, rule(BalanceWeights::Pairs));
    let [first, second] = [(); 2].map(|()| run(&config, 4, None));
    assert!(!first.report.balancings.is_empty());
    assert_eq!(steps(&first.report), steps(&second.report));
    assert_eq!(first.rows, second.rows);
}

#[test]
fn a_run_balanced_by_time_is_replayed_to_the_bit() {
    let config = with(&droplet(), PartitionKind::Rcb, Shell::Half, rule(BalanceWeights::Time));
    let timed = run(&config, 4, None);
    let told: Vec<Replayed> = timed
        .report
        .balancings
        .iter()
        .map(|it| Replayed { step: it.step, division: it.division.clone() })
        .collect();
    let again = run(&config, 4, Some(&told));
    assert_eq!(again.rows, timed.rows);
    assert_eq!(again.report.checks, 0, "nobody looks at the balance");
    if !told.is_empty() {
        let another = run(&with(&droplet(), PartitionKind::Rcb, Shell::Half, Balance::Off), 4, None);
        assert_ne!(another.rows, timed.rows, "another division has another order of sums");
    }
}

#[test]
fn a_melt_is_left_alone() {
    let config = with(&melt(), PartitionKind::Rect, Shell::Half, Balance::Auto);
    let setup = Setup::new(config, 4).unwrap();
    let report = on_ranks(4, |world| {
        let mut simulation = Simulation::new(world, &setup)?;
        simulation.run(210, &mut [])?;
        let report = simulation.balance_report().clone();
        simulation.finalise()?;
        Ok(report)
    });
    assert_eq!((report.checks, report.balancings.len()), (2, 0), "{report:?}");
}

#[test]
fn what_is_no_division_is_refused() {
    let setup = Setup::new(melt(), 2).unwrap();
    let refusal = on_ranks(2, |world| {
        let mut simulation = Simulation::new(world, &setup)?;
        let told = vec![Replayed { step: 7, division: "0+99999:1".to_owned() }];
        let refusal = simulation.replay_balancing(told).map_err(|error| error.to_string());
        simulation.finalise()?;
        Ok(refusal)
    });
    let cells = setup.division.grid.len();
    let expected = format!(
        "balancing 0: the division of step 7 does not follow: `0+99999:1` is beyond {cells} cells and 2 ranks"
    );
    assert_eq!(refusal, Err(expected));
}
