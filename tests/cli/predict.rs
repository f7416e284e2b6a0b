//! `md-cli predict`: what it prints and writes, and how it ends.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available};
use insta::assert_snapshot;

const COLUMNS: &str = "backend,shell,exchange,partition,ranks,atoms,messages,bytes,step_s,step_low_s,step_high_s,integrate_s,\
    migrate_s,border_s,neighbor_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_s,force_return_s,rebuild_s,mean_s,\
    grid,ranks_per_node,placement,scaling,threads,precision,seed,version";

const MACHINE: &str = r#"[[message]]
backend = "p2p"
distance = "node"
from_bytes = 0
latency_s = 1e-6
overhead_s = 2e-7
seconds_per_byte = 1e-10

[[message]]
backend = "shm"
distance = "node"
from_bytes = 0
latency_s = 2e-7
overhead_s = 5e-8
seconds_per_byte = 5e-11

[[message]]
backend = "p2p"
distance = "network"
from_bytes = 0
latency_s = 2e-5
overhead_s = 1e-6
seconds_per_byte = 1e-9

[[compute]]
method = "clusters"
precision = "double"
per_computed_pair = { seconds = 1e-9, relative_residual = 0.05 }
per_particle = { seconds = 3e-9 }
per_ghost_packed = { seconds = 1e-9 }
per_ghost_unpacked = { seconds = 1e-9 }
"#;

fn workdir() -> Workdir {
    let workdir = Workdir::new(MELT);
    workdir.write("machine.toml", MACHINE);
    workdir
}

/// Some columns of a table, row by row.
fn rows(text: &str, columns: &[&str]) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let places: Vec<usize> =
        columns.iter().map(|column| header.iter().position(|name| name == *column).unwrap()).collect();
    let row =
        |record: csv::StringRecord| places.iter().map(|&place| &record[place]).collect::<Vec<_>>().join(" ");
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn messages_and_bytes_are_those_of_compare() {
    let workdir = workdir();
    let own = "backend shell exchange messages bytes atoms grid";
    let own: Vec<&str> = own.split(' ').collect();
    let said = workdir.succeed(
        Start::Plain,
        "predict melt.toml --ranks 2 --machine machine.toml --shells all --exchanges all --backends p2p --output predicted",
    );
    assert_eq!(said.stderr, "");
    assert_eq!(workdir.files("predicted"), ["predict.csv", "predict.svg", "scenario.toml"]);
    let text = workdir.read("predicted/predict.csv");
    assert_eq!(text.lines().next(), Some(COLUMNS));
    let predicted = rows(&text, &own);
    let call =
        "compare melt.toml --shells all --exchanges all --repeat 1 --steps 1 --quiet --output compared";
    workdir.succeed(Start::Threads(2), call);
    let measured = rows(&workdir.read("compared/compare.csv"), &own);
    assert_eq!(predicted, measured.iter().map(|row| row.replace("local", "p2p")).collect::<Vec<_>>());
}

#[test]
fn what_is_printed() {
    let call = "predict melt.toml --ranks 1,2,4,4000 --machine machine.toml --ranks-per-node 2 --placement round-robin --steps 9";
    let said = workdir().succeed(Start::Plain, call);
    let shape: Vec<String> =
        said.stdout.lines().map(|line| line.split(" [").next().unwrap().to_owned()).collect();
    assert_snapshot!(shape.join("\n"), @"");
    if p2p_available() {
        assert_eq!(workdir().succeed(Start::Mpirun(2), call).stdout, said.stdout, "one process speaks");
    }
}

#[test]
fn weak_scaling_and_a_seed_of_its_own() {
    let workdir = workdir();
    let call = "predict melt.toml --ranks 1,64,100000 --machine machine.toml --weak --backends p2p --steps 2 --quiet --seed";
    workdir.succeed(Start::Plain, &format!("{call} 5"));
    let text = workdir.read("out/predict.csv");
    assert_eq!(rows(&text, &["ranks", "atoms", "grid", "scaling", "seed"])[1], "64 38400 4x4x4 weak 5");
    workdir.succeed(Start::Plain, &format!("{call} 6"));
    assert_ne!(workdir.read("out/predict.csv"), text);
    workdir.succeed(Start::Plain, &format!("{call} 5"));
    assert_eq!(workdir.read("out/predict.csv"), text, "repeatable");
}

#[test]
fn bad_input_is_told_with_key_and_line() {
    let workdir = workdir();
    let call = "predict melt.toml --ranks 2 --machine";
    workdir.write("typo.toml", &MACHINE.replacen("latency_s", "latency_us", 1));
    let starts = [Start::Plain, Start::Mpirun(2)];
    let starts = &starts[..1 + usize::from(p2p_available())];
    assert_snapshot!(error_everywhere(&workdir, &format!("{call} typo.toml"), starts), @"");
    assert_snapshot!(error(&workdir, &format!("{call} none.toml"), Start::Plain), @"");
    assert_snapshot!(error(&workdir, &format!("{call} machine.toml --placement scattered"), Start::Plain), @"");
    assert_snapshot!(error(&workdir, &format!("{call} machine.toml --backends pp2p"), Start::Plain), @"");
    assert_snapshot!(error(&workdir, &format!("{call} machine.toml --set neighbor.precision=mixed"), Start::Plain), @"");
}
