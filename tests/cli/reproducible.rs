//! `simulation.reproducible`, `output.hash`, `--verify-hash`, `--reverse`.

use crate::support::{MELT, Start, Workdir, error};

const SETS: &str = "--set simulation.reproducible=true --set output.hash.every=20";

fn workdir() -> Workdir {
    Workdir::new(&MELT.replace("[6, 5, 5]", "[7, 7, 7]"))
}

fn hashes(workdir: &Workdir, folder: &str) -> Vec<String> {
    let text = workdir.read(&format!("{folder}/hash.csv"));
    let row = |row: &str| row.split_once(',').map(|(_, hash)| hash.to_owned());
    text.lines().skip(1).filter_map(row).collect()
}

#[test]
fn a_resumed_run_has_the_hashes_of_the_whole_run_on_other_ranks() {
    let workdir = workdir();
    let checkpoints = "--set output.checkpoint.every=30";
    workdir.succeed(
        Start::Threads(2),
        &format!("run melt.toml --quiet --output whole --steps 60 {SETS} {checkpoints}"),
    );
    let call = format!(
        "run melt.toml --quiet --output resumed --steps 60 --resume whole/checkpoint-30.mdc --verify-hash whole/hash.csv {SETS}"
    );
    workdir.succeed(Start::Threads(3), &call);
    assert_eq!(workdir.read("resumed/hash.csv"), workdir.read("whole/hash.csv"));
    assert_eq!(hashes(&workdir, "whole").len(), 4);
    let said = workdir.succeed(
        Start::Threads(1),
        &call.replace("--quiet ", "").replace("--output resumed", "--output again"),
    );
    assert!(said.stdout.contains("hash.csv agrees with whole/hash.csv in 4 rows\n"), "{}", said.stdout);
}

#[test]
fn a_reversed_run_ends_where_the_first_began() {
    let workdir = workdir();
    workdir.succeed(Start::Threads(2), &format!("run melt.toml --quiet --output forth --steps 60 {SETS}"));
    let checkpoint = "--set output.checkpoint.every=60";
    workdir.succeed(
        Start::Threads(2),
        &format!("run melt.toml --quiet --output forth --steps 60 {SETS} {checkpoint}"),
    );
    let back = format!("run melt.toml --quiet --output back --steps 120 --reverse --resume forth {SETS}");
    workdir.succeed(Start::Threads(3), &back);
    let all = hashes(&workdir, "back");
    assert_eq!(all.len(), 7);
    assert_eq!(all[..4], hashes(&workdir, "forth"));
    let reversed: Vec<&String> = all.iter().rev().collect();
    assert_eq!(reversed, all.iter().collect::<Vec<_>>());
    assert_ne!(all[0], all[3]);
    let table = workdir.read("back/thermo.csv");
    let last = table.lines().last().unwrap_or_default();
    assert!(last.starts_with("120,0.0,"), "{last}");
}

#[test]
fn another_state_is_found() {
    let workdir = workdir();
    workdir.succeed(Start::Threads(1), &format!("run melt.toml --quiet --output first --steps 40 {SETS}"));
    let call = |more: &str| format!("run melt.toml --quiet --output second --steps 40 {SETS} {more}");
    let differs =
        workdir.call(Start::Threads(2), &call("--verify-hash first/hash.csv --set simulation.seed=8"));
    let [first, second] = ["first", "second"].map(|folder| hashes(&workdir, folder)[0].clone());
    assert_eq!(differs.code, Some(1));
    let text = format!("error: step 0: the hash is {second}, but {first} in first/hash.csv");
    assert!(differs.stderr.contains(&text), "{}", differs.stderr);
    workdir.write("none.csv", "step,hash\n7,00\n");
    let none = workdir.call(Start::Threads(1), &call("--verify-hash none.csv"));
    assert_eq!(none.code, Some(1));
    assert!(
        none.stderr.contains("error: no step is both in second/hash.csv and in none.csv"),
        "{}",
        none.stderr
    );
    workdir.write("wrong.csv", "step,hash\nseven\n");
    let wrong = workdir.call(Start::Threads(1), &call("--verify-hash wrong.csv"));
    assert_eq!(wrong.code, Some(2));
    let text = "cannot read `wrong.csv`: line 2 is `seven`, not a step and a hash";
    assert!(wrong.stderr.contains(text), "{}", wrong.stderr);
}

/// Settings and what is needed instead.
const REFUSED: [[&str; 2]; 8] = [
    ["neighbor.precision=mixed", "`neighbor.precision = \"double\"`"],
    ["neighbor.method=cells", "`neighbor.method = \"clusters\"`"],
    ["neighbor.method=direct-sum", "`neighbor.method = \"clusters\"`"],
    ["neighbor.rebuild={every=5}", "`neighbor.rebuild = { displacement = true }`, so that no pair is missed"],
    [
        "neighbor.rebuild={drift=1e-3}",
        "`neighbor.rebuild = { displacement = true }`, so that no pair is missed",
    ],
    ["integrator={kind=\"fire\"}", "another integrator than `fire`"],
    ["neighbor.shape=sse4.2", "fused multiply-add, which `sse4.2` does not have"],
    [
        "interaction={kind=\"sutton-chen\",epsilon=1.0,a=1.0,c=30.0,n=9,m=6,cutoff=2.5}",
        "forces of another kind than `sutton-chen`",
    ],
];

#[test]
fn what_is_not_reproducible_is_refused() {
    let workdir = workdir();
    for [set, needed] in REFUSED {
        let text = error(&workdir, &format!("run melt.toml {SETS} --set {set}"), Start::Threads(1));
        let text = text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        let expected = format!("`simulation.reproducible = true` needs {needed}");
        assert!(text.contains(&expected), "{set}: {text}");
        assert!(
            text.contains("change that setting, or leave `simulation.reproducible` out"),
            "{set}: {text}"
        );
    }
}

#[test]
fn what_cannot_be_reversed_or_compared_is_refused() {
    let workdir = workdir();
    let thermostat = "integrator={kind=\"csvr\",temperature=1.0,relaxation=1.0}";
    for (options, expected) in [
        ("--reverse".to_owned(), "error: `--reverse` needs `simulation.reproducible = true`"),
        (
            format!("--reverse {SETS} --set {thermostat}"),
            "error: `--reverse` needs the integrator `velocity-verlet`",
        ),
        (
            "--verify-hash a.csv".to_owned(),
            "error: `--verify-hash` compares hash.csv, which the scenario does not ask for; \
             add `--set output.hash.every=N`, with the N of the other run",
        ),
    ] {
        let text = error(&workdir, &format!("run melt.toml {options}"), Start::Threads(1));
        assert!(text.contains(expected), "{options}: {text}");
    }
}

/// Its positions are no multiples of a quantum.
#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let workdir = workdir();
    let checkpoint = "--quiet --set output.checkpoint.every=20";
    workdir.succeed(Start::Threads(2), &format!("run melt.toml --output rounded --steps 20 {checkpoint}"));
    let call = format!("run melt.toml --output exact --steps 40 --resume rounded {SETS}");
    let text = error(&workdir, &call, Start::Threads(2));
    let expected = "\nerror: a reproducible run needs a checkpoint of a reproducible run\n";
    assert!(text.starts_with("exit code 2\n") && text.ends_with(expected), "{text}");
}

#[test]
fn sums_that_would_not_be_exact_end_the_run() {
    let workdir = workdir();
    let hot = "--set system.temperature=1e6 --set simulation.timestep=1e-6";
    let text = error(&workdir, &format!("run melt.toml --steps 20 {hot} {SETS}"), Start::Threads(1));
    assert!(
        text.starts_with("exit code 1\nerror: rank 0: step 0: twice the kinetic energy is 4.1"),
        "{text}"
    );
    assert!(text.contains("and a reproducible run can add up only what is below 5.36870912e8"), "{text}");
}
