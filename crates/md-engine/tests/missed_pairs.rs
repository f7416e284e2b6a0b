//! No pair is missed in a run that rebuilds by displacement: forces equal a direct sum over all
//! pairs of particles at the same positions. Lists with a wide skin are also pruned between
//! rebuilds. `make test-all` makes 100,000 steps of each system.
#![expect(clippy::print_stdout, reason = "the lives of lists are of interest")]

mod common;

use common::{melt, on_ranks};
use md_core::force::Precision;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::{LennardJones, Mixing, PairPotential, Shift, Well};
use md_core::rebuild::RebuildPolicy;
use md_core::{Boundary, Dimension, Domain};
use md_engine::barostat::{Barostat, BarostatKind, CoupledAxes};
use md_engine::integrator::{CsvrKeys, Temperature, TemperatureRamp};
use md_engine::{
    Config, DriftModel, Integrator, ListModel, Needs, ParticleRow, RowVector, Setup, Simulation, every,
};

/// Steps between two comparisons; no multiple of the usual life of a list.
const EVERY: u64 = 97;
const STEPS: u64 = 1_500;
/// Wide enough for inner lists.
const WIDE_SKIN: f64 = 0.75;
const MANY_STEPS: u64 = 100_000;

/// Largest relative error of a squared distance in f32. In 100,000 steps, a few pairs are that close
/// to the cutoff, where the force jumps: they may be within or beyond.
const SINGLE_ROUNDING: f64 = 1e-6;

/// Returns the largest difference between a force component and the direct sum, over the largest
/// component.
fn error_of(rows: &[ParticleRow], domain: &Domain, precision: Precision) -> f64 {
    let potential = LennardJones::reduced(2.5);
    let cutoff2 = potential.cutoff() * potential.cutoff();
    let rounding = if precision == Precision::Mixed { SINGLE_ROUNDING } else { 0.0 };
    let (mut error, mut largest) = (0.0_f64, 0.0_f64);
    for row in rows {
        let (mut force, mut of_pairs_at_cutoff) = ([0.0; 3], [0.0; 3]);
        for other in rows.iter().filter(|other| other.id != row.id) {
            let distance = domain.nearest_image(row.position, other.position);
            let r2 = distance.iter().map(|d| d * d).sum::<f64>();
            let pair = distance.map(|d| potential.term(0, 0, r2.min(cutoff2.next_down())).force_over_r * d);
            if r2 < cutoff2 {
                (0..3).for_each(|dim| force[dim] += pair[dim]);
            }
            if (r2 / cutoff2 - 1.0).abs() < rounding {
                (0..3).for_each(|dim| of_pairs_at_cutoff[dim] += pair[dim].abs());
            }
        }
        for (dim, sum) in force.into_iter().enumerate() {
            error = error.max((sum - row.vector[dim]).abs() - of_pairs_at_cutoff[dim]);
            largest = largest.max(sum.abs());
        }
    }
    error / largest
}

/// Compares forces at intervals and returns the number of steps per rebuild.
fn steps_per_rebuild(config: &Config, barostat: Option<Barostat>, steps: u64, ranks: usize) -> f64 {
    on_ranks(ranks, |world| {
        let mut config = config.clone();
        let (integrator, precision) = (config.integrator, config.neighbor.precision);
        config.neighbor.rebuild = RebuildPolicy::Displacement;
        let mut simulation = Simulation::new(world, &Setup::new(config, ranks)?)?;
        simulation.begin_stage(integrator, barostat, steps)?;
        for _ in 0..steps / EVERY {
            simulation.run(EVERY, &mut [])?;
            let rows = simulation.gather_rows(RowVector::Force)?;
            if world.rank() == 0 {
                let error = error_of(&rows, &simulation.state().domain, precision);
                // A missed pair changes the forces by 1e-4 of the largest.
                let bound = if precision == Precision::Double { 1e-9 } else { 1e-5 };
                assert!(error < bound, "step {}: {error:e}", simulation.state().step);
            }
        }
        let report = simulation.neighbor_report();
        assert_eq!((report.dangerous_rebuilds, report.dangerous_checks), (0, 0), "{report:?}");
        simulation.finalise()?;
        Ok((steps / EVERY * EVERY) as f64 / report.rebuilds as f64)
    })
}

fn csvr(from: f64, to: f64) -> Integrator {
    let temperature = Temperature::Ramp(TemperatureRamp { from, to });
    Integrator::Csvr(CsvrKeys { temperature, relaxation: 0.1, every: None })
}

fn with_wide_skin(mut config: Config) -> Config {
    config.neighbor.skin = WIDE_SKIN;
    config
}

/// A melt, a gas, a crystal that is heated until it melts, a liquid between walls, and a liquid
/// whose box changes.
fn systems() -> [(&'static str, Config, Option<Barostat>); 7] {
    let dilute = Lattice::with_density(LatticeKind::Fcc, 0.05, [4; 3]);
    let mut gas = Config::new(dilute, LennardJones::reduced(2.5));
    gas.temperature = Some(2.0);
    let solid = Config { temperature: Some(0.1), integrator: csvr(0.05, 2.0), ..melt() };
    let boundary = [Boundary::Periodic, Boundary::Reflecting, Boundary::Periodic];
    let slit = Config { boundary, ..melt() };
    let (kind, axes) = (BarostatKind::StochasticCellRescaling, CoupledAxes::default());
    let barostat =
        Barostat { kind, pressure: 2.0, relaxation: 0.5, compressibility: 0.05, axes, every: None };
    let squeezed = Config { integrator: csvr(1.2, 1.2), ..melt() };
    let mut mixed = with_wide_skin(melt());
    mixed.neighbor.precision = Precision::Mixed;
    [
        ("melt", melt(), None),
        ("melt, pruned", with_wide_skin(melt()), None),
        ("melt, pruned, mixed precision", mixed, None),
        ("gas", gas, None),
        ("crystal", with_wide_skin(solid), None),
        ("slit", with_wide_skin(slit), None),
        ("barostat", with_wide_skin(squeezed), Some(barostat)),
    ]
}

fn compare(steps: u64) {
    for (name, config, barostat) in systems() {
        let lives = [1, 3].map(|ranks| steps_per_rebuild(&config, barostat, steps, ranks));
        println!("{name}: {lives:.1?} steps per rebuild");
        // Lists made for present positions last for 6.1 steps of the melt.
        let least = if name.starts_with("melt") { 8.0 } else { 2.0 };
        assert!(lives.into_iter().all(|life| life > least), "{name}: {lives:?}");
    }
}

#[test]
fn forces_are_those_of_all_pairs() {
    compare(STEPS);
}

#[test]
#[ignore = "takes many minutes"]
fn forces_are_those_of_all_pairs_for_100_000_steps() {
    compare(MANY_STEPS);
}

/// Returns the mean absolute change of the energy by missed pairs, per particle and time: energies
/// of lists in their last step, minus those of all pairs.
fn measured_drift(config: &Config, potential: &LennardJones, interval: u64, lists: u64) -> f64 {
    on_ranks(1, |world| {
        let mut simulation = Simulation::new(world, &Setup::new(config.clone(), 1)?)?;
        simulation.run(20 * interval, &mut [])?;
        let mut missed = 0.0;
        let mut observer = every(1, Needs::ENERGY_AND_VIRIAL, |now| {
            if let Some(thermo) = now.thermo.filter(|_| now.step % interval == interval - 1) {
                let particles = (0..now.particles.owned()).map(|index| now.particles.position_of(index));
                let energy = energy_of(potential, &particles.collect::<Vec<_>>(), now.domain);
                missed += (energy / now.particles.owned() as f64 - thermo.potential_per_atom).abs();
            }
            Ok(())
        });
        simulation.run(lists * interval, &mut [&mut observer])?;
        let report = simulation.neighbor_report();
        assert_eq!((report.dangerous_rebuilds, report.dangerous_checks), (0, 0), "{report:?}");
        simulation.finalise()?;
        Ok(missed / (lists * interval) as f64 / config.timestep)
    })
}

#[expect(clippy::unwrap_used, reason = "the parameters are valid")]
fn shifted(shift: Shift) -> LennardJones {
    let well = Well { epsilon: 1.0, sigma: 1.0 };
    LennardJones::new(&[well], Mixing::LorentzBerthelot, &[], 2.5, shift).unwrap()
}

/// Returns the potential energy of all pairs.
fn energy_of(potential: &LennardJones, positions: &[[f64; 3]], domain: &Domain) -> f64 {
    let pairs = (0..positions.len()).flat_map(|i| (0..i).map(move |j| [i, j]));
    let energy = |[i, j]: [usize; 2]| {
        let r2 = domain.nearest_image(positions[i], positions[j]).iter().map(|d| d * d).sum::<f64>();
        if r2 < potential.cutoff().powi(2) { potential.term(0, 0, r2).energy } else { 0.0 }
    };
    pairs.map(energy).sum()
}

#[test]
fn missed_pairs_change_the_energy_by_less_than_estimated() {
    for (temperature, density, shift) in [
        (1.0, 0.8442, Shift::None),
        (1.0, 0.8442, Shift::Energy),
        (1.0, 0.4, Shift::Force),
        (3.0, 0.8442, Shift::None),
    ] {
        let mut config = Config { integrator: csvr(temperature, temperature), ..melt() };
        config.particles = Lattice::with_density(LatticeKind::Fcc, density, [6; 3]).into();
        config.forces = shifted(shift).into();
        config.temperature = Some(temperature);
        let thermal_step = temperature.sqrt() * config.timestep;
        let lists = ListModel { cutoff: 2.5, thermal_step, widest: f64::INFINITY };
        let potential = shifted(shift);
        let model = DriftModel::new(lists, config.timestep, density, Dimension::Three, &potential);
        for most in [1e-4, 1e-2] {
            let chosen = model.best(most);
            config.neighbor.skin = chosen.skin;
            config.neighbor.rebuild = RebuildPolicy::Every(chosen.interval);
            config.neighbor.tolerated = Some(chosen.tolerated);
            let measured = measured_drift(&config, &potential, chosen.interval, 50);
            println!("T {temperature}, density {density}, {shift:?}: {chosen:?}, measured {measured:.1e}");
            assert!(measured <= chosen.tolerated.drift, "{measured}");
        }
    }
}
