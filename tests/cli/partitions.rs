//! `md-cli partition`, and balance in `run`: their output, their files and their exit codes.

use crate::support::{Start, Workdir, error};
use insta::assert_snapshot;

/// A droplet off centre in 9 x 9 x 9 cells.
const DROPLET: &str = r#"[simulation]
steps = 12

[system]
lattice = { kind = "fcc", density = 0.8, cells = [15, 15, 15], vapour = { density = 0.02, droplets = [{ centre = [0.3, 0.5, 0.6], radius = 8.0 }] } }
temperature = 0.7

[parallel]
backend = "local"

[output]
directory = "out"
"#;

const COLUMNS: &str =
    "step,imbalance_before,imbalance_after,particles_moved,spent_s,won_s,division,ranks,partition,balancings";

#[test]
fn partitions_are_told_without_running() {
    let workdir = Workdir::new(DROPLET);
    workdir.succeed(
        Start::Plain,
        "partition melt.toml --ranks 4 --partitions rect,rcb,hilbert,scattered --quiet",
    );
    let table = workdir.read("out/partition.csv");
    let lines: Vec<&str> = table.lines().collect();
    let columns = "partition,ranks,work_imbalance,particle_imbalance,ghosts_max,ghosts_mean,neighbours_max,neighbours_mean,bytes_max,seconds";
    assert_eq!((lines[0], lines.len()), (columns, 5));
    let imbalance =
        |line: &str| line.split(',').nth(2).and_then(|number| number.parse::<f64>().ok()).unwrap_or(9.0);
    assert!(imbalance(lines[1]) > 1.3 && imbalance(lines[2]) < 1.1 && imbalance(lines[3]) < 1.1, "{table}");
    assert!(workdir.read("out/partition.svg").starts_with("<svg "));
}

/// On 256 ranks a part has the work of three of the heaviest cells, which are not divided.
#[test]
fn a_droplet_is_shared_out_evenly_on_many_ranks() {
    let workdir = Workdir::new(include_str!("../../configs/droplet.toml"));
    for ranks in [64, 256] {
        workdir.succeed(
            Start::Plain,
            &format!("partition melt.toml --ranks {ranks} --partitions rcb --output out --quiet"),
        );
        let table = workdir.read("out/partition.csv");
        let row = table.lines().last().unwrap_or_default();
        let imbalance = row.split(',').nth(2).and_then(|number| number.parse::<f64>().ok());
        assert!(imbalance.is_some_and(|found| found <= 1.05), "{table}");
    }
}

/// METIS prints complaints on standard output when it leaves parts without a cell. With few heavy
/// cells per part it is never called for all parts at once.
#[test]
fn nothing_but_the_table_is_printed() {
    let workdir = Workdir::new(DROPLET);
    for ranks in [60, 120, 300, 729] {
        let call = format!("partition melt.toml --ranks {ranks} --partitions metis --set neighbor.skin=0.3");
        let said = workdir.succeed(Start::Plain, &call);
        let lines: Vec<&str> = said.stdout.lines().collect();
        assert_eq!((lines.len(), said.stderr.as_str()), (3, ""), "{said:?}");
        assert!(
            lines[0].starts_with("partition ") && lines[2].trim_start().starts_with("metis "),
            "{said:?}"
        );
    }
}

#[test]
fn more_ranks_than_cells() {
    let workdir = Workdir::new(DROPLET);
    assert_snapshot!(error(&workdir, "partition melt.toml --ranks 4096 --partitions rcb --set neighbor.skin=0.3", Start::Plain), @r"
    exit code 2
    error: rcb is left out: the box is too thin for the ranks: 4096 ranks, but only 729 cells of at least cutoff + skin
    ");
}

#[test]
fn a_balanced_run_says_so_and_can_be_replayed() {
    let workdir = Workdir::new(DROPLET);
    let options = "--set parallel.ranks=3 --set parallel.partition=stripe --set parallel.balance.every=5";
    let timed = format!(
        "{options} --set parallel.balance.weights=time --set output.trajectory.path=t.extxyz --set output.trajectory.every=12"
    );
    let printed = workdir.succeed(Start::Plain, &format!("run melt.toml {timed}"));
    assert!(printed.stdout.contains("\nBalanced "), "{printed:?}");
    let first = workdir.read("out/t.extxyz");
    let told = workdir.read("out/balance.csv");
    assert!(told.starts_with(&format!("{COLUMNS}\n5,")), "{told}");
    assert!(workdir.read("out/summary.json").contains("\"imbalance_first\""));
    workdir.write("told.csv", &told);
    workdir.succeed(Start::Plain, &format!("run melt.toml {timed} --replay told.csv --quiet"));
    assert_eq!(workdir.read("out/t.extxyz"), first);
}

#[test]
fn balancings_of_another_run_are_refused_with_their_line() {
    const TIMED: &str =
        "--set parallel.partition=stripe --set parallel.balance.every=5 --set parallel.balance.weights=time";
    let workdir = Workdir::new(DROPLET);
    let three = format!("--set parallel.ranks=3 {TIMED}");
    workdir.succeed(Start::Plain, &format!("run melt.toml --quiet {three}"));
    let (told, old) = (workdir.read("out/balance.csv"), workdir.read("out/summary.json"));
    let rows = told.lines().count() - 1;
    let said = |text: &str, options: &str| {
        workdir.write("told.csv", text);
        let error = error(&workdir, &format!("run melt.toml {options} --replay told.csv"), Start::Plain);
        let reason = error.strip_prefix("exit code 2\nerror: cannot read `told.csv`: ");
        reason.unwrap_or(&error).to_owned()
    };
    assert_eq!(said("", &three), "it is empty: it has no line of column names\n");
    let cut = format!("line {} ends without a newline: the file is cut\n", rows + 1);
    assert_eq!(said(told.trim_end(), &three), cut);
    assert_eq!(
        said("step,time\n1,2\n", &three),
        format!("line 1 does not have the columns of balance.csv, `{COLUMNS}`\n")
    );
    assert_eq!(
        said(&told, &format!("--set parallel.ranks=2 {TIMED}")),
        "line 2: it is of a run on 3 ranks with partition `stripe`, and this one has 2 with `stripe`\n"
    );
    assert_eq!(
        said(&told, &three.replace("stripe", "rect")),
        "line 2: it is of a run on 3 ranks with partition `stripe`, and this one has 3 with `rect`\n"
    );
    assert_eq!(workdir.read("out/summary.json"), old, "results stay as long as nothing else is computed");
    assert_eq!(
        said(&told.replacen("\n5,", "\n6,", 1), &three),
        "line 2: step 6 is none of those at which this run looks, every 5; it is of a run of another scenario\n"
    );
    let first: Vec<&str> = told.lines().nth(1).into_iter().flat_map(|row| row.split(',')).collect();
    assert_eq!(
        said(&told.replacen(first[6], "0+1:0", 1), &three),
        "line 2: the division of step 5 does not follow: `0+1:0` gives rank 0 cells that it has already; it is of a run of \
         another scenario\n"
    );
    workdir.write("told.csv", &told);
    let short =
        workdir.succeed(Start::Plain, &format!("run melt.toml {three} --steps 5 --replay told.csv --quiet"));
    assert_eq!(
        short.stderr,
        format!(
            "warning: {rows} of {rows} balancings in the file of --replay were not reached: the run ended after step 5\n"
        )
    );
}

/// One of two ranks has nearly all of the work, however long it takes.
#[test]
fn an_uneven_division_is_advised_about() {
    let workdir =
        Workdir::new(&DROPLET.replace("[0.3, 0.5, 0.6], radius = 8.0", "[0.25, 0.5, 0.5], radius = 6.0"));
    let call = "run melt.toml --set parallel.grid=[2,1,1] --set parallel.balance=\"off\"";
    let printed = workdir.succeed(Start::Threads(2), call).stdout;
    let (_, advice) = printed.split_once("\nAdvice: ").unwrap_or_else(|| panic!("{printed}"));
    let advice = advice.split("\n\n").next().unwrap();
    let words: Vec<&str> = advice.split_whitespace().collect();
    let remedy = "divide the work by what it costs, with parallel.balance or parallel.partition";
    assert!(words.join(" ").ends_with(remedy), "{printed}");
}
