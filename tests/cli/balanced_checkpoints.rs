//! Stopping and resuming while the work is balanced: the run continues with the division that it
//! had reached.

use crate::support::{Start, Workdir};

/// A hot droplet off centre that moves and expands. The work of equal parts of the box changes all
/// the time.
const DROPLET: &str = r#"[simulation]
timestep = 0.004

[system]
lattice = { kind = "fcc", density = 0.8, cells = [12, 12, 12], vapour = { density = 0.02, droplets = [{ centre = [0.3, 0.5, 0.6], radius = 6.5 }] } }
temperature = 6.0
drift = [9.0, 0.0, 0.0]

[neighbor]
rebuild = { displacement = true }
skin = 0.5

[parallel]
backend = "local"
balance = { every = 20, threshold = 1.0 }

[output]
directory = "out"
thermo = { every = 10 }
trajectory = { path = "t.extxyz", every = 50 }
"#;

/// Number of steps of the whole run.
const STEPS: u64 = 200;
const FIRST: u64 = 60;

/// Runs in two parts, with `parts` as the output folder.
fn in_parts(workdir: &Workdir, options: &str) {
    let run = |more: &str| {
        workdir.succeed(Start::Plain, &format!("run melt.toml --output parts --quiet {options} {more}"))
    };
    run(&format!("--steps {FIRST} --set output.checkpoint.every={FIRST}"));
    run(&format!("--steps {STEPS} --resume parts"));
}

fn expect_same_bits(workdir: &Workdir, [one, other]: [&str; 2], what: &str) {
    for file in ["thermo.csv", "t.extxyz"] {
        assert!(
            workdir.read(&format!("{one}/{file}")) == workdir.read(&format!("{other}/{file}")),
            "{what}: {file}"
        );
    }
}

/// Returns the rows of balance.csv, without the times.
fn balancings(workdir: &Workdir, folder: &str) -> Vec<String> {
    let text = workdir.read(&format!("{folder}/balance.csv"));
    let row = |row: &str| {
        let fields: Vec<&str> = row.split(',').collect();
        [&fields[..4], &fields[5..]].concat().join(",")
    };
    text.lines().skip(1).map(row).collect()
}

/// Checks that there are balancings before and after the step at which the run was stopped.
fn expect_both_sides(rows: &[String], what: &str) {
    let steps = rows.iter().filter_map(|row| row.split(',').next()?.parse::<u64>().ok());
    let (before, after): (Vec<u64>, Vec<u64>) = steps.partition(|&step| step < FIRST);
    assert!(!before.is_empty() && !after.is_empty(), "{what}: {rows:?}");
}

#[test]
fn balanced_runs_go_on_to_the_last_bit() {
    let workdir = Workdir::new(DROPLET);
    for (partition, ranks) in [
        ("rect --set parallel.grid=[2,1,1]", 2),
        ("rect --set parallel.grid=[2,2,1]", 4),
        ("stripe", 3),
        ("rcb", 3),
        ("rcb", 4),
        ("hilbert", 2),
        ("metis", 3),
    ] {
        let what = format!("--set parallel.ranks={ranks} --set parallel.partition={partition}");
        workdir
            .succeed(Start::Plain, &format!("run melt.toml --output whole --quiet {what} --steps {STEPS}"));
        in_parts(&workdir, &what);
        expect_same_bits(&workdir, ["whole", "parts"], &what);
        let [whole, parts] = ["whole", "parts"].map(|folder| balancings(&workdir, folder));
        expect_both_sides(&whole, &what);
        assert_eq!(whole, parts, "{what}");
    }
}

/// A division by measured times differs between runs. The balance.csv of both parts can be used to
/// repeat the divisions, in one run or from the checkpoint.
#[test]
fn balancings_of_two_parts_are_replayed() {
    let workdir = Workdir::new(DROPLET);
    let options =
        "--set parallel.partition=stripe --set parallel.ranks=3 --set parallel.balance.weights=time";
    in_parts(&workdir, options);
    let rows = balancings(&workdir, "parts");
    expect_both_sides(&rows, options);
    workdir.write("told.csv", &workdir.read("parts/balance.csv"));
    let call = format!("run melt.toml --quiet {options} --steps {STEPS} --replay told.csv");
    workdir.succeed(Start::Plain, &format!("{call} --output again"));
    expect_same_bits(&workdir, ["parts", "again"], options);
    let from = format!("{call} --output from --resume parts/checkpoint-{FIRST}.mdc");
    assert_eq!(workdir.succeed(Start::Plain, &from).stderr, "");
    let last = |folder: &str| workdir.read(&format!("{folder}/thermo.csv")).lines().last().map(str::to_owned);
    assert_eq!(last("from"), last("again"));
}

/// On other ranks or with another partition the work is divided anew, and balance.csv has only the
/// balancings of this run.
#[test]
fn on_other_ranks_balancing_begins_anew() {
    let workdir = Workdir::new(DROPLET);
    let run =
        |more: &str| workdir.succeed(Start::Plain, &format!("run melt.toml --output parts --quiet {more}"));
    run(&format!(
        "--set parallel.ranks=3 --set parallel.partition=stripe --steps {FIRST} --set output.checkpoint.every={FIRST}"
    ));
    for (ranks, partition) in [(2, "stripe"), (3, "rcb")] {
        let options = format!("--set parallel.ranks={ranks} --set parallel.partition={partition}");
        let call =
            format!("run melt.toml --output {partition} --quiet {options} --steps {STEPS} --resume parts");
        workdir.succeed(Start::Plain, &call);
        let rows = balancings(&workdir, partition);
        let is_later = |row: &String| {
            row.split(',').next().and_then(|step| step.parse().ok()).is_some_and(|step: u64| step >= FIRST)
        };
        assert!(!rows.is_empty() && rows.iter().all(is_later), "{rows:?}");
    }
}
