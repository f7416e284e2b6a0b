//! `md-cli fit`: its output, its files and its exit codes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{MELT, Said, Start, Workdir, error, md_cli, p2p_available};
use insta::assert_snapshot;
use md_lab::machine::Machine;

const BENCH: &str = "benchmark,mechanism,ranks,bytes,median_s,status,distance\n";

/// Returns the machine that was written, which `predict` also accepts.
fn machine(workdir: &Workdir) -> Machine {
    let machine = Machine::read("machine.toml", &workdir.read("out/machine.toml")).unwrap();
    assert_eq!(machine.computes.len(), 3);
    assert!(machine.computes.iter().all(|cost| cost.per_particle_s > 0.0));
    assert_eq!(machine.provenance.version, env!("CARGO_PKG_VERSION"));
    let picture = workdir.read("out/fit.svg");
    for part in ["forces", "integration", "rebuilding"] {
        assert!(picture.contains(&format!("{part}, clusters mixed, microseconds")), "{part}");
    }
    assert!(machine.computes.iter().all(|cost| cost.held_out_rms_residual.is_some()));
    machine
}

#[test]
fn one_process_fits_computation_and_a_table_of_others_messages() {
    let workdir = Workdir::new(MELT);
    // 1 microsecond and 1 ns per byte, in both directions.
    let line =
        |bytes: u32| format!("roundtrip-copied,p2p,2,{bytes},{},ok,inside\n", 2e-6 + 2e-9 * f64::from(bytes));
    workdir.write("bench.csv", &format!("{BENCH}{}", [0, 8, 64, 512, 4096].map(line).concat()));
    let said = workdir.succeed(Start::Plain, "fit --bench bench.csv --budget 1 --output out");
    assert_eq!(said.stderr, "");
    assert_eq!(workdir.files("out"), ["fit.svg", "machine.toml"]);
    let message = machine(&workdir).messages.remove(0);
    assert!(
        (message.latency_s / 1e-6 - 1.0).abs() < 1e-9 && (message.seconds_per_byte / 1e-9 - 1.0).abs() < 1e-9
    );
    for words in
        ["ns/byte", "held out", "per_computed_pair_s", "per_particle_rebuilt_s", "no `barrier` at distance"]
    {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    let call = "predict melt.toml --ranks 1,2 --machine out/machine.toml --backends p2p --output predicted";
    workdir.succeed(Start::Plain, call);
}

#[test]
fn two_ranks_fit_messages_too() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let said = under_mpirun(&workdir, "fit --budget 3 --quiet --output out");
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said:?}");
    // Other tests run at the same time.
    let is_doubt = |line: &str| line.starts_with("warning: ") && line.contains(": the fit is off by ");
    assert!(said.stderr.lines().all(is_doubt), "{said:?}");
    let files = workdir.files("out");
    for file in ["bench.csv", "fit.svg", "machine.toml"] {
        assert!(files.iter().any(|name| name == file), "{files:?}");
    }
    // How many benchmarks are made depends on the machine.
    let (bench, machine) = (workdir.read("out/bench.csv"), machine(&workdir));
    for cost in &machine.messages {
        let row = format!("roundtrip-copied,{},2,0,", md_lab::name_of(cost.backend));
        assert!(bench.contains(&row), "{row}");
    }
}

#[test]
fn a_table_of_benchmarks_has_what_a_fit_needs() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let call = "bench roundtrip sync26 overlap barrier allreduce --backends p2p,rma-fence,shm --sizes 0,8,512 --walk 100000 --quiet --runs 5 \
                --budget 3600 --output measured";
    let said = under_mpirun(&workdir, call);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    workdir.succeed(Start::Plain, "fit --bench measured/bench.csv --budget 1 --output out");
    let machine = machine(&workdir);
    for name in ["p2p", "rma-fence", "shm"] {
        assert!(machine.messages.iter().any(|cost| md_lab::name_of(cost.backend) == name), "{name}");
    }
    assert_eq!((machine.collectives.len(), machine.overlaps.is_empty()), (2, false));
}

fn under_mpirun(workdir: &Workdir, arguments: &str) -> Said {
    let mut command = workdir.under_mpirun(2, &md_cli());
    command.args(arguments.split_whitespace());
    Said::of(command)
}

#[test]
fn a_table_without_messages_is_named() {
    let workdir = Workdir::new(MELT);
    workdir.write("bench.csv", &format!("{BENCH}barrier,collective,2,0,1e-6,ok,inside\n"));
    let said = workdir.succeed(Start::Plain, "fit --bench bench.csv --budget 1 --output out");
    assert!(
        said.stdout.contains("no messages: `bench.csv` has no times of `roundtrip-copied`\n"),
        "{}",
        said.stdout
    );
}

#[test]
fn bad_input_is_told_with_its_line() {
    let workdir = Workdir::new(MELT);
    workdir.write("broken.csv", &format!("{BENCH}barrier,collective,2,0,soon,ok,inside\n"));
    let broken = error(&workdir, "fit --bench broken.csv", Start::Plain);
    assert_snapshot!(broken, @r#"
    exit code 2
    error: broken.csv, line 2: `median_s`: invalid float literal
    "#);
    workdir.write(
        "other.csv",
        &format!("{}barrier,collective,2,0,1e-6,ok,inside\n", BENCH.replace("median_s", "time_s")),
    );
    assert_snapshot!(error(&workdir, "fit --bench other.csv", Start::Plain), @r#"
    exit code 2
    error: other.csv, line 1: no column `median_s`: not what `bench` writes
    "#);
    assert_snapshot!(error(&workdir, "fit --bench none.csv", Start::Plain), @r#"
    exit code 2
    error: cannot read `none.csv`: No such file or directory (os error 2)
    "#);
    if p2p_available() {
        let Said { code, stdout, stderr } = under_mpirun(&workdir, "fit --bench broken.csv --quiet");
        assert_eq!((code, stdout.as_str(), format!("exit code 2\n{stderr}")), (Some(2), "", broken));
    }
}
