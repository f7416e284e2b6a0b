//! `predict` against `compare`, where `bench` and `fit` have measured the messages: on one node, and between two that are far from each other.

use std::path::Path;
use std::process::Command;

use crate::nodes::{Nodes, OPTIONS, finish, output};
use crate::support::{MELT, launch, md_cli};

const BACKENDS: [&str; 2] = ["p2p", "rma-pscw"];
/// Far more than either machine's own latency and scheduling.
const DELAY: &str = "2ms";
/// A prediction and what it predicts are so far apart at most. Other work comes and goes between the two.
const FACTOR: f64 = 4.0;
const ATTEMPTS: usize = 3;

/// Of two ranks that share memory.
pub(crate) fn on_one_node() -> Result<(), String> {
    come_true(&|| launch::mpirun(2).ok_or_else(|| "no mpirun".to_owned()), &[])
}

/// Of two nodes with a delay between them, which nearly all of an exchange is.
pub(crate) fn between_nodes() -> Result<(), String> {
    let nodes = Nodes::up("p", &["--delay", DELAY])?.ok_or("not made a second time")?;
    let launcher = || {
        let mut command = nodes.run(1);
        command.env(OPTIONS.0, OPTIONS.1);
        Ok(command)
    };
    come_true(&launcher, &["--ranks-per-node", "1"])
}

type Launcher<'l> = &'l dyn Fn() -> Result<Command, String>;

fn come_true(launcher: Launcher, nodes: &[&str]) -> Result<(), String> {
    let mut last = Ok(());
    for _ in 0..ATTEMPTS {
        last = comes_true(launcher, nodes);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Fits the machine to a few sizes, and holds the exchange of a small melt against it.
fn comes_true(launcher: Launcher, nodes: &[&str]) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("melt.toml"), MELT).map_err(|error| error.to_string())?;
    let (melt, backends) = (path("melt.toml"), BACKENDS.join(","));
    let call = |mut command: Command, words: &str, more: &[&str]| {
        let words = words.split(' ').map(|word| word.replace('@', &format!("{}/", folder.path().display())));
        let finished = finish(command.args(words).args(more))?;
        if finished.succeeded() { Ok(()) } else { Err(output(&finished)) }
    };
    let ranks = |words: &str| {
        let mut command = launcher()?;
        command.arg(md_cli());
        call(command, words, &["--backends", &backends])
    };
    ranks("bench roundtrip sync26 --sizes 8,64,512,4096,32768 --runs 6 --budget 60 --quiet --output @bench")?;
    let mut fit = launcher()?;
    fit.arg(md_cli());
    call(fit, "fit --bench @bench/bench.csv --budget 1 --quiet --output @fit", &[])?;
    ranks(&format!("compare {melt} --repeat 3 --steps 2 --quiet --output @compare"))?;
    let predict = format!(
        "predict {melt} --ranks 2 --backends {backends} --machine @fit/machine.toml --output @predict"
    );
    call(Command::new(md_cli()), &predict, nodes)?;
    let measured = column(&path("compare/compare.csv"), "exchange_median_s")?;
    let predicted = column(&path("predict/predict.csv"), "exchange_s")?;
    for (backend, (measured, predicted)) in BACKENDS.iter().zip(measured.iter().zip(&predicted)) {
        println!("        {backend}: {predicted:.2e} s predicted, {measured:.2e} s measured");
        if !(1.0 / FACTOR..FACTOR).contains(&(predicted / measured)) {
            return Err(format!("{backend}: {predicted} s in place of {measured} s"));
        }
    }
    Ok(())
}

/// Of the backends, in their order.
fn column(file: &str, name: &str) -> Result<Vec<f64>, String> {
    let mut reader = csv::Reader::from_path(Path::new(file)).map_err(|error| error.to_string())?;
    let rows: Result<Vec<std::collections::HashMap<String, String>>, _> = reader.deserialize().collect();
    let rows = rows.map_err(|error| error.to_string())?;
    let value = |backend: &&str| {
        let row = rows.iter().find(|row| row["backend"] == **backend);
        let value = row.and_then(|row| row.get(name)?.parse().ok());
        value.ok_or_else(|| format!("{file} has no {name} of {backend}"))
    };
    BACKENDS.iter().map(value).collect()
}
