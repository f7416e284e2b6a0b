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
    /// List the halo backends and whether they are available here
    Backends,
    /// Print the JSON Schema of a scenario, for editors
    Schema,
    /// Compare halo strategies on a scenario (not available yet)
    #[command(hide = true)]
    Compare(AnyArgs),
}

/// Arguments of a command that is not available yet.
#[derive(Debug, Clone, Args)]
pub struct AnyArgs {
    /// Ignored.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<String>,
}

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
