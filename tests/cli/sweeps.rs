//! `sweep`: many jobs, one table.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Stdio};

use crate::support::{MELT, Said, Start, Workdir, p2p_available};
use insta::assert_snapshot;

/// A sweep whose ranks are threads.
const LOCAL: &str = "sweep melt.toml --output s --backends local --repeat 2";

/// Returns some columns of every row.
fn rows(workdir: &Workdir, columns: &[&str]) -> Vec<Vec<String>> {
    let text = workdir.read("s/sweep.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let place = |column: &&str| names.iter().position(|name| name == *column).unwrap();
    let places: Vec<usize> = columns.iter().map(place).collect();
    let row = |record: csv::StringRecord| places.iter().map(|&place| record[place].to_owned()).collect();
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn a_row_per_job_and_none_is_run_twice() {
    let workdir = Workdir::new(MELT);
    let said = workdir.succeed(Start::Plain, &format!("{LOCAL} --ranks 1,2 --atoms 500,1000"));
    let key = ["backend", "shell", "ranks", "threads", "atoms", "steps"];
    let expected = [["1", "480"], ["1", "1008"], ["2", "480"], ["2", "1008"]];
    let found = rows(&workdir, &key);
    for (row, [ranks, _]) in found.iter().zip(expected) {
        assert_eq!(row[..4], ["local", "half", ranks, "1"]);
        assert_eq!(row[5], "20");
    }
    assert_eq!(found.len(), 4);
    for row in rows(
        &workdir,
        &["step_low_s", "step_median_s", "step_high_s", "atom_steps_per_s", "total_s", "force_s"],
    ) {
        let values: Vec<f64> = row.iter().map(|value| value.parse().unwrap()).collect();
        assert!(values.iter().all(|&value| value > 0.0) && values[..3].is_sorted(), "{values:?}");
        assert!(values[4] <= 1.5 * values[2] && values[5] < values[4], "{values:?}");
    }
    assert_eq!(workdir.files("s"), ["scenario.toml", "sweep.csv", "sweep.svg"]);
    assert_eq!(said.stdout.lines().count(), 4, "{said:?}");
    let table = workdir.read("s/sweep.csv");
    let more = workdir.succeed(Start::Plain, &format!("{LOCAL} --ranks 1,2,3 --atoms 1000"));
    let there = more.stdout.lines().filter(|line| line.ends_with(": is there")).count();
    assert_eq!((there, more.stdout.lines().count()), (2, 3), "{more:?}");
    assert!(workdir.read("s/sweep.csv").starts_with(&table));
    assert_eq!(rows(&workdir, &["ranks"]).len(), 5);
    let other = workdir.call(Start::Plain, &format!("{LOCAL} --set neighbor.skin=0.4"));
    let expected = "error: `s` holds a sweep of another scenario (scenario.toml)\nchoose another directory with --output DIR\n";
    assert_eq!((other.code, other.stderr.as_str()), (Some(2), expected));
    std::fs::rename(workdir.path("s"), workdir.path("moved")).unwrap();
    let moved = LOCAL.replace("--output s", "--output moved");
    let moved = workdir.succeed(Start::Plain, &format!("{moved} --ranks 1,2,3 --atoms 1000"));
    assert_eq!(moved.stdout.lines().filter(|line| line.ends_with(": is there")).count(), 3, "{moved:?}");
    assert!(workdir.read("moved/scenario.toml").contains("directory = \"moved\""));
}

#[test]
fn with_weak_scaling_the_size_grows_with_the_ranks() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Plain, &format!("{LOCAL} --ranks 1,2 --atoms 500 --weak"));
    let atoms: Vec<u64> = rows(&workdir, &["atoms"]).iter().map(|row| row[0].parse().unwrap()).collect();
    assert!((480..=520).contains(&atoms[0]) && atoms[1] == 2 * atoms[0], "{atoms:?}");
}

#[test]
fn over_mpi_with_the_users_launcher() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let mut command =
        workdir.command(Start::Plain, "sweep melt.toml --output s --ranks 2 --backends p2p,shm --repeat 1");
    command.args(["--launcher", "mpirun --oversubscribe --bind-to none -n {ranks}"]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let said = Said::of(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(rows(&workdir, &["backend", "ranks"]), [["p2p", "2"], ["shm", "2"]]);
    // Without a launcher, the default one is used, with permission to run as root and on fewer
    // cores.
    let said = workdir.call(Start::Plain, "sweep melt.toml --output d --ranks 2 --backends p2p --repeat 1");
    assert_eq!(said.code, Some(0), "{said:?}");
    // A launcher that ignores the number of ranks.
    let mut command =
        workdir.command(Start::Plain, "sweep melt.toml --output f --ranks 2 --backends p2p --repeat 1");
    command.args(["--launcher", "mpirun --oversubscribe --bind-to none -n 1"]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let said = Said::of(command);
    assert_eq!(said.code, Some(3), "{said:?}");
    let reason = ": failed: it was to have ranks 2, but ran with 1: see --launcher\n";
    assert!(said.stdout.contains(reason), "{said:?}");
}

#[test]
fn jobs_that_fail_are_named_and_others_go_on() {
    let workdir = Workdir::new(MELT);
    let said = workdir.call(
        Start::Plain,
        "sweep melt.toml --output s --backends p2p,local --ranks 1,50 --repeat 1 --launcher no-such-launcher",
    );
    assert_eq!(
        (said.code, said.stderr.as_str()),
        (Some(2), "error: cannot start `no-such-launcher`: No such file or directory (os error 2)\n")
    );
    let said = workdir.call(
        Start::Plain,
        "sweep melt.toml --output s --backends p2p,local --ranks 1,500 --repeat 1 --launcher false",
    );
    assert_eq!(said.code, Some(3), "{said:?}");
    let job = "[1/2] 1 rank x 1 thread, 600 atoms, p2p half direct rect: exit code 1";
    assert_eq!(said.stderr, format!("error: 1 of 2 jobs failed; the same command tries them again\n{job}\n"));
    assert!(said.stdout.contains("left out: 500 ranks, 600 atoms, p2p half direct rect: "), "{said:?}");
    assert!(said.stdout.contains(": failed: exit code 1\n"), "{said:?}");
    assert_eq!(rows(&workdir, &["backend", "ranks"]), [["local", "1"]]);
    let said =
        workdir.call(Start::Plain, "sweep melt.toml --output s --backends p2p --repeat 1 --launcher true");
    assert!(
        said.stdout.contains(": failed: it has left no timing.csv: No such file or directory "),
        "{said:?}"
    );
    assert_eq!(
        workdir.files("s"),
        [".md-cli.job", "scenario.toml", "sweep.csv", "sweep.svg"],
        "nothing was said"
    );
    // A launcher that prints the cause first, in a frame.
    workdir.write(
        "launcher.sh",
        "printf -- '-----\\nwarning: late\\nThere are not enough slots.\\n\\nGet some.\\n----\\n'; exit 1\n",
    );
    let mut command = workdir.command(Start::Plain, "sweep melt.toml --output s --backends p2p --repeat 1");
    command.args(["--launcher", "sh launcher.sh"]);
    let said = Said::of(command);
    let job =
        "[1/1] 1 rank x 1 thread, 600 atoms, p2p half direct rect: exit code 1: There are not enough slots.";
    let where_it_is = "all that was said: s/sweep_failures.txt";
    assert_eq!(
        said.stderr,
        format!("error: 1 of 1 jobs failed; the same command tries them again\n{job}\n{where_it_is}\n")
    );
    let failures = workdir.read("s/sweep_failures.txt");
    assert!(failures.starts_with(&format!("{job}\n\n-----\nwarning: late\n")), "{failures}");
    assert!(failures.ends_with("Get some.\n----\n\n"), "{failures}");
    let said = workdir.call(Start::Plain, "sweep melt.toml --output melt.toml --backends local");
    assert!(said.stderr.starts_with("error: cannot create the output directory `melt.toml`: "), "{said:?}");
}

#[test]
fn a_signal_leaves_a_valid_table() {
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 300"));
    let mut command = workdir.command(Start::Plain, &format!("{LOCAL} --ranks 1 --atoms 500,200000"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    workdir.wait_for_lines("s/sweep.csv", 2);
    let killed = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(143), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(said, "error: ended by SIGTERM after 1 of 2 jobs; the same command goes on\n");
    assert_eq!(rows(&workdir, &["ranks"]).len(), 1);
}

/// A failure that would occur again is reported as bad input, with the reasons on standard error.
#[test]
fn jobs_that_cannot_be() {
    let workdir = Workdir::new(MELT);
    let quiet = "sweep melt.toml --output s --repeat 1 --quiet";
    workdir.write("launcher.sh", "echo 'error: no such thing' >&2\nexit 2\n");
    let mut command = workdir.command(Start::Plain, &format!("{quiet} --backends p2p"));
    command.args(["--launcher", "sh launcher.sh"]);
    let said = Said::of(command);
    let job = "[1/1] 1 rank x 1 thread, 600 atoms, p2p half direct rect: exit code 2: error: no such thing";
    let expected = format!(
        "error: 1 of 1 jobs cannot run as they are asked for\n{job}\nall that was said: s/sweep_failures.txt\n"
    );
    assert_eq!((said.code, said.stdout, said.stderr), (Some(2), String::new(), expected));
    let error = |options: &str| {
        let said = workdir.call(Start::Plain, &format!("{quiet} --backends local {options}"));
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        said.stderr
    };
    assert!(
        error("--threads 65536")
            .starts_with("error: invalid value '65536' for '--threads <N,M>': 65536 is not in 1..=1024\n")
    );
    assert_snapshot!(error("--threads 2,1024 --ranks 1024"), @r"
    error: no job is possible
    1024 ranks, 600 atoms, local half direct rect: 1024 ranks with 2 threads each are more than 1024 threads; more threads than cores are slower than fewer; many ranks are started by `mpirun`
    1024 ranks, 600 atoms, local half direct rect: 1024 ranks with 1024 threads each are more than 1024 threads; more threads than cores are slower than fewer; many ranks are started by `mpirun`
    ");
    let small = error("--atoms 1");
    let begin =
        "error: no job is possible\n1 rank, 1 atom, local half direct rect: melt.toml: the box is 1.67";
    assert!(small.starts_with(begin), "{small}");
}

/// Sweeps a stencil whose grid grows with the ranks, and a flow whose mask is next to its scenario.
#[test]
fn grids_are_swept_too() {
    let workdir =
        Workdir::new("[stencil]\nkind = \"swap\"\nfields = 2\ngrid_per_rank = [8, 6, 4]\nsteps = 5\n");
    let said = workdir.succeed(Start::Plain, &format!("{LOCAL} --ranks 1,2 --exchanges direct,staged"));
    let columns = ["backend", "exchange", "field_messages", "ranks", "threads", "nodes", "steps"];
    let nodes = |rows: &[Vec<String>]| rows.iter().map(|row| row[5].clone()).collect::<Vec<_>>();
    let found = rows(&workdir, &columns);
    assert_eq!(found.len(), 4);
    assert_eq!(found[0][..5], ["local", "direct", "aggregated", "1", "1"]);
    assert_eq!((&nodes(&found)[0][..], &found[3][1][..]), ("8x6x4", "staged"));
    assert_ne!(nodes(&found)[2], nodes(&found)[0], "two blocks");
    for row in rows(&workdir, &["step_low_s", "step_median_s", "step_high_s", "updates_per_s", "total_s"]) {
        let values: Vec<f64> = row.iter().map(|value| value.parse().unwrap()).collect();
        assert!(values.iter().all(|&value| value > 0.0) && values[..3].is_sorted(), "{values:?}");
    }
    assert_eq!(workdir.files("s"), ["scenario.toml", "sweep.csv", "sweep.svg"]);
    assert!(workdir.read("s/sweep.svg").contains("Weak scaling"), "the grid grows");
    assert!(said.stdout.lines().all(|line| line.ends_with(" updates/s")), "{said:?}");
    let again = workdir.succeed(Start::Plain, &format!("{LOCAL} --ranks 1,2 --exchanges direct,staged"));
    assert!(again.stdout.lines().all(|line| line.ends_with(": is there")), "{again:?}");
    let error = |options: &str| {
        let said = workdir.call(Start::Plain, &format!("{LOCAL} --quiet {options}"));
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        said.stderr
    };
    assert_snapshot!(error("--atoms 1000"), @"error: --atoms is for scenarios of particles, and this one has a grid: the scenario says how many nodes there are");
    assert_snapshot!(error("--shells full"), @"error: --shells is for scenarios of particles, and this one has a grid");
    assert_snapshot!(error("--threads 2"), @r"
    error: no job is possible
    1 rank, local direct: a stencil works with one thread per rank, found 2
    ");
    workdir.write(
        "melt.toml",
        "[lbm]\ngrid = [8, 6, 4]\nviscosity = 0.1\nsteps = 5\nobstacle = { kind = \"mask\", path = \"mask.txt\" }\n",
    );
    let mask: Vec<&str> = (0..8 * 6 * 4).map(|node| if node == 50 { "1" } else { "0" }).collect();
    workdir.write("mask.txt", &format!("8 6 4\n{}\n", mask.join(" ")));
    let call = "sweep melt.toml --output s --backends local --repeat 1 --ranks 2 --threads 1,2";
    std::fs::remove_dir_all(workdir.path("s")).unwrap();
    workdir.succeed(Start::Plain, call);
    assert_eq!(rows(&workdir, &["ranks", "threads", "nodes"]), [["2", "1", "8x6x4"], ["2", "2", "8x6x4"]]);
}
