//! The command line: all commands, and the arguments of those that run scenarios.

mod grid;
mod laboratory;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use grid::GridArgs;
use laboratory::{BENCH_HELP, COMPARE_HELP, FIT_HELP, PARTITION_HELP, PREDICT_HELP};
pub use laboratory::{
    BenchArgs, CompareArgs, DEFAULT_LAUNCHER, DivisionArgs, FitArgs, PartitionArgs, PredictArgs, SweepArgs,
    TraceSummaryArgs,
};
use md_files::output::ProgressMode;
use md_scenario::ScenarioKind;

/// Default number of events per rank in a timeline.
const EVENTS: u64 = md_lab::trace::EVENTS as u64;
/// Largest number of events: 4 GB per rank.
const MOST_EVENTS: u64 = 100_000_000;

/// Molecular dynamics with an exchangeable halo exchange. Runs as a plain process or under `mpirun
/// -n P`.
#[derive(Debug, Clone, Parser)]
#[command(name = "md-cli", version, max_term_width = 100)]
pub struct Cli {
    /// The command to carry out.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands by purpose, in the order of the help.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Simulate", &["run", "check", "forces", "minimise", "from-lammps"]),
    ("Look at results", &["plot", "analyse", "inspect"]),
    (
        "Choose and measure the exchange",
        &["compare", "sweep", "trace-summary", "bench", "fit", "predict", "partition", "backends"],
    ),
    ("Applications on grids", &["stencil", "lbm"]),
    ("Tools", &["schema", "completions", "man", "help"]),
];

/// Template of the program's help: the groups replace clap's list of all commands.
const HELP_TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

impl Cli {
    /// Parses a command line, whose first word is the name of the program.
    ///
    /// # Errors
    /// An invalid word, or a request for help or the version.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::with_groups();
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// Returns the definition of the command line, whose help lists the commands by group.
    fn with_groups() -> clap::Command {
        let mut command = Self::command();
        command.build();
        let groups = grouped(&command);
        Self::command()
            .help_template(HELP_TEMPLATE)
            .before_help(groups)
            .after_help("`md-cli help COMMAND` describes a command.")
    }
}

/// Returns the commands with their summaries, group by group.
fn grouped(command: &clap::Command) -> String {
    let header = command.get_styles().get_header();
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let line = |name: &&str| {
        let found = command.find_subcommand(name);
        let about = found.and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default();
        format!("  {name:width$}  {about}\n")
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(line).collect();
        format!("{header}{title}:{header:#}\n{lines}\n")
    };
    GROUPS.iter().map(group).collect()
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run a scenario
    Run(RunArgs),
    /// Check a scenario and print it with all defaults filled in
    Check(CheckArgs),
    /// Evaluate the forces of the initial state, without motion: forces.csv
    Forces(ForcesArgs),
    /// Minimise the energy by FIRE: minimised.extxyz and summary.json
    Minimise(MinimiseArgs),
    /// Make a scenario from a LAMMPS script, and list what could not be taken
    FromLammps(FromLammpsArgs),
    /// Compute the analyses of a run from a trajectory: rdf.csv, msd.csv, ...
    Analyse(AnalyseArgs),
    /// Draw the tables of a run as one page: plot.html
    Plot(PlotArgs),
    /// Run a stencil application on the same halo exchange: fields on a grid
    Stencil(GridArgs),
    /// Run a flow by the lattice Boltzmann method on the same halo exchange
    Lbm(GridArgs),
    /// Measure halo strategies on this scenario and machine, and recommend one
    #[command(after_long_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Run a scenario with several sizes, ranks and strategies: sweep.csv
    Sweep(SweepArgs),
    /// Summarise a timeline: which ranks waited for which, and where the time went
    TraceSummary(TraceSummaryArgs),
    /// Measure the transports with micro-benchmarks: bench.csv, bench.svg
    #[command(after_long_help = BENCH_HELP)]
    Bench(BenchArgs),
    /// Measure this machine and fit a model of its costs: machine.toml, fit.svg
    #[command(after_long_help = FIT_HELP)]
    Fit(FitArgs),
    /// Predict the time of a step on any number of ranks from a fitted machine
    #[command(after_long_help = PREDICT_HELP)]
    Predict(PredictArgs),
    /// Evaluate partitions on any number of ranks, without a run: partition.csv
    #[command(after_long_help = PARTITION_HELP)]
    Partition(PartitionArgs),
    /// Show what a checkpoint or a trajectory holds, and check it
    Inspect(InspectArgs),
    /// List the halo backends and whether they are available here
    Backends,
    /// Print the JSON Schema of a scenario, for editors
    Schema(SchemaArgs),
    /// Print what a shell needs to complete commands and options
    Completions(CompletionsArgs),
    /// Print the manual page of the program or of a command, for man
    Man(ManArgs),
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
    /// Threads per rank, instead of parallel.threads; auto: the cores of this machine divided by
    /// its ranks
    #[arg(long, value_name = "N|auto")]
    pub threads: Option<ThreadChoice>,
    /// Number of steps, for the commands that have `--steps`.
    #[arg(skip)]
    pub steps: Option<u64>,
}

/// Value of `--threads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadChoice {
    /// As many threads as there are cores.
    Auto,
    /// This number of threads.
    Count(u64),
}

impl FromStr for ThreadChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Count).map_err(|_| "neither a number of threads nor `auto`"),
        }
    }
}

/// Arguments of `check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// The scenario.
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Number of steps, instead of simulation.steps
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
}

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The scenario and the number of steps.
    #[command(flatten)]
    checked: CheckArgs,
    /// End the run in order after this time: D-HH:MM:SS, HH:MM:SS, MM:SS, D-HH, D-HH:MM or seconds
    #[arg(long, value_name = "TIME", value_parser = wall_time)]
    pub wall_time: Option<Duration>,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
    /// The timeline.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Divide the work at the same steps and in the same way as the run that wrote this balance.csv
    /// (balance weights `time`)
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Run backwards in time, which undoes the steps of an earlier run to the last bit
    /// (simulation.reproducible, integrator velocity-verlet)
    #[arg(long)]
    pub reverse: bool,
    /// Compare hash.csv with that of another run, at the end: exit code 1 if a hash differs
    #[arg(long, value_name = "FILE")]
    pub verify_hash: Option<PathBuf>,
    /// Resume from a checkpoint, or from the newest in a folder
    #[arg(long, value_name = "FILE|DIR")]
    pub resume: Option<PathBuf>,
}

/// Arguments of `schema`.
#[derive(Debug, Clone, Copy, Args)]
pub struct SchemaArgs {
    /// Kind of scenarios
    #[arg(value_enum, default_value_t)]
    pub kind: ScenarioKind,
}

/// Arguments of `completions`.
#[derive(Debug, Clone, Copy, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// A command; without it, a short page about all of them
    pub command: Option<String>,
}

/// Arguments of `inspect`.
#[derive(Debug, Clone, Args)]
pub struct InspectArgs {
    /// Trajectory, checkpoint, or folder with checkpoints, of which the newest is taken
    #[arg(value_name = "FILE|DIR")]
    pub file: PathBuf,
}

/// Options of a timeline.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// Timeline of all ranks and their threads, as Chrome trace JSON (for ui.perfetto.dev and
    /// `md-cli trace-summary`)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Events that each rank keeps for --trace: the last ones
    #[arg(long, value_name = "N", default_value_t = EVENTS, requires = "trace", value_parser = clap::value_parser!(u64).range(1..=MOST_EVENTS))]
    pub trace_events: u64,
}

/// Arguments of `forces`.
#[derive(Debug, Clone, Args)]
pub struct ForcesArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `minimise`.
#[derive(Debug, Clone, Args)]
pub struct MinimiseArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Largest number of steps
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Largest force on a particle at which it ends; that of the scenario's integrator `fire`, if
    /// it has one, else 1e-6
    #[arg(long, value_name = "FORCE", value_parser = positive_force)]
    pub force_tolerance: Option<f64>,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `analyse`.
#[derive(Debug, Clone, Args)]
pub struct AnalyseArgs {
    /// Trajectory: .extxyz, .lammpstrj (both also .gz), .nc or .xtc
    #[arg(value_name = "TRAJECTORY")]
    pub trajectory: PathBuf,
    /// Scenario with species, time step and analyses [default: scenario.toml next to the
    /// trajectory]
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Override a key of the scenario, e.g. --set output.rdf.max=4.0; may be repeated
    #[arg(long = "set", value_name = "KEY.PATH=VALUE")]
    pub set: Vec<String>,
    /// Output directory [default: the folder `analysis` next to the trajectory]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Steps between two frames, for a trajectory that has neither steps nor times, or wrong ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frame_steps: Option<u64>,
    /// Refuse an incomplete last frame and frames of repeated steps, instead of skipping them
    #[arg(long)]
    pub strict: bool,
}

/// Arguments of `plot`.
#[derive(Debug, Clone, Args)]
pub struct PlotArgs {
    /// Output directory of a run
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Arguments of `from-lammps`.
#[derive(Debug, Clone, Args)]
pub struct FromLammpsArgs {
    /// LAMMPS input script
    pub script: PathBuf,
    /// A variable of the script, as LAMMPS's `-var NAME VALUE`; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    pub variables: Vec<(String, String)>,
    /// Write the scenario without the lines that affect the motion of particles and cannot be taken
    #[arg(long)]
    pub partial: bool,
}

fn positive_force(text: &str) -> Result<f64, &'static str> {
    let force: Option<f64> = text.parse().ok();
    force.filter(|force| *force > 0.0 && force.is_finite()).ok_or("must be a number above 0")
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or("give NAME=VALUE")
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    /// Number of seconds of a day, the longest limit that is accepted.
    const LONGEST: f64 = 86_400.0;
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let is_valid = seconds > 0.0 && seconds <= LONGEST;
    if is_valid { Ok(seconds) } else { Err(format!("must be above 0 and at most {LONGEST}")) }
}

/// Parses a time limit in one of the forms of SLURM's `--time`; but a number alone is in seconds,
/// not in minutes as for SLURM.
fn wall_time(text: &str) -> Result<Duration, String> {
    const DAY: (u64, u64) = (86_400, u64::MAX);
    const HOUR: (u64, u64) = (3_600, 24);
    const MINUTE: (u64, u64) = (60, 60);
    const SECOND: (u64, u64) = (1, 60);
    let has_days = text.contains('-');
    let fields: Vec<&str> = text.splitn(2, '-').flat_map(|part| part.split(':')).collect();
    let units: &[(u64, u64)] = match (has_days, fields.len()) {
        (true, 2..=4) => &[DAY, HOUR, MINUTE, SECOND][..fields.len()],
        (false, 1..=3) => &[HOUR, MINUTE, SECOND][3 - fields.len()..],
        _ => &[],
    };
    let total = |sum: Option<u64>, (index, (field, &(seconds, most))): (usize, (&&str, &(u64, u64)))| {
        let is_digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
        let number =
            field.parse::<u64>().ok().filter(|&number| is_digits && (index == 0 || number < most))?;
        sum?.checked_add(number.checked_mul(seconds)?)
    };
    let seconds = fields.iter().zip(units).enumerate().fold(Some(0), total);
    let seconds = seconds.filter(|&seconds| seconds > 0 && fields.len() == units.len());
    let expected = "give D-HH:MM:SS, HH:MM:SS, MM:SS, D-HH, D-HH:MM or seconds, as in 1-12:00:00, 00:30:00, 30:00 or 1800";
    seconds.map(Duration::from_secs).ok_or_else(|| expected.to_owned())
}

impl CheckArgs {
    /// Returns the scenario and its overrides, with the number of steps.
    pub fn scenario(&self) -> ScenarioArgs {
        ScenarioArgs { steps: self.steps, ..self.scenario.clone() }
    }
}

impl ScenarioArgs {
    /// Returns all overrides as texts of `--set`, for a scenario whose number of steps is in the
    /// table `table`. Dedicated options come last and take precedence.
    pub fn overrides_of(&self, table: &str) -> Vec<String> {
        let mut overrides = self.set.clone();
        let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
        overrides
            .extend(self.output.as_ref().map(|directory| format!("output.directory={}", quoted(directory))));
        overrides.extend(self.steps.map(|steps| format!("{table}.steps={steps}")));
        if let Some(ThreadChoice::Count(threads)) = self.threads {
            overrides.push(format!("parallel.threads={threads}"));
        }
        overrides
    }
}

impl RunArgs {
    /// Returns the scenario and its overrides, with the number of steps.
    pub fn scenario(&self) -> ScenarioArgs {
        self.checked.scenario()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::with_groups().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_and_has_a_short_summary() {
        let mut command = Cli::command();
        command.build();
        let mut defined: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        defined.sort_unstable();
        listed.sort_unstable();
        assert_eq!(defined, listed);
        let help = Cli::with_groups().render_help().to_string();
        let too_long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(too_long.is_empty(), "{too_long:?}");
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
            args.scenario().overrides_of("simulation"),
            ["simulation.steps=5", "output.directory='a \"b\"'", "simulation.steps=7"]
        );
    }

    #[test]
    fn wall_times() {
        for (text, seconds) in [
            ("90", 90),
            ("5:00", 300),
            ("90:30", 5430),
            ("00:30:00", 1800),
            ("1:2:3", 3723),
            ("100:00:00", 360_000),
            ("2-0", 172_800),
            ("0-12", 43_200),
            ("1-12:30", 131_400),
            ("1-12:30:05", 131_405),
        ] {
            assert_eq!(wall_time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "0",
            "00:00:00",
            "30m",
            "+5",
            "1:60:00",
            "1:60",
            "1-24:00:00",
            "1-",
            "-1",
            "1--1",
            "1-1:1:1:1",
            "1:1:1:1",
            "1.5",
            "99999999999999999:0:0",
        ] {
            assert!(wall_time(text).is_err(), "{text}");
        }
    }
}
