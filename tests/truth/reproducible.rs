//! With `simulation.reproducible`, every division of the work and every instruction set gives one
//! hash of the state, and one thermo.csv.

use md_core::SimdLevel;

use super::ranks::{MELT, MIXTURE};
use crate::support::{Backend, Case, Outcome, Run, assert_thermo, divided_cases, every_case};

/// Settings of every run.
const RUN: [&str; 4] =
    ["simulation.steps=30", "simulation.reproducible=true", "output.thermo.every=10", "output.hash.every=10"];

const SLIT: &str = r#"
[system]
gas = { atoms = 700, box = [11.0, 12.0, 13.0] }
temperature = 3.0
boundary = ["periodic", "periodic", "reflecting"]
walls = [{ axis = "z", sigma = 1.0, epsilon = 1.0, cutoff = 2.5 }]
[interaction]
shift = "force"
"#;

const GAS: &str = r#"
[system]
gas = { atoms = 800, box = [18.0, 17.0, 16.0] }
temperature = 2.0
"#;

/// Additional settings of the melt.
const THERMOSTATS: [&str; 6] = [
    "integrator={kind=\"langevin\",temperature=1.0,friction=1.0}",
    "integrator={kind=\"csvr\",temperature=1.0,relaxation=0.5}",
    "integrator={kind=\"nose-hoover\",temperature=1.0,relaxation=0.5}",
    "integrator={kind=\"csvr\",temperature=1.0,relaxation=0.5,barostat={kind=\"berendsen\",pressure=2.0,\
     relaxation=1.0,compressibility=0.05}}",
    "interaction={kind=\"morse\",depth=1.0,alpha=5.0,r0=1.1}",
    "parallel.balance={every=7,weights=\"pairs\"}",
];

fn run(system: &str) -> Run {
    Run::new("run", system).set_all(RUN)
}

fn tables(outcome: &Outcome) -> [String; 2] {
    ["hash.csv", "thermo.csv"].map(|name| outcome.text(name))
}

fn is_covered(case: &Case) -> bool {
    case.method == "clusters" && case.protocol == "one"
}

/// Compares all cases, levels and numbers of threads with one rank, which agrees with a run that
/// rounds its sums. Returns the number of compared runs.
fn check(run: &Run, cases: impl Iterator<Item = Case>) -> usize {
    let run = run.clone().on(Backend::Local, 1);
    let reference = run.succeed();
    let expected = tables(&reference);
    let hashes: Vec<&str> = expected[0].lines().skip(1).map(|row| &row[row.len() - 32..]).collect();
    assert_eq!(hashes.len(), 4, "{}", expected[0]);
    assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]), "{}", expected[0]);
    let rounded = run.clone().set("simulation.reproducible=false").succeed();
    assert_thermo(&reference.thermo(), &rounded.thermo(), 1e-7, reference.case());
    let levels = SimdLevel::available().filter(|level| level.has_fused_multiply_add());
    let of_levels = levels.map(|level| run.clone().set(format!("neighbor.shape={:?}", level.name())));
    let of_threads =
        [2, 3].map(|threads| run.clone().on(Backend::Local, 2).set(format!("parallel.threads={threads}")));
    let others = ["parallel.overlap=true", "neighbor.skin=0.2", "neighbor.skin=0.7"];
    let others = others.map(|set| run.clone().on(Backend::Local, 3).set(set));
    let runs = cases.filter(is_covered).map(|case| case.apply(&run));
    let mut count = 0;
    for run in of_levels.chain(of_threads).chain(others).chain(runs) {
        let outcome = run.succeed();
        assert_eq!(tables(&outcome), expected, "{}", outcome.case());
        count += 1;
    }
    count
}

fn few_cases() -> impl Iterator<Item = Case> {
    every_case().chain(divided_cases(3)).filter(|case| [2, 3, 8].contains(&case.ranks))
}

#[test]
fn melt() {
    let count = check(&run(MELT), every_case().chain(divided_cases(4)));
    assert!(count > 60, "{count} runs");
}

#[test]
fn mixture() {
    check(&run(MIXTURE), few_cases());
}

#[test]
fn slit() {
    check(&run(SLIT), few_cases());
}

#[test]
fn gas() {
    check(&run(GAS), few_cases());
}

#[test]
fn thermostats_a_barostat_another_potential_and_balance() {
    for set in THERMOSTATS {
        check(&run(MELT).set(set), few_cases().filter(|case| case.ranks == 3));
    }
}

#[test]
fn two_dimensions() {
    let alloy = "[system]\nlattice = { kind = \"hex\", spacing = 1.11, cells = [20, 16, 1] }\n\
                 temperature = 0.4\n[interaction]\ncutoff = 3.0\n[neighbor]\nskin = 0.3\n";
    check(&run(alloy).set("simulation.dimension=2"), few_cases().filter(|case| case.ranks == 3));
}

/// The sum of all forces is checked at every rebuild.
#[test]
fn the_sum_of_all_forces_is_checked() {
    let run = run(MELT).on(Backend::Local, 2);
    let summary = run.succeed().summary();
    assert_eq!(summary["integrity"]["checks"], summary["rebuilds"], "{summary}");
    assert!(summary["rebuilds"].as_u64() > Some(0));
    assert!(run.set("simulation.reproducible=false").succeed().summary().get("integrity").is_none());
}
