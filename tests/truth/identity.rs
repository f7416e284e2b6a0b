//! The transport and its timing change no bit of the result.

use crate::support::{Backend, Case, Run, local_cases, mixed_cases, p2p_available};

/// Hot and dense, so that particles change ranks and neighbourhoods are rebuilt.
const SCENARIO: &str = r#"
[simulation]
steps = 40
seed = 5
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
temperature = 3.0
[[species]]
name = "A"
[[species]]
name = "B"
fraction = 0.3
sigma = 0.95
[output]
thermo = { every = 4 }
trajectory = { path = "traj.extxyz", every = 40 }
"#;

/// Whether forces between own particles are computed while the halo is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overlap {
    On,
    Off,
}

impl Overlap {
    fn opposite(self) -> Self {
        match self {
            Self::On => Self::Off,
            Self::Off => Self::On,
        }
    }
}

/// Returns thermo.csv and all positions and velocities at the end.
fn results(case: Case, overlap: Overlap) -> [(String, &'static str, String); 2] {
    let run =
        case.apply(&Run::new("run", SCENARIO)).set(format!("parallel.overlap={}", overlap == Overlap::On));
    let outcome = run.succeed();
    assert!(outcome.number("rebuilds") >= 2.0, "{}: rebuilds", outcome.case());
    ["thermo.csv", "traj.extxyz"].map(|file| (outcome.case().to_owned(), file, outcome.text(file)))
}

fn assert_identical(case: Case, overlap: Overlap, expected: &[(String, &'static str, String); 2]) {
    for (actual, expected) in results(case, overlap).iter().zip(expected) {
        // assert_eq! would print both files.
        assert!(actual.2 == expected.2, "{}: {} differs from that of {}", actual.0, actual.1, expected.0);
    }
}

/// Runs all paths through threads with and without overlap, and over MPI a selection in which every
/// number of ranks occurs with both shells, both partitions, and overlap on and off.
#[test]
fn transport_and_overlap_change_no_bit() {
    for case in local_cases().filter(|case| case.is_fast()) {
        let expected = results(case, Overlap::On);
        assert_identical(case, Overlap::Off, &expected);
        let is_chosen = (case.shell == "full") == (case.partition == "stripe");
        if p2p_available() && is_chosen {
            let is_on = (case.shell == "half") == case.ranks.is_multiple_of(2);
            let overlap = if is_on { Overlap::On } else { Overlap::Off };
            assert_identical(Case { backend: Backend::P2p, ..case }, overlap, &expected);
            if case.ranks == 4 {
                assert_identical(Case { backend: Backend::P2p, ..case }, overlap.opposite(), &expected);
            }
        }
    }
}

#[test]
fn mixed_precision_too() {
    for case in mixed_cases().filter(|case| case.backend == Backend::Local && case.ranks == 3) {
        let expected = results(case, Overlap::On);
        assert_identical(case, Overlap::Off, &expected);
        if p2p_available() && case.shell == "eighth" {
            assert_identical(Case { backend: Backend::P2p, ..case }, Overlap::On, &expected);
        }
    }
}

#[test]
fn the_reference_method_too() {
    for case in local_cases().filter(|case| case.method == "direct-sum" && [2, 3].contains(&case.ranks)) {
        let expected = results(case, Overlap::On);
        assert_identical(case, Overlap::Off, &expected);
        if p2p_available() && case.shell == "half" {
            assert_identical(Case { backend: Backend::P2p, ..case }, Overlap::On, &expected);
        }
    }
}

/// Reading the velocities completes work of a step that would otherwise be left to the next one.
#[test]
fn looking_at_a_run_changes_no_bit() {
    for case in local_cases().filter(|case| case.ranks == 3 && case.is_fast()) {
        let [seldom, often] = [40, 1].map(|every| {
            let run = case.apply(&Run::new("run", SCENARIO)).set(format!("output.thermo.every={every}"));
            let outcome = run.succeed();
            let last_row = outcome.text("thermo.csv").lines().last().map(str::to_owned);
            (outcome.case().to_owned(), last_row, outcome.text("traj.extxyz"))
        });
        assert!(seldom.1 == often.1 && seldom.2 == often.2, "{} and {} differ", seldom.0, often.0);
    }
}

/// Calling the program twice gives the same bits.
#[test]
fn a_run_can_be_repeated() {
    for case in local_cases().filter(|case| case.ranks == 4 && case.is_fast()) {
        assert_identical(case, Overlap::On, &results(case, Overlap::On));
    }
}
