//! Replacement of the decomposition during a run: the trajectory continues.
#![expect(clippy::unwrap_used, reason = "outside of test functions too")]

mod balancing;
#[path = "../common/mod.rs"]
mod common;
mod partitions;
mod protocols;

use std::sync::Arc;

use common::{largest_difference, melt, on_ranks};
use md_core::grid::Cell;
use md_core::partition::Ownership;
use md_core::{CellGrid, ExchangePattern, FieldSpec, OnGhosts, OnMigration, PartitionKind, Shell};
use md_engine::{Division, Needs, ParticleRow, RowVector, Setup, Simulation, Thermo, Timings, every};

const STEPS: u64 = 200;
const INTERVAL: u64 = 50;

/// Round-robin ownership: adjacent cells belong to different ranks.
#[derive(Debug)]
struct RoundRobin {
    ranks: usize,
}

impl Ownership for RoundRobin {
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
        cell.iter().map(|&c| c as usize).sum::<usize>() % self.ranks.min(grid.len())
    }
}

/// Returns the division for a turn: different partitions, rank grids and numbers of cells.
fn division(setup: &Setup, ranks: usize, turn: u64) -> Division {
    let cut = |kind, rank_grid, list_radius| {
        Division::new(setup.domain, list_radius, setup.atoms(), ranks, kind, rank_grid).unwrap()
    };
    match turn {
        1 => cut(PartitionKind::Stripe, None, 2.8),
        2 => cut(PartitionKind::Rect, Some([2, ranks.min(4) / 2, ranks.div_ceil(4)]), 4.0),
        _ => {
            let Division { grid, .. } = cut(PartitionKind::Stripe, None, 3.3);
            Division { grid, partition: Arc::new(RoundRobin { ranks }) }
        }
    }
}

struct Course {
    thermo: Vec<Thermo>,
    rows: Vec<ParticleRow>,
    unwrapped: Vec<ParticleRow>,
}

/// Whether a run keeps its division.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Divisions {
    One,
    Several,
}

fn run(ranks: usize, shell: Shell, exchange: ExchangePattern, divisions: Divisions) -> Course {
    on_ranks(ranks, |world| {
        let mut config = melt();
        (config.parallel.shell, config.parallel.exchange) = (shell, exchange);
        let setup = Setup::new(config, ranks)?;
        let mut simulation = Simulation::new(world, &setup)?;
        let mut thermo = Vec::new();
        for turn in 0..STEPS / INTERVAL {
            if divisions == Divisions::Several && turn > 0 {
                simulation.replace_decomposition(division(&setup, ranks, turn))?;
            }
            let mut observer = every(10, Needs::ENERGY_AND_VIRIAL, |now| {
                thermo.extend(now.thermo.copied());
                Ok(())
            });
            simulation.run(INTERVAL, &mut [&mut observer])?;
        }
        let rows = simulation.gather_rows(RowVector::Velocity)?;
        let unwrap = |row: &ParticleRow| ParticleRow {
            position: setup.domain.unwrap_position(row.position, row.images),
            ..*row
        };
        let unwrapped = rows.iter().map(unwrap).collect();
        simulation.finalise()?;
        Ok(Course { thermo, rows, unwrapped })
    })
}

#[test]
fn a_run_that_changes_its_partition_has_the_thermodynamics_of_one_that_does_not() {
    for (ranks, shell, exchange) in [
        (2, Shell::Half, ExchangePattern::Direct),
        (4, Shell::Full, ExchangePattern::Staged),
        (4, Shell::Eighth, ExchangePattern::Direct),
        (8, Shell::Half, ExchangePattern::Staged),
    ] {
        let case = format!("{ranks} ranks, {shell:?}, {exchange:?}");
        let [changed, steady] =
            [Divisions::Several, Divisions::One].map(|divisions| run(ranks, shell, exchange, divisions));
        assert_eq!(changed.thermo.len() as u64, STEPS / 10 + 1);
        for (a, b) in changed.thermo.iter().zip(&steady.thermo) {
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
            let same = a.step == b.step
                && close(a.total_per_atom, b.total_per_atom)
                && close(a.temperature, b.temperature)
                && close(a.pressure, b.pressure);
            assert!(same, "{case}: {a:?} instead of {b:?}");
        }
        let difference = largest_difference(&changed.unwrapped, &steady.unwrapped, |row| row.position);
        assert!(difference < 1e-8, "{case}: unwrapped positions differ by {difference}");
        assert!(changed.rows.iter().any(|row| row.images.0 != [0; 3]), "{case}: nobody crossed a face");
    }
}

/// The migrations to and from a round-robin division count as traffic.
#[test]
fn the_traffic_of_a_replaced_decomposition_is_booked() {
    let bytes = |divisions: Divisions| {
        on_ranks(2, |world| {
            let setup = Setup::new(melt(), 2)?;
            let mut simulation = Simulation::new(world, &setup)?;
            simulation.start_measuring()?;
            if divisions == Divisions::Several {
                let owners = Arc::new(RoundRobin { ranks: 2 });
                let division = Division { grid: setup.division.grid.clone(), partition: owners };
                simulation.replace_decomposition(division)?;
            }
            simulation.step(md_core::Evaluation::ForcesOnly)?;
            let moved = Timings::reduce(&simulation.timing()?, world)?.bytes;
            simulation.replace_decomposition(setup.division.clone())?;
            simulation.step(md_core::Evaluation::ForcesOnly)?;
            let back = Timings::reduce(&simulation.timing()?, world)?.bytes;
            simulation.finalise()?;
            Ok((moved, back))
        })
    };
    // Every second cell changes rank, twice; a particle has at least position, velocity, id and
    // species.
    let ((moved, back), (steady, _)) = (bytes(Divisions::Several), bytes(Divisions::One));
    let migrated = 64 * 864 / 4;
    assert!(moved > steady + migrated, "{moved} bytes, {steady} without");
    assert!(back > moved + migrated, "{back} bytes after {moved}");
}

#[test]
fn a_division_that_does_not_fit_is_refused() {
    let [short, other_box, more_ranks, other_ranks] = on_ranks(1, |world| {
        let setup = Setup::new(melt(), 1)?;
        let mut simulation = Simulation::new(world, &setup)?;
        let mut refusal = |domain, radius| {
            let division =
                Division::new(domain, radius, setup.atoms(), 1, PartitionKind::Rect, None).unwrap();
            simulation.replace_decomposition(division).unwrap_err().to_string()
        };
        let mut longer = setup.domain;
        longer.lengths[0] *= 2.0;
        let [short, other_box] = [refusal(setup.domain, 2.0), refusal(longer, 2.8)];
        let of_two = Setup::new(melt(), 2)?;
        let more_ranks = simulation.replace_decomposition(of_two.division.clone()).unwrap_err().to_string();
        let error = Simulation::new(world, &of_two).err().unwrap();
        simulation.finalise()?;
        Ok([short, other_box, more_ranks, error.to_string()])
    });
    assert_eq!(short, "cells are 2.0155154296590085 long in x, less than cutoff + skin = 2.8");
    assert_eq!(other_box, "the division is one of another box");
    assert_eq!(more_ranks, "cell [0, 0, 1] belongs to rank 1 of 1");
    assert_eq!(other_ranks, "the setup is for 2 ranks, the world has 1");
}

/// Displacements are continuous at the faces: the unwrapped displacement is the sum of all drifts.
#[test]
fn image_counts_make_displacements_continuous() {
    let drifted = on_ranks(2, |world| {
        let mut config = melt();
        // Nearly free flight: particles are so fast, and time steps so short, that forces are
        // negligible.
        config.temperature = Some(50.0);
        config.timestep = 1e-4;
        let setup = Setup::new(config, 2)?;
        let mut simulation = Simulation::new(world, &setup)?;
        let before = simulation.gather_rows(RowVector::Velocity)?;
        let mut after_each = Vec::new();
        for _ in 0..400 {
            simulation.run(1, &mut [])?;
            after_each.push(simulation.gather_rows(RowVector::Velocity)?);
        }
        simulation.finalise()?;
        let unwrap = |row: &ParticleRow| setup.domain.unwrap_position(row.position, row.images);
        let mut crossed = 0;
        for (index, first) in before.iter().enumerate() {
            let mut last = unwrap(first);
            for rows in &after_each {
                let now = unwrap(&rows[index]);
                let jump = (0..3).map(|dim| (now[dim] - last[dim]).abs()).fold(0.0, f64::max);
                assert!(jump < 0.01, "particle {} jumps by {jump}", first.id);
                last = now;
            }
            crossed += usize::from(after_each.last().unwrap()[index].images.0 != [0; 3]);
        }
        Ok(if world.rank() == 0 { crossed } else { 0 })
    });
    assert!(drifted > 10, "only {drifted} particles crossed a face");
}

#[test]
fn a_field_of_ones_own_goes_with_its_particle() {
    let moved = on_ranks(4, |world| {
        let setup = Setup::new(melt(), 4)?;
        let mut simulation = Simulation::new(world, &setup)?;
        let mark = simulation.register_field(FieldSpec {
            name: "marks",
            components: 1,
            on_migration: OnMigration::Moves,
            on_ghosts: OnGhosts::Absent,
        })?;
        let particles = simulation.particles_mut();
        let before: Vec<u64> = particles.id[..particles.owned()].to_vec();
        for (index, &id) in before.iter().enumerate() {
            particles.components_mut(mark)[0][index] = id as f64;
        }
        for turn in 1..4 {
            simulation.replace_decomposition(division(&setup, 4, turn))?;
            simulation.run(INTERVAL, &mut [])?;
        }
        let particles = &simulation.state().particles;
        let owned = &particles.id[..particles.owned()];
        for (&id, &mark) in owned.iter().zip(particles.components(mark)[0].iter()) {
            assert_eq!(mark, id as f64);
        }
        let moved = owned != before;
        simulation.finalise()?;
        Ok(moved)
    });
    assert!(moved, "nobody has changed rank or place");
}
