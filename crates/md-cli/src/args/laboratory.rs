//! The commands that measure: `compare`, `sweep`, `trace-summary`, `bench`, `fit`, `predict`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser;
use md_core::Threads;
use md_files::output::ProgressMode;
use md_lab::sweep::Scaling;

use super::{ScenarioArgs, TraceArgs, positive_seconds};

pub(super) const COMPARE_HELP: &str = "\
Strategies are all combinations of the chosen backends, shells, exchanges and partitions, and of the values that --vary names, such as \
--vary parallel.rma.window=create,allocate --vary parallel.rma.slots=all. What makes no difference for a backend is measured once; what it cannot \
have gets a row that says why. Each is first checked: the \
forces of the initial state, after every ghost has been overwritten, must be those of a calculation without a halo to 1e-10 of \
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

Intervals hold the true median with 95 % confidence, from order statistics; with fewer than 6 repetitions there is no such \
interval: the range of the samples is shown, and nothing is recommended. A strategy that fails or waits longer than --timeout is reported and left out; if a call \
inside the MPI library does not come back within twice that time, what has been measured is written and the job ends.

With --protocols whole runs of --steps steps are measured instead, by the scenario's backend: communication (messages, packing, waiting, \
particles that change rank), computation (forces, positions, velocities), update of the cells, and the speed-up over one rank, which is measured \
first. Of --repeat runs the one of median length counts.

Files: compare.csv, compare.svg, compare.png, recommendation.txt, scenario.toml; with --protocols: protocols.csv, scenario.toml;
with --trace t.json a timeline of each strategy: t-p2p-half-direct-rect.json.
Exit codes: 0 all well, 1 a strategy gave wrong forces, 2 bad input, 3 a strategy failed or timed out.";

pub(super) const BENCH_HELP: &str = "\
roundtrip    a message from rank 0 to its partner and back
bandwidth    64 messages one way at a time, fewer above 1 MiB; with `p2p` from one buffer besides, as osu_bw sends them
sync26       every rank with its 26 neighbours on a torus of three dimensions, with copies; `rma-notify-strict` reads its flags by calls
sync8        the same with the 8 neighbours in two dimensions
overlap      with both neighbours of a ring: communication, computation of the same length, both, both with calls that drive progress
barrier      all ranks wait for each other
allreduce    the maximum of all ranks, and their sum without rounding
creation     opening and ending a context with 26 neighbours
negotiation  what a rebuild pays for such a context where nothing has grown
ringshift    every rank to the next one, and to both neighbours, with copies
wakeup       a round trip after computation of 0, 1, 10 and 100 ms
copy         memory: one stream, 19 in turn, and one with streaming stores
passive      rank 0 locks its partner's window, puts and unlocks, right after its own, while the others compute 240 ms
packing      three arrays to 26 neighbours, put one by one or copied into one message; one window, 26, with assertions, with two slots a message
push, pull   rank 0 and its partner at once, with put and flush, streaming stores into shared memory, or get and flush
strided      every second number of 17 MB, as a derived datatype or packed
elementwise  a put of each number and one flush, or one put of all

Transports are used through the contexts of a run; from `passive` on, and in the rows `put` (put, flush, flag, both ways; of `bandwidth` puts and one flush) and `get` (get, flush) of `roundtrip` and `bandwidth`, MPI's calls \
are used as they are. Messages stay in the transport's memory as they are; in rows named `-copied` they are \
copied from private memory and into private memory, so that all transports move the same. Contents are verified before and after. \
Pairs of ranks are rank 0 and the nearest one on its node (inside; where each rank is bound to a core complex, on rank 0's), on another complex (across), and on another node (between).

A sample is a loop of at least 20 ms, its time that of the slowest rank; a tenth is warm-up. Where --budget does not suffice, there are fewer \
than 30 samples, of shorter loops (fewer than 6 only where all of it is used up); one case of each comes first, then small messages and p2p, and what there is no time for is skipped. Exit codes: 0 all well, 1 wrong contents, 2 bad input, 3 a transport failed or timed out.";

pub(super) const FIT_HELP: &str = "\
Messages are fitted to bench.csv: to that of --bench, or, on two ranks and more, to benchmarks that take two thirds of --budget. On one rank alone \
there are none, and messages are missing in machine.toml. Time over size is one line or several, each for a range of bytes; breaks are where they fit best. \
Of five sizes and more every second one is held out of the fit and judges it. The overhead of a message is the one with which `predict` takes as long for a halo of \
26 messages as was measured; the serial share (how far messages of a rank follow each other) the one with which it does for messages of 1 KiB or more.

Computation is fitted to short runs of gases and liquids of 2,048 to 108,000 particles per rank, on all ranks at once. \
Small systems come first, and large ones are left out where --budget does not suffice.

All fits make the sum of (model / measured - 1)^2 least; no cost is negative. Intervals hold 95 %, if residuals are normal.

Files: machine.toml, fit.svg; bench.csv, bench.svg where benchmarks were run.
Exit codes: 0 all well, 1 wrong contents, 2 bad input, 3 a transport failed or timed out.";

pub(super) const PREDICT_HELP: &str = "\
The partition and the halo plan of every rank are those that `run` would make, so messages and bytes are exact (above 10,000,000 \
particles: for the mean number of particles per cell). What messages and computation cost stands in machine.toml. Some steps are then \
played event by event: when every rank has packed, what each message takes, who waits for whom.

Of a scenario with a grid messages and bytes are exact too; what its nodes cost is from the phases of a run (--measured).

Files: predict.csv, predict.svg, scenario.toml.
Exit codes: 0 all well, 2 bad input.";

pub(super) const PARTITION_HELP: &str = "\
Work is the pairs of particles in cells that meet, in the initial state, and the particles themselves; the imbalance is that of the busiest rank \
over the mean. Ghosts, neighbours (ranks that have cells beside those of a rank) and bytes (which a rank receives in the exchanges of a step) \
are those of the scenario's shell and exchange. Seconds: to compute the partition from the weights. rect and stripe are those of the start, before balancing.

Files: partition.csv, partition.svg (slices at 1/4, 1/2 and 3/4 of z, coloured by rank), scenario.toml.
Exit codes: 0 all well, 2 bad input.";

/// Arguments of `trace-summary`.
#[derive(Debug, Clone, Args)]
pub struct TraceSummaryArgs {
    /// Timeline written by `--trace`
    pub trace: PathBuf,
    /// Write the tables as CSV, and the communication matrix and the sizes of messages as SVG, into
    /// this directory
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Selection of divisions of the work, to be combined with backends.
#[derive(Debug, Clone, Default, Args)]
pub struct DivisionArgs {
    /// Shells, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub shells: Vec<String>,
    /// Exchanges, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub exchanges: Vec<String>,
    /// Partitions, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub partitions: Vec<String>,
}

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Time steps per sample [default: 20, or fewer so that the neighbourhood is not rebuilt in
    /// between]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub steps: Option<u64>,
    /// Backends, or `all` that run here
    #[arg(long, value_name = "A,B|all", default_value = "all", value_delimiter = ',')]
    pub backends: Vec<String>,
    /// Divisions of the work to be combined with the backends.
    #[command(flatten)]
    pub divisions: DivisionArgs,
    /// Protocols, or `all`, with the chosen partitions, instead of strategies: whole runs, and the
    /// parts of their time
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub protocols: Vec<String>,
    /// Also combine strategies with several values of a key of [parallel.rma], or of
    /// parallel.messages of a grid, or `all`; may be repeated
    #[arg(long, value_name = "KEY.PATH=A,B|all")]
    pub vary: Vec<String>,
    /// Repetitions
    #[arg(long, value_name = "R", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Longest wait for other ranks before a strategy counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = positive_seconds)]
    pub timeout: f64,
    /// The timeline of one additional sample: a file per strategy, with the strategy in its name.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
}

/// Arguments of `sweep`.
#[derive(Debug, Clone, Args)]
pub struct SweepArgs {
    /// Scenario file (TOML)
    scenario: PathBuf,
    /// Override a key of the scenario, e.g. --set interaction.cutoff=3.0; may be repeated
    #[arg(long = "set", value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Output directory, instead of output.directory; an existing sweep there is continued
    #[arg(long, value_name = "DIR")]
    output: Option<String>,
    /// Number of steps, instead of simulation.steps
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Numbers of ranks
    #[arg(long, value_name = "P,Q", default_value = "1", value_delimiter = ',', value_parser = count(MOST_RANKS.unsigned_abs()))]
    pub ranks: Vec<usize>,
    /// Numbers of threads per rank
    #[arg(long, value_name = "N,M", default_value = "1", value_delimiter = ',', value_parser = count(MOST_THREADS))]
    pub threads: Vec<usize>,
    /// Numbers of particles, as near as a lattice allows [default: the scenario's]; with --weak,
    /// per rank
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    pub atoms: Vec<u64>,
    /// Backends, or `all` that run here [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub backends: Vec<String>,
    /// Divisions of the work to be combined with the backends.
    #[command(flatten)]
    pub divisions: DivisionArgs,
    /// The size of the system grows with the number of ranks
    #[arg(long, conflicts_with = "strong")]
    weak: bool,
    /// The size of the system is fixed (the default)
    #[arg(long)]
    strong: bool,
    /// Runs per job
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Command that starts the ranks of a job; not needed for backend local. The default includes
    /// permission to run as root and on fewer cores than ranks
    #[arg(long, value_name = "COMMAND", default_value = DEFAULT_LAUNCHER)]
    pub launcher: String,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
}

/// Default of [`SweepArgs::launcher`].
pub const DEFAULT_LAUNCHER: &str = "mpirun -n {ranks}";

impl SweepArgs {
    /// Returns the scenario and the overrides that all jobs have in common.
    pub fn scenario(&self) -> ScenarioArgs {
        let Self { scenario, set, output, steps, .. } = self.clone();
        ScenarioArgs { scenario, set, output, threads: None, steps }
    }

    /// Returns how the size of the system depends on the number of ranks.
    pub fn scaling(&self) -> Scaling {
        if self.weak { Scaling::Weak } else { Scaling::Strong }
    }
}

fn count(most: u64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u64).range(1..=most).map(|count| count as usize)
}

/// Arguments of `bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Benchmarks, or `all`
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Seconds for all of them
    #[arg(long, value_name = "SECONDS", default_value_t = 170.0, value_parser = positive_seconds)]
    pub budget: f64,
    /// Samples of each case, in shorter loops where the budget does not suffice [default: as many
    /// as the budget allows, 6 to 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub runs: Option<u32>,
    /// Bytes of a message [default: each benchmark's own]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(..=1 << 30))]
    pub sizes: Vec<u64>,
    /// Bytes of memory that messages of `roundtrip`, `push` and `pull` go through, each to or from
    /// another place [default: twice the last cache]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub walk: Option<u64>,
    /// Backends, or `all` that run here
    #[arg(long, value_name = "A,B|all", default_value = "all", value_delimiter = ',')]
    pub backends: Vec<String>,
    /// Ranks as threads of this process, without MPI
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub ranks: Option<u32>,
    /// Longest wait for other ranks before a backend counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = positive_seconds)]
    pub timeout: f64,
    /// Write all samples into a file
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    /// Output directory
    #[arg(long, value_name = "DIR", default_value = "out/bench")]
    pub output: PathBuf,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
}

/// Arguments of `fit`.
#[derive(Debug, Clone, Args)]
pub struct FitArgs {
    /// Fit messages to this bench.csv instead of running benchmarks
    #[arg(long, value_name = "FILE")]
    pub bench: Option<PathBuf>,
    /// Seconds for everything
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive_seconds)]
    pub budget: f64,
    /// Longest wait for other ranks before a backend counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = positive_seconds)]
    pub timeout: f64,
    /// Output directory
    #[arg(long, value_name = "DIR", default_value = "out/fit")]
    pub output: PathBuf,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
}

/// Arguments of `predict`.
#[derive(Debug, Clone, Args)]
pub struct PredictArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Numbers of ranks
    #[arg(long, value_name = "P,P,...", required = true, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    pub ranks: Vec<u32>,
    /// Costs of messages and computation (TOML)
    #[arg(long, value_name = "FILE")]
    pub machine: PathBuf,
    /// For a scenario with a grid: summary.json of a run of it, with the costs of computing and
    /// packing. May be repeated: runs of several sizes give the costs of sizes between them
    #[arg(long, value_name = "FILE")]
    pub measured: Vec<PathBuf>,
    /// Ranks on a node [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks_per_node: Option<u32>,
    /// Ranks on the cores of a node that share a last cache, if messages to others cost more
    /// (distance "across") [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks_per_complex: Option<u32>,
    /// Order of the ranks on nodes: block (one node after the other) or round-robin
    #[arg(long, value_name = "ORDER", default_value = "block")]
    pub placement: String,
    /// The scenario's lattice on each rank, instead of on all together
    #[arg(long)]
    pub weak: bool,
    /// Backends, or `all`
    #[arg(long, value_name = "A,B|all", default_value = "all", value_delimiter = ',')]
    pub backends: Vec<String>,
    /// Shells, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub shells: Vec<String>,
    /// Exchanges, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub exchanges: Vec<String>,
    /// Steps that are simulated [default: 8 to 40, fewer on many ranks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub steps: Option<u32>,
    /// Key of the scatter of compute times [default: the scenario's seed]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
    /// Progress bar on standard error
    #[arg(long, value_enum, default_value_t)]
    pub progress: ProgressMode,
}

/// Arguments of `partition`.
#[derive(Debug, Clone, Args)]
pub struct PartitionArgs {
    /// The scenario.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Number of ranks
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    pub ranks: u32,
    /// Partitions, or `all` [default: the scenario's]
    #[arg(long, value_name = "A,B|all", value_delimiter = ',')]
    pub partitions: Vec<String>,
    /// Print nothing but errors and warnings
    #[arg(long)]
    pub quiet: bool,
}

/// Largest number of threads, as in a scenario.
const MOST_THREADS: u64 = Threads::MOST as u64;

/// Largest number of ranks: the messages of more do not fit into the memory of a desktop computer.
const MOST_RANKS: i64 = 1 << 20;
