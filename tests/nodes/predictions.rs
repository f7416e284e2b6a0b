//! `predict` against `compare`, after `bench` and `fit` have measured the messages: on one node,
//! and between two nodes with a long delay between them.

use std::path::Path;
use std::process::Command;

use crate::nodes::{Nodes, OPTIONS, finish, output};
use crate::support::{MELT, launch, md_cli};

const BACKENDS: [&str; 2] = ["p2p", "rma-pscw"];
/// Delay, much longer than the latency and scheduling of either machine.
const DELAY: &str = "2ms";
/// Largest ratio between a prediction and a measurement. Other work on the machine only makes times
/// longer, so the shortest of several attempts count.
const FACTOR: f64 = 4.0;
const ATTEMPTS: usize = 5;

/// Tests two ranks that share memory.
pub(crate) fn on_one_node() -> Result<(), String> {
    come_true(&|| launch::mpirun(2).ok_or_else(|| "no mpirun".to_owned()), &[])
}

/// Tests two nodes with a delay between them, which dominates the exchange.
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

/// Time of each backend, in seconds.
type Times = [f64; BACKENDS.len()];

fn come_true(launcher: Launcher, nodes: &[&str]) -> Result<(), String> {
    let (mut measured, mut predicted) = ([f64::INFINITY; BACKENDS.len()], [f64::INFINITY; BACKENDS.len()]);
    let shorter = |known: Times, new: Times| std::array::from_fn(|i| f64::min(known[i], new[i]));
    for _ in 0..ATTEMPTS {
        let (new_measured, new_predicted) = attempt(launcher, nodes)?;
        (measured, predicted) = (shorter(measured, new_measured), shorter(predicted, new_predicted));
        println!(
            "        {BACKENDS:?}: {:.1?} us predicted, {:.1?} us measured",
            us(predicted),
            us(measured)
        );
        let is_near = |i: usize| (1.0 / FACTOR..FACTOR).contains(&(predicted[i] / measured[i]));
        if (0..BACKENDS.len()).all(is_near) {
            return Ok(());
        }
    }
    Err(format!("{BACKENDS:?}: {:?} us in place of {:?} us", us(predicted), us(measured)))
}

fn us(times: Times) -> Times {
    times.map(|time_s| 1e6 * time_s)
}

/// Fits the machine from a few sizes, and returns the measured and the predicted exchange of a
/// small melt.
fn attempt(launcher: Launcher, nodes: &[&str]) -> Result<(Times, Times), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("melt.toml"), MELT).map_err(|error| error.to_string())?;
    let (melt, backends) = (path("melt.toml"), BACKENDS.join(","));
    let call = |mut command: Command, words: &str, more: &[&str]| {
        let words = words.split(' ').map(|word| word.replace('@', &format!("{}/", folder.path().display())));
        let finished = finish(command.args(words).args(more))?;
        if finished.succeeded() { Ok(()) } else { Err(output(&finished)) }
    };
    let ranks = |words: &str, more: &[&str]| {
        let mut command = launcher()?;
        command.arg(md_cli());
        call(command, words, more)
    };
    let named = ["--backends", &backends];
    ranks(
        "bench roundtrip sync26 --sizes 8,512,1024,8192,32768 --walk 1000000 --runs 5 --budget 60 --quiet --output @bench",
        &named,
    )?;
    ranks("fit --bench @bench/bench.csv --budget 1 --quiet --output @fit", &[])?;
    ranks(&format!("compare {melt} --repeat 3 --steps 2 --quiet --output @compare"), &named)?;
    let predict = format!(
        "predict {melt} --ranks 2 --backends {backends} --machine @fit/machine.toml --output @predict"
    );
    call(Command::new(md_cli()), &predict, nodes)?;
    let measured = column(&path("compare/compare.csv"), "exchange_median_s")?;
    Ok((measured, column(&path("predict/predict.csv"), "exchange_s")?))
}

/// Returns a column of a file, for the backends in their order.
fn column(file: &str, name: &str) -> Result<Times, String> {
    let mut reader = csv::Reader::from_path(Path::new(file)).map_err(|error| error.to_string())?;
    let rows: Result<Vec<std::collections::HashMap<String, String>>, _> = reader.deserialize().collect();
    let rows = rows.map_err(|error| error.to_string())?;
    let mut times = Times::default();
    for (time, backend) in times.iter_mut().zip(BACKENDS) {
        let row = rows.iter().find(|row| row["backend"] == backend);
        let value = row.and_then(|row| row.get(name)?.parse().ok());
        *time = value.ok_or_else(|| format!("{file} has no {name} of {backend}"))?;
    }
    Ok(times)
}
