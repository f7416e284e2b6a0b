//! Work of a rank of a job: short and long runs, whose difference is the cost of steps.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::commands::run;
use md_cli::early_end::EarlyEnd;
use md_cli::inputs::Inputs;
use md_comm::mpi::{self, MpiWorld};
use md_comm::{Backend, Buffering, CommError, Edge, ExchangeSpec, Flow, Sizes, World};

use crate::counter::{self, Counts};

/// Settings in the scenario, which also name the run, and its backend.
pub(crate) const RUNS: [(&str, Backend); 3] = [
    ("neighbor.rebuild={every=5}", Backend::P2p),
    ("neighbor.rebuild={displacement=true}", Backend::P2p),
    // Includes checks of the balance, which never move any particle.
    ("parallel.balance={every=10,threshold=1e9}", Backend::RmaLock),
];

/// Name of the negotiations of two-sided messages, with alternately longer and shorter lengths.
pub(crate) const NEGOTIATIONS: &str = "negotiations";
const LENGTHS: [usize; 10] = [2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000, 2000];

const WATCHDOG: Duration = Duration::from_secs(60);
/// Number of steps of the short run. The set-up and the first steps occur in both runs.
const SHORT: u64 = 10;
const LONG: u64 = 50;

/// Returns a scenario with ranks in a row and 500 particles each.
fn scenario(ranks: usize) -> String {
    format!(
        r#"
        [system]
        lattice = {{ kind = "fcc", density = 0.8442, cells = [{}, 5, 5] }}
        temperature = 1.44
        [parallel]
        grid = [{ranks}, 1, 1]
        [output]
        thermo = {{ every = 10 }}
        "#,
        5 * ranks
    )
}

pub(crate) fn run() -> ExitCode {
    if counter::read().is_none() {
        return ExitCode::SUCCESS;
    }
    let measured = mpi::start(WATCHDOG).map_err(|error| error.to_string()).and_then(measure);
    if let Err(what) = &measured {
        println!("{what}");
        mpi::abort(1);
    }
    ExitCode::from(u8::from(measured.is_err()))
}

fn measure(mut world: MpiWorld) -> Result<(), String> {
    for (setting, backend) in RUNS {
        world = world.with_backend(backend).map_err(|error| error.to_string())?;
        let [short, long] = [counts_of(&world, setting, SHORT)?, counts_of(&world, setting, LONG)?];
        print_cost(setting, LONG - SHORT, short, long);
    }
    let world = world.with_backend(Backend::P2p);
    world.and_then(|world| negotiate(&world)).map_err(|error| error.to_string())
}

/// Prints one line: the name of the run, the number of steps, and their cost on this rank.
fn print_cost(counted: &str, steps: u64, short: Counts, long: Counts) {
    let words = [
        long.calls - short.calls,
        long.bytes - short.bytes,
        long.messages - short.messages,
        long.message_bytes - short.message_bytes,
    ];
    // Written in one call, because several ranks print at the same time.
    let line = format!("{counted} {steps} steps {}\n", words.map(|word| word.to_string()).join(" "));
    print!("{line}");
}

/// Negotiates between neighbours in the row.
fn negotiate(world: &MpiWorld) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let flow = Flow::Both;
    let edge = |peer, send_channel| Edge {
        peer,
        send_channel,
        receive_channel: 1 - send_channel,
        flow,
        send_capacity: LENGTHS[1],
    };
    let edges = vec![edge((rank + 1) % ranks, 0), edge((rank + ranks - 1) % ranks, 1)];
    let (sizes, buffering) = (Sizes::Fixed, Buffering::Double);
    let mut exchange = world.open(ExchangeSpec { name: "row", edges, sizes, buffering })?;
    let before = counter::read().unwrap_or_default();
    LENGTHS.iter().try_for_each(|&length| exchange.negotiate(&[length; 2]).map(drop))?;
    let after = counter::read().unwrap_or_default();
    print_cost(NEGOTIATIONS, LENGTHS.len() as u64, before, after);
    exchange.finalise()
}

fn counts_of(world: &MpiWorld, setting: &str, steps: u64) -> Result<Counts, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("row.toml"), scenario(world.ranks())).map_err(|error| error.to_string())?;
    let steps = format!("simulation.steps={steps}");
    let (scenario, output) = (path("row.toml"), path("out"));
    let words = ["md-cli", "run", &scenario, "--output", &output, "--quiet", "--set", &steps];
    let words = words.into_iter().chain(["--set", setting]);
    let Command::Run(args) = Cli::try_parse_from(words).map_err(|error| error.to_string())?.command else {
        return Err("another command".to_owned());
    };
    let before = counter::read().ok_or("nobody counts")?;
    let inputs = Inputs::read_on_first_rank(&args.scenario(), world).map_err(|error| error.to_string())?;
    run::run(world, &inputs, &args, &EarlyEnd::default()).map_err(|error| error.to_string())?;
    let after = counter::read().ok_or("nobody counts")?;
    Ok(Counts {
        calls: after.calls - before.calls,
        bytes: after.bytes - before.bytes,
        messages: after.messages - before.messages,
        message_bytes: after.message_bytes - before.message_bytes,
    })
}
