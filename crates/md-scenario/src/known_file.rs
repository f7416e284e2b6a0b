//! Files of an output directory that have fixed names, grouped by what they belong to.

/// A file with a fixed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile(&'static str);

impl KnownFile {
    /// Thermodynamic state over time.
    pub const THERMO: Self = Self("thermo.csv");
    /// Time per phase over all ranks.
    pub const TIMING: Self = Self("timing.csv");
    /// Time per phase and rank.
    pub const TIMING_RANKS: Self = Self("timing_ranks.csv");
    /// Summary of the run in one JSON object.
    pub const SUMMARY: Self = Self("summary.json");
    /// State of some nodes of a flow over time.
    pub const PROBE: Self = Self("probe.csv");
    /// Forces of a flow on obstacles and walls over time.
    pub const DRAG: Self = Self("drag.csv");
    /// All balancings of the work.
    pub const BALANCE: Self = Self("balance.csv");
    /// Properties of partitions.
    pub const PARTITION: Self = Self("partition.csv");
    /// Picture of the partitions.
    pub const PARTITION_SVG: Self = Self("partition.svg");
    /// Forces of one configuration.
    pub const FORCES: Self = Self("forces.csv");
    /// One row per halo strategy.
    pub const COMPARE: Self = Self("compare.csv");
    /// Bar chart of the halo strategies.
    pub const COMPARE_SVG: Self = Self("compare.svg");
    /// Bar chart of the halo strategies.
    pub const COMPARE_PNG: Self = Self("compare.png");
    /// Recommendation of a strategy.
    pub const RECOMMENDATION: Self = Self("recommendation.txt");
    /// One row per protocol and partition.
    pub const PROTOCOLS: Self = Self("protocols.csv");
    /// Messages and waits between ranks in a timeline.
    pub const MESSAGES: Self = Self("messages.csv");
    /// Picture of the messages and waits.
    pub const MESSAGES_SVG: Self = Self("messages.svg");
    /// Messages by size.
    pub const MESSAGE_SIZES: Self = Self("message_sizes.csv");
    /// Bar chart of the messages by size.
    pub const MESSAGE_SIZES_SVG: Self = Self("message_sizes.svg");
    /// Events that ranks waited for.
    pub const WAITS: Self = Self("waits.csv");
    /// Contributions to the duration of a run.
    pub const CRITICAL_PATH: Self = Self("critical_path.csv");
    /// One row per job of a sweep.
    pub const SWEEP: Self = Self("sweep.csv");
    /// Scaling of the jobs of a sweep.
    pub const SWEEP_SVG: Self = Self("sweep.svg");
    /// Output of failed jobs of a sweep.
    pub const SWEEP_FAILURES: Self = Self("sweep_failures.txt");
    /// One row per halo strategy and number of ranks.
    pub const PREDICT: Self = Self("predict.csv");
    /// Best strategy over the number of ranks.
    pub const PREDICT_SVG: Self = Self("predict.svg");
    /// The effective scenario.
    pub const SCENARIO: Self = Self("scenario.toml");
    /// One row per case of a micro-benchmark.
    pub const BENCH: Self = Self("bench.csv");
    /// Times of a micro-benchmark over the size of messages.
    pub const BENCH_SVG: Self = Self("bench.svg");
    /// Costs of messages and computation.
    pub const MACHINE: Self = Self("machine.toml");
    /// The fitted costs beside their data.
    pub const FIT_SVG: Self = Self("fit.svg");
    /// Plots of the files of a run in one page.
    pub const PLOT: Self = Self("plot.html");
    /// Results of a scenario, by `run`, `forces`, `compare` or `predict`. Each of these commands
    /// removes all of them, and those of `md_files::output::outputs::OUTPUTS`, so that none
    /// remains beside a scenario.toml to which it does not belong. The table of a sweep is
    /// continued, and contains its scenario.
    pub const RESULTS_OF_A_SCENARIO: [Self; 18] = [
        Self::PLOT,
        Self::PROBE,
        Self::DRAG,
        Self::TIMING,
        Self::TIMING_RANKS,
        Self::SUMMARY,
        Self::BALANCE,
        Self::PARTITION,
        Self::PARTITION_SVG,
        Self::FORCES,
        Self::COMPARE,
        Self::COMPARE_SVG,
        Self::COMPARE_PNG,
        Self::RECOMMENDATION,
        Self::PROTOCOLS,
        Self::PREDICT,
        Self::PREDICT_SVG,
        Self::SWEEP_FAILURES,
    ];
    /// Results of `bench`.
    pub const RESULTS_OF_A_BENCHMARK: [Self; 2] = [Self::BENCH, Self::BENCH_SVG];

    /// Creates a value for the file of an analysis.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name in the directory.
    pub fn name(self) -> &'static str {
        self.0
    }
}
