//! Repeatable runs of LAMMPS: forces of every atom at step 0, and thermo output of the first 50
//! steps. After that, rounding errors, which grow exponentially, differ too much for 1e-7.

use crate::support::{
    Backend, Case, ForceRow, Run, ThermoRow, assert_close, assert_forces, assert_thermo, data, every_case,
    mixed_cases, numbers, table,
};

/// Two species, without shift. The file contains the masses too, which a scenario may repeat.
const MIX: &str = r#"
[[species]]
name = "A"
[[species]]
name = "B"
mass = 2.0
epsilon = 0.5
sigma = 0.9
[interaction]
cutoff = 2.5
shift = "none"
mixing = "lorentz-berthelot"
"#;

const MELT: &str = r#"
[interaction]
cutoff = 2.5
shift = "energy"
"#;

/// Returns the scenario. The data file contains velocities, so no temperature is given.
fn scenario(name: &str, interaction: &str) -> String {
    let path = data(name).join("data.lammps");
    format!(
        "[simulation]\nsteps = 50\ntimestep = 0.005\n\
         [system]\nfile = {{ path = {path:?}, format = \"lammps-data\" }}\n{interaction}\n\
         [neighbor]\nskin = 0.3\nrebuild = {{ displacement = true }}\n\
         [output]\nthermo = {{ every = 10 }}\n"
    )
}

/// Returns positions and forces at step 0.
fn lammps_forces(name: &str) -> Vec<ForceRow> {
    let columns = ["id", "type", "x", "y", "z", "fx", "fy", "fz"];
    let row = |fields: &[String; 8]| {
        let [id, kind, x, y, z, fx, fy, fz] = numbers(fields);
        ForceRow { id: id as u64, kind: kind as u32, position: [x, y, z], force: [fx, fy, fz] }
    };
    table(&format!("{name}/forces.csv"), columns).iter().map(row).collect()
}

/// Returns the rows up to step 50.
fn printed_thermo(name: &str) -> Vec<ThermoRow> {
    let columns =
        ["step", "temperature", "potential_per_atom", "kinetic_per_atom", "total_per_atom", "pressure"];
    let row = |fields: &[String; 6]| {
        let [step, temperature, potential, kinetic, total, pressure] = numbers(fields);
        ThermoRow { step: step as u64, time: 0.005 * step, temperature, potential, kinetic, total, pressure }
    };
    let rows = table(&format!("{name}/thermo.csv"), columns);
    rows.iter().map(row).filter(|row| row.step <= 50).collect()
}

/// Allowed relative errors.
#[derive(Clone, Copy)]
struct Allowed {
    forces: f64,
    energy: f64,
    thermo_at_start: f64,
    thermo: f64,
}

const DOUBLE: Allowed = Allowed { forces: 1e-10, energy: 1e-11, thermo_at_start: 2e-12, thermo: 1e-7 };
const MIXED: Allowed = Allowed { forces: 1e-5, energy: 1e-6, thermo_at_start: 1e-5, thermo: 1e-4 };

fn check_forces(name: &str, interaction: &str, cases: impl Iterator<Item = Case>, allowed: Allowed) {
    let run = Run::new("forces", scenario(name, interaction));
    let expected = lammps_forces(name);
    let first = &printed_thermo(name)[0];
    // Relative to the largest component, which is smaller than the pair forces that it is the sum
    // of, so this is strict. The melt starts as a perfect crystal, whose forces vanish. There, the
    // scale is that of the pair forces, about 1.
    let scale = expected.iter().flat_map(|row| row.force).fold(1.0, |most: f64, f| most.max(f.abs()));
    for case in cases {
        let outcome = case.apply(&run).succeed();
        let forces = outcome.forces();
        assert_forces(&forces, &expected, scale, allowed.forces, outcome.case());
        assert_close(
            outcome.number("potential_energy") / expected.len() as f64,
            first.potential,
            allowed.energy,
            outcome.case(),
        );
        for (row, reference) in forces.iter().zip(&expected) {
            let apart =
                (0..3).map(|dim| (row.position[dim] - reference.position[dim]).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-12, "{}: position of {}", outcome.case(), row.id);
        }
    }
}

/// Checks the thermo rows. `steps` may depend on the case.
fn check_thermo(
    name: &str,
    interaction: &str,
    cases: impl Iterator<Item = Case>,
    allowed: Allowed,
    steps: impl Fn(&Case) -> u64,
) {
    let run = Run::new("run", scenario(name, interaction));
    let all = printed_thermo(name);
    assert_eq!(all.len(), 6, "{name}: rows of the reference");
    for case in cases {
        let steps = steps(&case);
        let outcome = case.apply(&run).argument("--steps").argument(steps.to_string()).succeed();
        let thermo = outcome.thermo();
        let expected: Vec<ThermoRow> = all.iter().copied().filter(|row| row.step <= steps).collect();
        assert_thermo(&thermo[..1], &expected[..1], allowed.thermo_at_start, outcome.case());
        assert_thermo(&thermo, &expected, allowed.thermo, outcome.case());
        // Without a rebuild, only one neighbourhood would be tested. No particle of the melt moves
        // by half the skin within 20 steps.
        assert!(steps < 50 || outcome.number("rebuilds") >= 1.0, "{}: no rebuild", outcome.case());
    }
}

#[test]
fn forces_of_the_mixture() {
    check_forces("mix864", MIX, every_case(), DOUBLE);
    check_forces("mix864", MIX, mixed_cases(), MIXED);
}

#[test]
fn forces_of_the_shifted_melt() {
    check_forces("melt2048", MELT, every_case(), DOUBLE);
    check_forces("melt2048", MELT, mixed_cases(), MIXED);
}

/// The reference method computes every pair in each of the 50 steps, so only half of its
/// combinations run.
#[test]
fn thermo_of_the_mixture() {
    let is_quick = |case: &Case| case.is_fast() || (case.shell == "half") == (case.partition == "rect");
    check_thermo("mix864", MIX, every_case().filter(is_quick), DOUBLE, |_| 50);
    check_thermo("mix864", MIX, mixed_cases(), MIXED, |_| 50);
}

/// The system is larger by a factor of 2.4, so the number of pairs is larger by 5.6. The reference
/// method runs only twice, for fewer steps.
#[test]
fn thermo_of_the_shifted_melt() {
    let is_quick = |case: &Case| {
        let settings = (case.backend, case.ranks, case.shell, case.partition);
        case.is_fast()
            || settings == (Backend::Local, 1, "half", "rect")
            || settings == (Backend::Local, 3, "full", "stripe")
    };
    let steps = |case: &Case| if case.is_fast() { 50 } else { 20 };
    check_thermo("melt2048", MELT, every_case().filter(is_quick), DOUBLE, steps);
    check_thermo("melt2048", MELT, mixed_cases(), MIXED, steps);
}
