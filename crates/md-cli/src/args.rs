//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::{ProgressMode, Verbosity};

/// Molecular dynamics with an exchangeable halo exchange. Runs as a plain process or under `mpirun -n P`.
#[derive(Debug, Clone, Parser)]
#[command(name = "md-cli", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run a scenario
    Run(RunArgs),
    /// Check a scenario and print it with all defaults filled in
    Check(ScenarioArgs),
    /// Evaluate the forces of the initial state, without motion: forces.csv and summary.json
    Forces(RunArgs),
    /// Measure halo strategies on this scenario and machine, and recommend one
    #[command(after_long_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// List the halo backends and whether they are available here
    Backends,
    /// Print the JSON Schema of a scenario, for editors
    Schema,
}

const COMPARE_HELP: &str = "\
Strategies are all combinations of the chosen backends, shells, exchanges and partitions. Each is first checked: the \
forces of the initial state, after every ghost has been overwritten, must be those of a serial calculation to 1e-10 of \
their rms, in mixed precision to 1e-4. (Rounding differs by about 1e-13, because the sums are in another order; a message that is missing, stale or \
mistaken for another shows at 1e-3 and more. For the check the sites of a lattice are displaced, as a perfect lattice has \
no forces.)

Then they are measured in turn, in every repetition in another order, each time from the same initial state:
  exchange  the halo of the initial state exchanged over and over without computation: positions, and forces back where \
the shell needs it. Every message is copied from private memory into the send buffer, sent, and copied out into private \
memory, so that all transports move the same bytes; packing and unpacking of particles is left out. A sample is the time of \
the slowest rank.
  step      --steps time steps as in `run`, and the phases of the halo in them.

Backends that can stand still inside the MPI library are checked and measured after the others: first those that never do, \
then those that flush, then fence and post/start. Beside each later group p2p (or else the first strategy that was measured) is \
measured once more: how much it has changed stands in the recommendation.

Intervals hold the true median with 95 % confidence, from order statistics; with fewer than 6 repetitions they are the \
smallest and the largest sample, and nothing is recommended. A strategy that fails or waits longer than --timeout is reported and left out; if a call \
inside the MPI library does not come back within twice that time, what has been measured is written and the job ends.

Files: compare.csv, compare.svg, compare.png, recommendation.txt, scenario.toml.
Exit codes: 0 all well, 1 a strategy gave wrong forces, 2 bad input, 3 a strategy failed or timed out.";

/// A scenario and its overrides.
#[derive(Debug, Clone, Args)]
pub struct ScenarioArgs {
    /// Scenario file (TOML)
    pub scenario: PathBuf,
    /// Override a key of the scenario, e.g. --set interaction.cutoff=3.0; may be repeated
    #[arg(long = "set", value_name = "KEY.PATH=VALUE")]
    pub set: Vec<String>,
    /// Output directory, instead of output.directory
    #[arg(long, value_name = "DIR")]
    pub output: Option<String>,
    /// Number of steps, instead of simulation.steps
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Threads per rank, instead of parallel.threads
    #[arg(long, value_name = "N")]
    pub threads: Option<u64>,
}

/// Arguments of the commands that compute.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Print nothing but errors
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
    /// Continue from a checkpoint (not available yet)
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
}

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("steps", |steps| steps.help(
    "Time steps per sample [default: 20, or fewer so that the neighbourhood is not rebuilt in between]"
)))]
pub struct CompareArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Backends, or `all` that run here
    #[arg(long, value_name = "A,B|all", default_value = "all", value_delimiter = ',')]
    pub backends: Vec<String>,
    /// Shells, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub shells: Vec<String>,
    /// Exchanges, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub exchanges: Vec<String>,
    /// Partitions, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub partitions: Vec<String>,
    /// Repetitions
    #[arg(long, value_name = "R", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Longest wait for other ranks before a strategy counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = positive_seconds)]
    pub timeout: f64,
    /// Print nothing but errors
    #[arg(long)]
    pub quiet: bool,
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    /// A day; more is no limit on anything.
    const LONGEST: f64 = 86_400.0;
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let is_valid = seconds > 0.0 && seconds <= LONGEST;
    if is_valid { Ok(seconds) } else { Err(format!("must be above 0 and at most {LONGEST}")) }
}

impl ScenarioArgs {
    /// All overrides as `--set` texts; options of their own come last and win.
    pub fn overrides(&self) -> Vec<String> {
        let mut overrides = self.set.clone();
        let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
        overrides
            .extend(self.output.as_ref().map(|directory| format!("output.directory={}", quoted(directory))));
        overrides.extend(self.steps.map(|steps| format!("simulation.steps={steps}")));
        overrides.extend(self.threads.map(|threads| format!("parallel.threads={threads}")));
        overrides
    }
}

impl RunArgs {
    /// Whether results are shown on the screen.
    pub fn verbosity(&self) -> Verbosity {
        if self.quiet { Verbosity::Quiet } else { Verbosity::Normal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn options_become_overrides_that_win() {
        let cli = Cli::parse_from([
            "md-cli",
            "check",
            "a.toml",
            "--output",
            "a \"b\"",
            "--set",
            "simulation.steps=5",
            "--steps",
            "7",
        ]);
        let Command::Check(args) = cli.command else { panic!("another command") };
        assert_eq!(
            args.overrides(),
            ["simulation.steps=5", "output.directory='a \"b\"'", "simulation.steps=7"]
        );
    }
}
