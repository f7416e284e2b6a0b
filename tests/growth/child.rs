//! What a rank of a job does: short and long runs, whose difference is what steps cost.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::commands::run;
use md_cli::early_end::EarlyEnd;
use md_cli::inputs::Inputs;
use md_comm::World;
use md_comm::mpi::{self, MpiWorld};

use crate::counter::{self, Counts};

/// When lists are made anew.
pub(crate) const POLICIES: [&str; 2] = ["{every=5}", "{displacement=true}"];

const WATCHDOG: Duration = Duration::from_secs(60);
/// The set-up and the first steps are in both.
const SHORT: u64 = 10;
const LONG: u64 = 50;

/// Ranks on a row, 500 particles each.
fn scenario(ranks: usize) -> String {
    format!(
        r#"
        [system]
        lattice = {{ kind = "fcc", density = 0.8442, cells = [{}, 5, 5] }}
        temperature = 1.44
        [parallel]
        backend = "p2p"
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
    let measured = mpi::start(WATCHDOG).map_err(|error| error.to_string()).and_then(|world| {
        let measured = POLICIES.iter().try_for_each(|policy| print_cost(&world, policy));
        if let Err(what) = &measured {
            println!("rank {}: {what}", world.rank());
            world.abort(1);
        }
        measured
    });
    ExitCode::from(u8::from(measured.is_err()))
}

/// One line: the policy, and the counts of [`LONG`] - [`SHORT`] steps on this rank.
fn print_cost(world: &MpiWorld, policy: &str) -> Result<(), String> {
    let short = counts_of(world, policy, SHORT)?;
    let long = counts_of(world, policy, LONG)?;
    let words = [
        long.calls - short.calls,
        long.bytes - short.bytes,
        long.messages - short.messages,
        long.message_bytes - short.message_bytes,
    ];
    // In one piece: lines of several ranks come out together.
    let line = format!("{policy} {} steps {}\n", LONG - SHORT, words.map(|word| word.to_string()).join(" "));
    print!("{line}");
    Ok(())
}

fn counts_of(world: &MpiWorld, policy: &str, steps: u64) -> Result<Counts, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("row.toml"), scenario(world.ranks())).map_err(|error| error.to_string())?;
    let (steps, rebuild) = (format!("simulation.steps={steps}"), format!("neighbor.rebuild={policy}"));
    let (scenario, output) = (path("row.toml"), path("out"));
    let words =
        ["md-cli", "run", &scenario, "--output", &output, "--quiet", "--set", &steps, "--set", &rebuild];
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
