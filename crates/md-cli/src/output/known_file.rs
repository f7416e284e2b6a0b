//! The files of an output directory that have fixed names, and which of them belong together.

/// A file with a fixed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile(&'static str);

impl KnownFile {
    /// Thermodynamic state over time.
    pub const THERMO: Self = Self("thermo.csv");
    /// Radial distribution functions.
    pub const RDF: Self = Self("rdf.csv");
    /// Mean squared displacements.
    pub const MSD: Self = Self("msd.csv");
    /// Velocity autocorrelation functions.
    pub const VACF: Self = Self("vacf.csv");
    /// Shear viscosity over the time that is integrated.
    pub const VISCOSITY: Self = Self("viscosity.csv");
    /// What particles are like across the axes x, y and z.
    pub const PROFILES: [Self; 3] = [Self("profile_x.csv"), Self("profile_y.csv"), Self("profile_z.csv")];
    /// Time per phase over all ranks.
    pub const TIMING: Self = Self("timing.csv");
    /// Time per phase and rank.
    pub const TIMING_RANKS: Self = Self("timing_ranks.csv");
    /// The run in one JSON object.
    pub const SUMMARY: Self = Self("summary.json");
    /// State of some nodes of a flow over time.
    pub const PROBE: Self = Self("probe.csv");
    /// Forces of a flow on obstacles and walls over time.
    pub const DRAG: Self = Self("drag.csv");
    /// Every balancing of the work.
    pub const BALANCE: Self = Self("balance.csv");
    /// What partitions come to.
    pub const PARTITION: Self = Self("partition.csv");
    /// The same as a picture.
    pub const PARTITION_SVG: Self = Self("partition.svg");
    /// Forces of one configuration.
    pub const FORCES: Self = Self("forces.csv");
    /// One row per halo strategy.
    pub const COMPARE: Self = Self("compare.csv");
    /// The same as a bar chart.
    pub const COMPARE_SVG: Self = Self("compare.svg");
    /// The same as a bar chart.
    pub const COMPARE_PNG: Self = Self("compare.png");
    /// Which strategy to use.
    pub const RECOMMENDATION: Self = Self("recommendation.txt");
    /// One row per protocol and partition.
    pub const PROTOCOLS: Self = Self("protocols.csv");
    /// Messages and waits between ranks, of a timeline.
    pub const MESSAGES: Self = Self("messages.csv");
    /// The same as a picture.
    pub const MESSAGES_SVG: Self = Self("messages.svg");
    /// Messages by size.
    pub const MESSAGE_SIZES: Self = Self("message_sizes.csv");
    /// The same as a bar chart.
    pub const MESSAGE_SIZES_SVG: Self = Self("message_sizes.svg");
    /// What ranks waited for.
    pub const WAITS: Self = Self("waits.csv");
    /// What the length of a run consists of.
    pub const CRITICAL_PATH: Self = Self("critical_path.csv");
    /// One row per job of a sweep.
    pub const SWEEP: Self = Self("sweep.csv");
    /// How they scale.
    pub const SWEEP_SVG: Self = Self("sweep.svg");
    /// What jobs of a sweep said that failed.
    pub const SWEEP_FAILURES: Self = Self("sweep_failures.txt");
    /// One row per halo strategy and number of ranks.
    pub const PREDICT: Self = Self("predict.csv");
    /// The best of them over the number of ranks.
    pub const PREDICT_SVG: Self = Self("predict.svg");
    /// The effective scenario.
    pub const SCENARIO: Self = Self("scenario.toml");
    /// One row per case of a micro-benchmark.
    pub const BENCH: Self = Self("bench.csv");
    /// The same over the size of messages.
    pub const BENCH_SVG: Self = Self("bench.svg");
    /// What messages and computation cost.
    pub const MACHINE: Self = Self("machine.toml");
    /// The same beside its data.
    pub const FIT_SVG: Self = Self("fit.svg");
    /// What a run wrote, as pictures in one page.
    pub const PLOT: Self = Self("plot.html");
    /// Results of a scenario, by `run`, `forces`, `compare` or `predict`: each of them removes all, and those of
    /// [`super::run_output::OUTPUTS`], so that none stands beside a
    /// scenario.toml that it does not belong to. A sweep's table goes on, and knows its scenario.
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

    /// Name in the directory.
    pub fn name(self) -> &'static str {
        self.0
    }
}
