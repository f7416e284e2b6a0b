//! The physics does not depend on how the work is divided.

use crate::support::{
    Backend, Case, Outcome, Run, assert_thermo, divided_cases, every_case, local_cases, mixed_cases,
    p2p_cases,
};

/// Output of every system here: five rows, and the first and the last frame.
const OUTPUT: &str = r#"
[output]
thermo = { every = 5 }
trajectory = { path = "traj.extxyz", every = 20 }
"#;

/// The melt.
pub(super) const MELT: &str = r#"
[simulation]
steps = 20
seed = 1
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 7] }
temperature = 1.44
"#;

/// Two species on random sites, with separate parameters for one pair.
pub(super) const MIXTURE: &str = r#"
[simulation]
steps = 20
seed = 2
[system]
lattice = { kind = "fcc", density = 0.8, cells = [6, 6, 6] }
temperature = 1.0
[[species]]
name = "A"
fraction = 0.6
[[species]]
name = "B"
mass = 2.0
epsilon = 0.5
sigma = 0.9
[interaction]
shift = "energy"
[[interaction.pair]]
species = ["A", "B"]
epsilon = 1.5
sigma = 0.8
"#;

/// A smaller version of configs/alloy-2d.toml. Its box of 4 x 5 cells holds eight ranks.
const ALLOY_2D: &str = r#"
[simulation]
dimension = 2
timestep = 0.002
steps = 20
seed = 3
[system]
lattice = { kind = "hex", spacing = 1.11, cells = [15, 11, 1] }
temperature = 0.4
[[species]]
name = "main"
[[species]]
name = "additive"
mass = 1.2
epsilon = 0.8
sigma = 0.95
fraction = 0.1
[interaction]
cutoff = 3.8
[neighbor]
skin = 0.0
rebuild = { every = 1 }
"#;

/// Walls in x and z. The lattice touches the lower walls and is hot, so that particles bounce at
/// once.
const WALLS: &str = r#"
[simulation]
steps = 20
seed = 4
[system]
lattice = { kind = "fcc", density = 0.7, cells = [6, 6, 6] }
temperature = 3.0
boundary = ["reflecting", "periodic", "reflecting"]
[interaction]
shift = "force"
"#;

fn run(system: &str) -> Run {
    Run::new("run", format!("{system}{OUTPUT}"))
}

/// Returns the frames of the trajectory as text.
fn frames(outcome: &Outcome) -> Vec<String> {
    let text = outcome.text("traj.extxyz");
    let lines: Vec<&str> = text.lines().collect();
    let count: usize = lines[0].parse().unwrap_or_else(|_| panic!("`{}` is not a number", lines[0]));
    lines.chunks(count + 2).map(|frame| frame.join("\n")).collect()
}

/// Allowed relative errors after 20 steps.
const DOUBLE: f64 = 1e-10;
const MIXED: f64 = 1e-5;

/// Compares every case with one rank in double precision: the initial state bit by bit, everything
/// after it within `relative`.
fn check(system: &str, cases: impl Iterator<Item = Case>, relative: f64) {
    let run = run(system);
    let reference = run.clone().on(Backend::Local, 1).succeed();
    let expected = reference.thermo();
    assert_eq!(expected.iter().map(|row| row.step).collect::<Vec<_>>(), [0, 5, 10, 15, 20]);
    let start = &frames(&reference)[0];
    for case in cases {
        let outcome = case.apply(&run).succeed();
        assert_thermo(&outcome.thermo(), &expected, relative, outcome.case());
        let frames = frames(&outcome);
        assert_eq!(frames.len(), 2, "{}: frames", outcome.case());
        // assert_eq! would print two frames of a thousand lines.
        assert!(frames[0] == *start, "{}: another initial state", outcome.case());
        assert!(frames[1] != *start, "{}: nothing has moved", outcome.case());
    }
}

#[test]
fn melt() {
    check(MELT, every_case(), DOUBLE);
    check(MELT, mixed_cases(), MIXED);
    check(MELT, divided_cases(4), DOUBLE);
}

#[test]
fn mixture() {
    check(MIXTURE, local_cases().chain(p2p_cases().filter(|case| case.ranks == 3)), DOUBLE);
    check(MIXTURE, mixed_cases().filter(|case| case.ranks == 3), MIXED);
    check(MIXTURE, divided_cases(3).filter(|case| case.ranks == 3), DOUBLE);
}

#[test]
fn alloy_in_two_dimensions() {
    check(ALLOY_2D, local_cases().chain(p2p_cases().filter(|case| case.ranks == 4)), DOUBLE);
    check(ALLOY_2D, mixed_cases().filter(|case| case.ranks == 4), MIXED);
    check(ALLOY_2D, divided_cases(5), DOUBLE);
}

#[test]
fn reflecting_walls() {
    check(WALLS, local_cases().chain(p2p_cases().filter(|case| case.ranks == 8)), DOUBLE);
    check(WALLS, mixed_cases().filter(|case| case.ranks == 8), MIXED);
    check(WALLS, divided_cases(3), DOUBLE);
}

/// Walls conserve energy, and no particle passes them.
#[test]
fn walls_hold_and_conserve_energy() {
    let run = run(WALLS).set("simulation.timestep=0.001").set("system.temperature=1.5");
    let outcome = run.on(Backend::Local, 2).argument("--steps").argument("200").succeed();
    let thermo = outcome.thermo();
    let change = thermo.iter().map(|row| (row.total - thermo[0].total).abs()).fold(0.0, f64::max);
    assert!(change < 1e-3, "energy changes by {change}");
    let side = 6.0 * (4.0_f64 / 0.7).cbrt();
    for frame in frames(&outcome) {
        for line in frame.lines().skip(2) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            for column in [1, 3] {
                let x: f64 = fields[column].parse().unwrap();
                assert!((0.0..=side).contains(&x), "outside of the walls: {line}");
            }
        }
    }
}
