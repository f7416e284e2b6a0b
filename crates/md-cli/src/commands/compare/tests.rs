//! Tests of comparisons over threads in which some transports are broken on purpose.

use std::time::Duration;

use clap::Parser;
use md_comm::local;
use tempfile::TempDir;

use super::*;
use crate::args::{Cli, Command, ScenarioArgs};
use crate::commands::faulty::{self, FaultyTransports};
use crate::grid_inputs::AnyInputs;
use crate::strategies::Choices;

/// Two ranks along x. In the initial lattice, forces act only after a displacement.
const SCENARIO: &str = r#"[simulation]
steps = 20
seed = 7

[system]
lattice = { kind = "fcc", density = 0.8442, cells = [5, 4, 4] }
temperature = 1.44

[parallel]
backend = "local"
ranks = 2
"#;

const RANKS: usize = 2;

/// A grid on two ranks.
#[cfg(feature = "mpi")]
const GRID: &str = "[stencil]\nkind = \"swap\"\ngrid = [12, 8, 8]\nfields = 2\ndepth = 2\nsteps = 4\n[parallel]\nbackend = \"local\"\nranks = 2\n";

/// Runs a comparison on two ranks, and returns the result of rank 0 and the folder of the files.
/// The other rank must end with the same exit code, unless it was ended.
fn compare_broken(scenario: &str, backends: &str, timeout_s: &str) -> (Result<(), RunError>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    std::fs::write(&path, scenario).unwrap();
    let (path, out) = (path.display().to_string(), folder.path().join("out").display().to_string());
    let cli = Cli::parse_from(
        ["md-cli", "compare", &path, "--output", &out, "--quiet", "--repeat", "2", "--steps", "2"]
            .into_iter()
            .chain(["--backends", backends, "--timeout", timeout_s]),
    );
    let Command::Compare(args) = cli.command else { panic!("another command") };
    let choices = Choices::read(&args).unwrap();
    let inputs = AnyInputs::read_file(&ScenarioArgs { steps: None, ..args.scenario.clone() }).unwrap();
    let ended = local::run(RANKS, Duration::from_secs(60), |world| {
        let transports = &FaultyTransports(world);
        match &inputs {
            AnyInputs::Particles(inputs) => compare(transports, inputs, &args, &choices, faulty::end),
            AnyInputs::Stencil(inputs) => compare_on_grid(transports, inputs, &args, &choices, faulty::end),
            AnyInputs::Lbm(_) => panic!("no flow here"),
        }
    });
    let mut ended = ended.into_iter();
    let [first, second] = [ended.next(), ended.next()].map(Option::unwrap);
    let first = first.unwrap();
    if let Ok(second) = second {
        let code = |ended: &Result<(), RunError>| ended.as_ref().err().map(|error| error.exit_code());
        assert_eq!(code(&second), code(&first), "{second:?}, {first:?}");
    }
    (first, folder)
}

/// An unavailable strategy is a failure only if no other is available, as without MPI.
#[test]
fn what_cannot_be_is_no_failure() {
    let (outcome, folder) = compare_broken(SCENARIO, "shm,p2p", "20");
    assert_eq!(outcome.is_ok(), cfg!(feature = "mpi"));
    for file in ["compare.csv", "compare.svg", "compare.png", "recommendation.txt", "scenario.toml"] {
        assert!(folder.path().join("out").join(file).exists(), "{file}");
    }
}

/// Without MPI, its backends are refused before anything is opened.
#[cfg(feature = "mpi")]
mod faults {
    use super::*;
    use md_scenario::failure::Remains;

    /// Returns these columns of all rows.
    fn columns<const N: usize>(folder: &TempDir, names: [&str; N]) -> Vec<[String; N]> {
        let text = std::fs::read_to_string(folder.path().join("out/compare.csv")).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let column = |name: &str| header.iter().position(|column| column == name).unwrap();
        let columns = names.map(column);
        reader.records().map(|record| record.unwrap()).map(|row| columns.map(|i| row[i].to_owned())).collect()
    }

    /// Returns `backend correct status note` of all rows.
    fn rows(folder: &TempDir) -> Vec<String> {
        let rows = columns(folder, ["backend", "correct", "status", "note"]);
        rows.iter().map(|row| row.join(" ").trim().to_owned()).collect()
    }

    fn ending(outcome: Result<(), RunError>) -> (u8, Remains) {
        let error = outcome.unwrap_err();
        (error.exit_code(), error.remains())
    }

    #[test]
    fn a_wrong_transport_is_caught_before_it_is_measured() {
        let (outcome, folder) = compare_broken(SCENARIO, "rma-lock,p2p", "20");
        assert_eq!(ending(outcome), (1, Remains::Nothing));
        let rows = rows(&folder);
        assert!(rows[0].starts_with("rma-lock false wrong wrong forces: that on particle"), "{rows:?}");
        assert_eq!(rows[1], "p2p true ok");
    }

    #[test]
    fn a_wrong_transport_is_caught_on_a_grid_too() {
        let (outcome, folder) = compare_broken(GRID, "rma-lock,p2p", "20");
        assert_eq!(ending(outcome), (1, Remains::Nothing));
        let wrong = "rma-lock false wrong other values after 3 steps than the reference";
        assert_eq!(rows(&folder), [wrong, "p2p true ok"]);
    }

    #[test]
    fn a_strategy_that_fails_on_one_rank_does_not_spoil_the_others() {
        let (outcome, folder) = compare_broken(SCENARIO, "p2p,rma-pscw,p2p-persistent", "1");
        assert_eq!(ending(outcome), (3, Remains::Unfinished));
        let failed = "rma-pscw true failed rank 1: MPI_Win_wait failed: deliberate";
        assert_eq!(rows(&folder), ["p2p true ok", failed, "p2p-persistent true ok"]);
    }

    #[test]
    fn a_strategy_that_hangs_times_out_and_the_others_go_on() {
        let (outcome, folder) = compare_broken(SCENARIO, "rma-fence,shm,p2p", "2");
        assert_eq!(ending(outcome), (3, Remains::Unfinished));
        let rows = rows(&folder);
        assert!(rows[0].starts_with("rma-fence  timeout positions: rank 0 waited 2"), "{rows:?}");
        assert_eq!(rows[1], "shm  unavailable these ranks share nothing");
        assert_eq!(rows[2], "p2p true ok");
    }

    /// The fault is like a flush that hangs in the MPI library: no watchdog helps, so the job is
    /// ended.
    #[test]
    fn a_flush_that_hangs_leaves_the_groups_before_it_complete() {
        let (outcome, folder) = compare_broken(SCENARIO, "rma-fence,rma-notify,p2p,p2p-persistent", "2");
        assert!(outcome.is_err(), "the job was ended");
        let rows = rows(&folder);
        assert!(rows[0].contains("unavailable not measured: the job had to be ended before"), "{rows:?}");
        assert_eq!(rows[1], "rma-notify  timeout a call did not come back within 4 s; the job was ended");
        assert_eq!(rows[2..], ["p2p true ok", "p2p-persistent true ok"]);
        let numbers = columns(&folder, ["exchange_median_s", "step_high_s", "messages"]);
        for number in numbers[2..].iter().flatten() {
            assert!(number.parse::<f64>().unwrap() > 0.0, "{numbers:?}");
        }
    }

    #[test]
    fn groups_without_two_sided_messages_have_a_control_too() {
        let (outcome, folder) = compare_broken(SCENARIO, "rma-ring,p2p-persistent,rma-barrier", "20");
        assert!(outcome.is_ok());
        let text = std::fs::read_to_string(folder.path().join("out/recommendation.txt")).unwrap();
        assert!(text.contains("beside p2p-persistent half direct rect once more"), "{text}");
    }
}
