//! `md-cli compare --protocols`: whole runs by each protocol with each partition, in the columns of Matthey and Hansen.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available, starts};
use insta::assert_snapshot;

const COLUMNS: &str = "protocol,partition,ranks,cells_per_rank,communication_s,computation_s,update_s,total_s,speedup,messages,bytes";
const CALL: &str = "compare melt.toml --protocols all --steps 4 --repeat 1";

/// With cells, as protocols without ghosts need.
fn cells() -> Workdir {
    Workdir::new(&MELT.replace("[output]", "[neighbor]\nmethod = \"cells\"\n\n[output]"))
}

/// The rows of protocols.csv.
fn rows(workdir: &Workdir) -> Vec<Vec<String>> {
    let text = workdir.read("out/protocols.csv");
    assert_eq!(text.lines().next(), Some(COLUMNS));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn number(row: &[String], column: &str) -> f64 {
    row[COLUMNS.split(',').position(|name| name == column).unwrap()].parse().unwrap()
}

#[test]
fn all_protocols_with_all_partitions() {
    let workdir = cells();
    let said = workdir.succeed(Start::Threads(2), &format!("{CALL} --partitions all"));
    assert_eq!(said.stderr, "");
    assert_eq!(workdir.files("out"), ["protocols.csv", "scenario.toml"]);
    let rows = rows(&workdir);
    let partitions = ["rect", "stripe", "rcb", "hilbert", "metis", "scattered"];
    let all = |protocol: &str| partitions.map(|partition| format!("{protocol} {partition}"));
    let expected = [&all("one")[..], &["simple stripe".to_owned()], &all("dist")].concat();
    assert_eq!(rows.iter().map(|row| row[..2].join(" ")).collect::<Vec<_>>(), expected);
    for row in &rows {
        let [communication, computation, update, total] =
            ["communication_s", "computation_s", "update_s", "total_s"].map(|column| number(row, column));
        assert!(communication > 0.0 && computation > 0.0 && update > 0.0, "{row:?}");
        assert!(communication + computation + update <= total && number(row, "speedup") > 0.0, "{row:?}");
        // 3 x 2 x 2 cells.
        assert_eq!((number(row, "ranks"), number(row, "cells_per_rank")), (2.0, 6.0), "{row:?}");
    }
    let messages = |row: usize| number(&rows[row], "messages");
    // A step: rows out and back between two ranks.
    assert_eq!(messages(6), 4.0 * 2.0 * 2.0, "{:?}", rows[6]);
    assert!(messages(7) > messages(6), "cells go one by one: {rows:?}");
    assert!(said.stdout.contains("\nprotocol  partition  communication s"), "{}", said.stdout);
    assert!(said.stdout.contains("Gain of one over dist: "), "{}", said.stdout);
}

#[test]
fn over_mpi_messages_are_those_of_threads() {
    if !p2p_available() {
        return;
    }
    let workdir = cells();
    let counts = |start: Start| {
        workdir.succeed(start, &format!("{CALL} --partitions stripe,rcb --quiet"));
        let counts = |row: &Vec<String>| [&row[..2], &row[9..]].concat();
        rows(&workdir).iter().map(counts).collect::<Vec<_>>()
    };
    assert_eq!(counts(Start::Mpirun(2)), counts(Start::Threads(2)));
}

#[test]
fn bad_input() {
    let workdir = cells();
    let said = |options: &str| error(&workdir, &format!("compare melt.toml {options}"), Start::Plain);
    assert_snapshot!(said("--protocols two"), @"");
    assert_snapshot!(said("--protocols all --partitions cubes"), @"");
    for (option, values) in [
        ("--shells", "full"),
        ("--exchanges", "staged"),
        ("--vary", "parallel.rma.slots=1,2"),
        ("--trace", "t.json"),
    ] {
        let expected = format!("exit code 2\nerror: {option} has no meaning beside --protocols\n");
        assert_eq!(said(&format!("--protocols all {option} {values}")), expected);
    }
}

/// What a combination cannot be is said; where none is left there is nothing to compare.
#[test]
fn what_no_protocol_takes() {
    let workdir = cells();
    let left_out = |options: &str| {
        let said = workdir.succeed(Start::Threads(2), &format!("{CALL} --quiet {options}"));
        said.stderr
    };
    assert_snapshot!(left_out("--set parallel.shell=full"), @"");
    let clusters = Workdir::new(MELT);
    assert_snapshot!(error_everywhere(&clusters, "compare melt.toml --protocols simple,dist", &starts()), @"");
    assert_snapshot!(error(&workdir, "compare melt.toml --protocols simple --set parallel.ranks=50 --set parallel.backend=local", Start::Plain), @"");
}
