//! Every transport moves the same bytes: trajectories are bit-identical, with several rebuilds and
//! migrations, on every partition, and while the work is balanced.

use crate::support::{Backend, Outcome, RESTLESS_MELT, Run, p2p_available};

/// Returns the backends that need MPI, by their names in a scenario.
fn mpi_backends() -> Vec<&'static str> {
    let over_mpi = |backend: &&md_comm::Backend| **backend != md_comm::Backend::Local;
    let names = md_comm::Backend::ALL.iter().filter(over_mpi).map(|backend| backend.name());
    names.collect()
}

fn thermo_text(run: &Run) -> String {
    run.succeed().text("thermo.csv")
}

fn check(ranks: usize, settings: &[&str]) {
    let run = settings.iter().fold(Run::new("run", RESTLESS_MELT), |run, setting| run.set(*setting));
    let expected = thermo_text(&run.clone().on(Backend::Local, ranks));
    for name in mpi_backends() {
        let here = run.clone().on(Backend::P2p, ranks).set(format!("parallel.backend={name:?}"));
        assert_eq!(thermo_text(&here), expected, "{name} on {ranks} ranks with {settings:?}");
    }
}

/// Options that move the same bytes in other ways.
const OPTIONS: [(&str, &[&str]); 11] = [
    ("rma-fence", &["operation=get", "asserts=true"]),
    ("rma-pscw", &["windows=per-edge", "asserts=true"]),
    ("rma-lock", &["operation=get", "window=create", "slots=1"]),
    ("rma-notify", &["polling=strict", "window=create"]),
    ("rma-ring", &["ring=shared", "slots=1"]),
    ("shm", &["slots=1"]),
    ("rma-fence", &["epoch=initiate", "arrivals=copied"]),
    ("rma-pscw", &["epoch=initiate", "slots=1"]),
    ("rma-lock-epoch", &["epoch=initiate", "notice=neighbor-barrier"]),
    ("rma-barrier", &["barriers=per-message"]),
    ("rma-lock", &["puts=three", "windows=per-edge"]),
];

#[test]
fn every_option() {
    if !p2p_available() {
        return;
    }
    let expected = thermo_text(&Run::new("run", RESTLESS_MELT).on(Backend::Local, 3));
    for (name, options) in OPTIONS {
        let here =
            Run::new("run", RESTLESS_MELT).on(Backend::P2p, 3).set(format!("parallel.backend={name:?}"));
        let here = options.iter().fold(here, |run, option| run.set(format!("parallel.rma.{option}")));
        assert_eq!(thermo_text(&here), expected, "{name} with {options:?}");
    }
}

#[test]
fn every_backend() {
    if p2p_available() {
        check(2, &["parallel.shell=eighth", "parallel.exchange=staged"]);
        check(3, &["parallel.partition=stripe", "parallel.shell=half"]);
    }
}

/// A box of 8 x 7 x 4 cells.
const BOX: &str = r#"
lattice = { kind = "fcc", density = 0.8442, cells = [14, 12, 7] }
temperature = 1.44
"#;

/// A plane of 7 x 7 cells.
const PLANE: &str = r#"
lattice = { kind = "hex", spacing = 1.1, cells = [18, 11, 1] }
temperature = 1.0
"#;

/// All partitions on 2 to 16 ranks, with the backends in turn. Shells, exchanges, methods,
/// precisions and dimensions vary along with them. The forces of all divisions are checked in
/// md-engine/tests/decomposition/partitions.rs.
#[test]
fn every_partition() {
    if !p2p_available() {
        return;
    }
    let backends = mpi_backends();
    let divisions = ["rect", "stripe", "rcb", "hilbert", "metis", "scattered"]
        .into_iter()
        .flat_map(|partition| [1, 2, 3, 4, 7, 8, 16].map(|ranks| (partition, ranks)));
    for (turn, (partition, ranks)) in divisions.enumerate() {
        let (dimension, system) = [(3, BOX), (2, PLANE)][turn / 2 % 2];
        let (method, precision) =
            [("clusters", "double"), ("cells", "double"), ("clusters", "mixed")][turn / 3 % 3];
        let scenario = format!(
            "[simulation]\nsteps = 12\nseed = 3\ndimension = {dimension}\n[system]{system}\
             [neighbor]\nrebuild = {{ every = 4 }}\nmethod = {method:?}\nprecision = {precision:?}\n\
             [parallel]\npartition = {partition:?}\nshell = {:?}\nexchange = {:?}\n\
             [output]\nthermo = {{ every = 4 }}\n",
            ["full", "half", "eighth"][turn % 3],
            ["direct", "staged"][turn % 2],
        );
        let run = Run::new("run", scenario);
        let expected = thermo_text(&run.clone().on(Backend::Local, ranks));
        let name = backends[turn % backends.len()];
        let here = run.on(Backend::P2p, ranks).set(format!("parallel.backend={name:?}"));
        assert_eq!(thermo_text(&here), expected, "{}", here.case());
    }
}

/// A droplet off centre in 9 x 9 x 9 cells, whose work the ranks share unevenly at first.
const DROPLET: &str = r#"
[simulation]
steps = 20
[system]
lattice = { kind = "fcc", density = 0.8, cells = [15, 15, 15], vapour = { density = 0.02, droplets = [{ centre = [0.3, 0.5, 0.6], radius = 7.0 }] } }
temperature = 0.7
[parallel]
partition = "stripe"
balance = { every = 5, threshold = 1.02 }
[output]
thermo = { every = 5 }
trajectory = { path = "traj.extxyz", every = 20 }
"#;

/// Returns the text of the trajectory.
fn trajectory(outcome: &Outcome) -> [String; 2] {
    ["thermo.csv", "traj.extxyz"].map(|file| outcome.text(file))
}

/// Returns the outcome of a run in which particles change rank to balance the work, and checks that
/// the trajectory differs from the one without balancing.
fn balanced(run: &Run, ranks: usize) -> Outcome {
    let outcome = run.clone().on(Backend::Local, ranks).succeed();
    let moved = outcome.summary()["balance"]["particles_moved"].as_u64();
    assert!(moved.is_some_and(|moved| moved > 0), "{}: nothing was balanced", outcome.case());
    let unbalanced = run.clone().set("parallel.balance=\"off\"").on(Backend::Local, ranks).succeed();
    assert!(trajectory(&unbalanced) != trajectory(&outcome), "another division has another order of sums");
    outcome
}

/// Checks that every backend gives the expected trajectory.
fn assert_alike(run: &Run, ranks: usize, expected: &Outcome) {
    for name in mpi_backends() {
        let here = run.clone().on(Backend::P2p, ranks).set(format!("parallel.backend={name:?}"));
        // assert_eq! would print the trajectories.
        let is_same = trajectory(&here.succeed()) == trajectory(expected);
        assert!(is_same, "{}: another trajectory", here.case());
    }
}

#[test]
fn balanced_by_pairs() {
    if !p2p_available() {
        return;
    }
    for (ranks, partition) in [(2, "rect"), (3, "stripe"), (4, "metis")] {
        let run = Run::new("run", DROPLET).set(format!("parallel.partition={partition:?}"));
        assert_alike(&run, ranks, &balanced(&run, ranks));
    }
}

/// A division that was decided once by measured times can be repeated over every backend.
#[test]
fn balanced_by_time_and_replayed() {
    if !p2p_available() {
        return;
    }
    let run = Run::new("run", DROPLET).set("parallel.balance.weights=\"time\"");
    let timed = balanced(&run, 3);
    let told = timed.path("balance.csv").display().to_string();
    assert_alike(&run.argument("--replay").argument(told), 3, &timed);
}

/// The last output of a job that aborts appears in the report of a failed test.
#[test]
fn a_job_that_waits_for_too_long_says_so() {
    if !p2p_available() {
        return;
    }
    // The watchdog looks at the ranks now and then, so the run must not be over before it does.
    let long = Run::new("run", RESTLESS_MELT).set("simulation.steps=100000");
    let run = long.on(Backend::P2p, 3).set("parallel.watchdog_s=1e-6");
    let outcome = run.finish();
    assert_eq!(outcome.code(), Some(3), "{}", outcome.report());
    assert!(outcome.finished().stderr.contains(" waited "), "{}", outcome.report());
}
