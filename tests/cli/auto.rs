//! Backends that consist of others: `auto` reports its choice and the reason, and `hybrid` uses the
//! given backend between nodes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{Backend, RESTLESS_MELT, Run, p2p_available};
use serde_json::Value;

/// Returns a run that is long enough for a trial of all candidates, with a rebuild after it.
fn melt() -> Run {
    Run::new("run", RESTLESS_MELT).set_all([
        "simulation.steps=480",
        "neighbor.rebuild.every=20",
        "output.thermo.every=80",
    ])
}

fn on_mpi(backend: &str, ranks: usize) -> Run {
    melt().on(Backend::P2p, ranks).set(format!("parallel.backend={backend:?}"))
}

fn choices(summary: &str) -> Vec<Value> {
    let summary: Value = serde_json::from_str(summary).unwrap();
    assert_eq!(summary["backend"], "auto");
    summary["choices"].as_array().unwrap().clone()
}

fn names(choice: &Value) -> Vec<&str> {
    let candidates = choice["candidates"].as_array().unwrap();
    candidates.iter().map(|candidate| candidate["backend"].as_str().unwrap()).collect()
}

#[test]
fn auto_decides_and_keeps_the_trajectory() {
    if !p2p_available() {
        return;
    }
    let expected = melt().on(Backend::Local, 2).succeed().text("thermo.csv");
    let outcome = on_mpi("auto", 2).succeed();
    assert_eq!(outcome.text("thermo.csv"), expected);
    let choices = choices(&outcome.text("summary.json"));
    let contexts: Vec<&Value> = choices.iter().map(|choice| &choice["context"]).collect();
    assert_eq!(contexts, ["positions", "forces"]);
    for choice in &choices {
        let chosen = choice["chosen"].as_str().unwrap_or_else(|| panic!("{choice}"));
        assert!(names(choice).contains(&chosen) && names(choice)[0] == "p2p", "{choice}");
        assert!(choice["reason"].as_str().unwrap().contains(chosen), "{choice}");
        let timed = choice["candidates"].as_array().unwrap();
        let timed = timed.iter().find(|candidate| candidate["backend"] == chosen).unwrap();
        assert!(timed["median_s"].as_f64().unwrap() > 0.0, "{choice}");
        let line = format!("{}: {chosen}", choice["context"].as_str().unwrap());
        assert!(outcome.finished().stdout.contains(&line), "{}", outcome.report());
    }
    assert!(outcome.text("timing.csv").lines().skip(1).all(|row| row.contains(",auto,half,")));
}

#[test]
fn auto_says_when_the_run_is_too_short() {
    if !p2p_available() {
        return;
    }
    let outcome = on_mpi("auto", 2).set("simulation.steps=30").succeed();
    for choice in choices(&outcome.text("summary.json")) {
        assert!(choice.get("chosen").is_none(), "{choice}");
        assert!(choice["reason"].as_str().unwrap().starts_with("the run was too short"), "{choice}");
    }
    assert!(outcome.finished().stdout.contains("positions: not decided"), "{}", outcome.report());
}

#[test]
fn on_several_nodes_hybrid_takes_the_place_of_shm() {
    if !p2p_available() {
        return;
    }
    let short = |run: Run| run.set("simulation.steps=30");
    let small_nodes = |run: Run| short(run).environment("MD_RANKS_PER_NODE", "2");
    let expected = short(melt().on(Backend::Local, 3)).succeed().text("thermo.csv");
    for between in ["p2p", "neighbor-collective", "rma-notify"] {
        let run = small_nodes(on_mpi("hybrid", 3)).set(format!("parallel.between_nodes={between:?}"));
        assert_eq!(run.succeed().text("thermo.csv"), expected, "{between}");
    }
    let auto = small_nodes(on_mpi("auto", 3)).succeed();
    assert_eq!(auto.text("thermo.csv"), expected);
    for choice in choices(&auto.text("summary.json")) {
        assert!(names(&choice).contains(&"hybrid") && !names(&choice).contains(&"shm"), "{choice}");
    }
    let shm = small_nodes(on_mpi("shm", 3)).finish();
    assert!(
        !shm.finished().succeeded() && shm.finished().stderr.contains("between nodes"),
        "{}",
        shm.report()
    );
}

#[test]
fn a_nonsensical_node_size_is_named() {
    if !p2p_available() {
        return;
    }
    let outcome = on_mpi("hybrid", 2).environment("MD_RANKS_PER_NODE", "two").finish();
    let stderr = &outcome.finished().stderr;
    assert!(!outcome.finished().succeeded(), "{}", outcome.report());
    assert!(stderr.contains("MD_RANKS_PER_NODE is \"two\"; it must be a number of ranks from 1"), "{stderr}");
}
