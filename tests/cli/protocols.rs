//! `md-cli compare --protocols`: whole runs with each protocol and each partition, in the columns
//! of Matthey and Hansen.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available, starts};
use insta::assert_snapshot;

const COLUMNS: &str = "protocol,partition,ranks,cells_per_rank,communication_s,computation_s,update_s,total_s,speedup,messages,bytes";
const CALL: &str = "compare melt.toml --protocols all --steps 4 --repeat 1";

/// Returns a system of 2 x 2 x 4 cells, which protocols without ghosts need.
fn cells() -> Workdir {
    let long = MELT.replace("cells = [6, 5, 5]", "cells = [5, 5, 8]");
    Workdir::new(&long.replace("[output]", "[neighbor]\nmethod = \"cells\"\n\n[output]"))
}

/// Returns the rows of protocols.csv.
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
        assert_eq!((number(row, "ranks"), number(row, "cells_per_rank")), (2.0, 8.0), "{row:?}");
    }
    let [messages, bytes] =
        ["messages", "bytes"].map(|column| rows.iter().map(|row| number(row, column)).collect::<Vec<_>>());
    // In each of 4 steps each of two ranks sends particles out and forces back.
    assert!(messages[..7].iter().all(|&count| count == 16.0), "{messages:?}");
    assert!(messages[7..].iter().all(|&count| count > 64.0), "cells go one by one: {messages:?}");
    assert!(
        bytes[5] > 1.5 * bytes[1] && bytes[12] > 1.5 * bytes[8],
        "scattered cells have most neighbours: {bytes:?}"
    );
    assert!(bytes[6] < bytes[1], "one row of cells instead of two layers of ghosts: {bytes:?}");
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
        workdir.succeed(start, &format!("{CALL} --partitions stripe,scattered --quiet"));
        let counts = |row: &Vec<String>| [&row[..2], &row[9..]].concat();
        // How many requests of `dist` are postponed depends on the order of their arrival.
        let exact = |row: &&Vec<String>| row[0] != "dist";
        rows(&workdir).iter().filter(exact).map(counts).collect::<Vec<_>>()
    };
    assert_eq!(counts(Start::Mpirun(2)), counts(Start::Threads(2)));
}

#[test]
fn bad_input() {
    let workdir = cells();
    let said = |options: &str| error(&workdir, &format!("compare melt.toml {options}"), Start::Plain);
    assert_snapshot!(said("--protocols two"), @r"
    exit code 2
    error: --protocols has no `two`
    valid: `one`, `simple`, `dist`, `all`
    ");
    assert_snapshot!(said("--protocols all --partitions cubes"), @r"
    exit code 2
    error: --partitions has no `cubes`
    valid: `rect`, `stripe`, `rcb`, `hilbert`, `metis`, `scattered`, `all`
    ");
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

/// Impossible combinations are reported. If none is left, there is nothing to compare.
#[test]
fn what_a_protocol_does_not_take() {
    let workdir = cells();
    let call = format!("{CALL} --quiet --partitions stripe --set parallel.shell=full");
    assert_snapshot!(workdir.succeed(Start::Threads(2), &call).stderr, @r#"
    warning: left out: protocol `simple` takes no shell `full`; write `shell = "half"`, or `protocol = "one"`
    warning: left out: protocol `dist` takes no shell `full`; write `shell = "half"`, or `protocol = "one"`
    "#);
    assert_eq!(rows(&workdir).iter().map(|row| row[..2].join(" ")).collect::<Vec<_>>(), ["one stripe"]);
    let clusters = Workdir::new(MELT);
    assert_snapshot!(error_everywhere(&clusters, "compare melt.toml --protocols simple,dist", &starts()), @r#"
    exit code 2
    error: protocol `simple` takes no method `clusters`; write `method = "cells"`, or `protocol = "one"`
    protocol `dist` takes no method `clusters`; write `method = "cells"`, or `protocol = "one"`
    "#);
    assert_snapshot!(error(&workdir, "compare melt.toml --protocols simple --partitions rcb", Start::Threads(2)), @r#"
    exit code 2
    error: protocol `simple` takes no partition `rcb`; write `partition = "stripe"`, or `protocol = "one"`
    "#);
    let call = "compare melt.toml --protocols simple --partitions stripe,rcb";
    assert_snapshot!(error(&workdir, call, Start::Threads(3)), @r"
    exit code 2
    error: the protocol `simple` needs 6 layers of cells for 3 ranks, 2 for each, but there are 4
    ");
}
