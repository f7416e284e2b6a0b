//! Mixed precision against double precision: forces agree within 1e-5 (rms), and long runs conserve
//! energy equally well.

use md_core::Dimension;

use crate::support::{
    Backend, CLUSTERS, Configuration, ForceRow, Outcome, Random, Run, assert_thermo, mixed_cases,
};

/// Largest deviation of forces, relative to their root mean square.
const FORCE_BOUND: f64 = 1e-5;
/// Smallest deviation. With less, the precision would not be mixed.
const LEAST_DEVIATION: f64 = 1e-9;

/// Particles that are close to each other and fast.
const MOVING: &str = r#"
[simulation]
steps = 25
timestep = 0.005
[system]
file = { path = "few.extxyz", format = "extxyz" }
[neighbor]
skin = 0.6
rebuild = { every = 25 }
[output]
thermo = { every = 5 }
"#;

/// A dense liquid of two species that melts from its lattice.
const MIXTURE: &str = r#"
[simulation]
steps = 40
timestep = 0.004
seed = 5
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
temperature = 1.44
[[species]]
name = "A"
fraction = 0.7
[[species]]
name = "B"
epsilon = 0.5
sigma = 0.9
mass = 0.8
fraction = 0.3
[interaction]
shift = "force"
[output]
thermo = { every = 40 }
"#;

/// The force-shifted melt, which conserves its energy except for the error of the time step.
const LONG_MELT: &str = r#"
[simulation]
steps = 10000
timestep = 0.005
seed = 87287
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [5, 5, 5] }
temperature = 1.44
[interaction]
shift = "force"
[neighbor]
rebuild = { every = 10 }
[output]
thermo = { every = 10000 }
"#;

fn in_precision(run: &Run, precision: &str) -> Outcome {
    run.clone().set("neighbor.method=\"clusters\"").set(format!("neighbor.precision={precision:?}")).succeed()
}

/// Returns the root mean square of the differences, divided by that of the forces.
fn deviation(actual: &[ForceRow], expected: &[ForceRow]) -> f64 {
    let square = |force: [f64; 3]| force.iter().map(|f| f * f).sum::<f64>();
    let difference = |(a, b): (&ForceRow, &ForceRow)| {
        assert_eq!(a.id, b.id);
        square([0, 1, 2].map(|dim| a.force[dim] - b.force[dim]))
    };
    let differences: f64 = actual.iter().zip(expected).map(difference).sum();
    (differences / expected.iter().map(|row| square(row.force)).sum::<f64>()).sqrt()
}

#[test]
fn forces_on_every_path() {
    let configuration =
        Configuration::clustered(&mut Random::new(70), [12.0, 9.0, 10.5], [true; 3], 500, Dimension::Three);
    let run = Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz());
    let double = in_precision(&run.clone().on(Backend::Local, 1), "double");
    let pairs = |outcome: &Outcome| outcome.number("useful_pairs_per_atom");
    for case in mixed_cases() {
        let mixed = case.apply(&run).succeed();
        let error = deviation(&mixed.forces(), &double.forces());
        assert!(error < FORCE_BOUND, "{}: {error:.1e}", mixed.case());
        assert!(error > LEAST_DEVIATION, "{}: {error:.1e}, as in double precision", mixed.case());
        assert!((pairs(&mixed) - pairs(&double)).abs() < 0.01, "{}", mixed.case());
    }
}

/// The number of correct digits must not depend on the size of the box. There are enough particles
/// that cells stay small.
#[test]
fn a_large_box_loses_nothing() {
    let lengths = [20_000.0, 15.0, 15.0];
    let configuration =
        Configuration::clustered(&mut Random::new(71), lengths, [true; 3], 500, Dimension::Three);
    let run = Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz());
    for ranks in [1, 3] {
        let run = run.clone().on(Backend::Local, ranks);
        let error = deviation(&in_precision(&run, "mixed").forces(), &in_precision(&run, "double").forces());
        assert!(error < 2e-6, "{ranks} ranks: {error:.1e}");
    }
}

/// Three particles alone in their box, flying apart. The extent of the coordinates grows by a third
/// between two rebuilds.
#[test]
fn few_particles_that_move_apart() {
    let file = "3\nLattice=\"60 0 0 0 60 0 0 0 60\" Properties=species:S:1:pos:R:3:velo:R:3\n\
                A 30 30 30 -1.5 0 0\nA 31.2 30 30 1.5 0 0\nA 30.6 31.1 30 0 0.5 0\n";
    let run = Run::new("run", MOVING).file("few.extxyz", file.to_owned()).on(Backend::Local, 1);
    let (double, mixed) = (in_precision(&run, "double").thermo(), in_precision(&run, "mixed").thermo());
    assert_eq!(double.len(), 6);
    assert_thermo(&mixed, &double, 1e-5, "mixed against double");
}

#[test]
fn several_species() {
    let run = Run::new("run", MIXTURE).on(Backend::Local, 2);
    let (double, mixed) = (in_precision(&run, "double").thermo(), in_precision(&run, "mixed").thermo());
    for (row, reference) in mixed.iter().zip(&double) {
        for ((name, value), (_, wanted)) in row.values().into_iter().zip(reference.values()) {
            let error = (value - wanted).abs() / wanted.abs().max(1.0);
            assert!(error < 1e-4, "{name} at step {}: {value} instead of {wanted}", row.step);
        }
    }
}

/// Drift over 10,000 steps, per particle. Trajectories diverge within a few hundred steps, so that
/// even two runs in double precision from different seeds differ by about 2e-4.
#[test]
fn energy_of_a_long_run() {
    const DRIFT_BOUND: f64 = 5e-4;
    let run = Run::new("run", LONG_MELT).on(Backend::Local, 1);
    let [double, mixed] =
        ["double", "mixed"].map(|precision| in_precision(&run, precision).number("energy_drift_per_atom"));
    assert!(double.abs() < DRIFT_BOUND, "double: {double:e} per particle");
    assert!((mixed - double).abs() < DRIFT_BOUND, "mixed: {mixed:e} per particle, double: {double:e}");
}
