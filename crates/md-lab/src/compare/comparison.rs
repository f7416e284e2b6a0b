//! Report of a comparison of halo strategies: plain data between measurement and output.

use std::fmt;

use md_comm::{Backend, Blocking};
use md_engine::Phase;
use serde::Serialize;

use crate::statistics::{Interval, SAMPLES_FOR_CONFIDENCE};
use crate::{RunContext, Status, Variant};

/// Seconds per step of each phase, indexed by `Phase as usize`: mean over ranks, median over
/// repetitions.
pub(super) type StepPhases = [f64; Phase::ALL.len()];

/// Phases that depend on the transport.
pub(super) const HALO_PHASES: [Phase; 7] = [
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloUnpack,
    Phase::ForceReturn,
    Phase::Border,
    Phase::Migrate,
];

/// Measurements of one strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Messages per exchange, mean over ranks.
    pub messages: f64,
    /// Bytes per exchange, mean over ranks.
    pub bytes: f64,
    /// Time of the exchange alone.
    pub exchange: Interval,
    /// Time of a step, of the slowest rank.
    pub step: Interval,
    /// Seconds of its phases.
    pub phases: StepPhases,
    /// Share of the steps that rebuilt, 0 to 1.
    pub rebuilt_share: f64,
}

impl Measured {
    /// Returns the share of the halo in the step, 0 to 1.
    pub fn halo_share(&self) -> f64 {
        let total_s = self.phases[Phase::Total as usize];
        let halo_s: f64 = HALO_PHASES.iter().map(|&phase| self.phases[phase as usize]).sum();
        if total_s > 0.0 { (halo_s / total_s).min(1.0) } else { 0.0 }
    }
}

/// Context that makes a row of `compare.csv` self-contained, for particles or for nodes of a grid.
pub trait RowContext: Clone + Serialize + Send + 'static {
    /// Those of [`Strategy::KEYS`](crate::Strategy::KEYS) that apply to the system.
    const KEYS: &'static [&'static str];
    /// Columns before the numbers, for [`Self::before`].
    const BEFORE: &'static str;
    /// Columns of the messages and bytes of an exchange.
    const SENT: &'static str;
    /// Phases of the halo that have a column, before the column of the hidden time.
    const PHASES: &'static [Phase];
    /// Columns behind the note, for [`Self::after`].
    const AFTER: &'static [&'static str] = &[];

    /// Returns the values before the numbers.
    fn before(&self) -> impl Serialize {
        self
    }

    /// Returns the values behind the note.
    fn after(&self) -> impl Serialize {
        [""; 0]
    }

    /// Returns the size of the system in words: `16000 atoms`.
    fn extent(&self) -> String;

    /// Returns the ranks, steps and host of the measurement.
    fn job(&self) -> MeasurementContext<'_>;
}

/// Ranks, steps and host of a row's measurement.
#[derive(Debug, Clone, Copy)]
pub struct MeasurementContext<'c> {
    /// Number of ranks.
    pub ranks: usize,
    /// Steps of a sample.
    pub steps: u64,
    /// Host name of rank 0.
    pub host: &'c str,
}

/// A strategy with a valid measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked<'c> {
    /// Strategy and varied settings.
    pub variant: &'c Variant,
    /// Keys of its name: [`RowContext::KEYS`].
    pub keys: &'static [&'static str],
    /// Measurements.
    pub measured: &'c Measured,
}

impl fmt::Display for Ranked<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.variant.names(self.keys).join(" "))
    }
}

/// One row of `compare.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyReport<C = RunContext> {
    /// Strategy and varied settings.
    pub variant: Variant,
    /// Context that makes the row self-contained.
    pub context: C,
    /// Measurements; `None` where nothing was measured.
    pub measured: Option<Measured>,
    /// Whether the forces or values agree with the reference; `None` if they were not checked.
    pub correct: Option<bool>,
    /// Outcome of the trials.
    pub status: Status,
    /// Reason for a status other than `ok`, and remarks.
    pub note: String,
}

/// Second measurement of the baseline, next to a later group of strategies, which can hang.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// Group of strategies measured next to it.
    pub beside: Blocking,
    /// Row of the baseline.
    pub row: usize,
    /// Second measurement.
    pub again: Measured,
}

/// A whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison<C = RunContext> {
    /// One row per strategy, in the order of the request.
    pub rows: Vec<StrategyReport<C>>,
    /// Row of the scenario's own setting, if it is among them.
    pub own: Option<usize>,
    /// Baseline, measured again next to each later group.
    pub controls: Vec<Control>,
    /// Backend that `hybrid` uses between nodes.
    pub between_nodes: Backend,
    /// Number of repetitions.
    pub repeat: usize,
    /// Ranks per core of rank 0's machine, if all ranks run there; above 1 the numbers measure the
    /// scheduler.
    pub ranks_per_core: f64,
}

impl<C: RowContext> StrategyReport<C> {
    /// Returns the measurement if it is valid.
    pub fn valid(&self) -> Option<Ranked<'_>> {
        let measured = self.measured.as_ref().filter(|_| self.status == Status::Ok)?;
        Some(Ranked { variant: &self.variant, keys: C::KEYS, measured })
    }

    /// Returns the name of the strategy.
    pub fn name(&self) -> String {
        self.variant.names(C::KEYS).join(" ")
    }
}

/// Baseline: ordinary two-sided messages.
pub(super) const BASELINE: Backend = Backend::P2p;

/// Share of a step below which the halo does not matter.
pub(super) const SMALL_SHARE: f64 = 0.05;

/// Time by which strategies are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedBy {
    /// The exchange alone: the strategies differ only in the backend, and the rest of the step is
    /// the same.
    Exchange,
    /// The step: shell, exchange or partition differ, and with them the bytes moved and the work.
    Step,
    /// The step, although the strategies differ only in the backend: the exchange alone is not the
    /// cost in a step, because every step rebuilds, or because the halo matters and hides behind
    /// computation.
    WholeStep,
}

impl RankedBy {
    /// Returns the interval of this time.
    pub fn interval(self, measured: &Measured) -> Interval {
        match self {
            Self::Exchange => measured.exchange,
            Self::Step | Self::WholeStep => measured.step,
        }
    }
}

impl<C: RowContext> Comparison<C> {
    /// Returns the name of the bounds of the intervals.
    pub fn bounds(&self) -> &'static str {
        if self.repeat < SAMPLES_FOR_CONFIDENCE { "range" } else { "95 % interval" }
    }

    /// Returns the time by which these strategies are ranked.
    pub fn ranked_by(&self) -> RankedBy {
        let mut valid = self.valid();
        match valid.next() {
            Some(first) if !valid.all(|other| other.variant.strategy.same_work(first.variant.strategy)) => {
                RankedBy::Step
            }
            _ if self.always_rebuilds() || self.hides_much() => RankedBy::WholeStep,
            _ => RankedBy::Exchange,
        }
    }

    /// Returns whether every step rebuilt, with all strategies; positions then travel only with the
    /// border.
    pub fn always_rebuilds(&self) -> bool {
        self.valid().next().is_some() && self.valid().all(|ranked| ranked.measured.rebuilt_share >= 1.0)
    }

    /// Returns whether a halo of relevant size is exchanged during computation.
    pub fn hides_much(&self) -> bool {
        /// Share of a step; less is the time between two readings of the clock.
        const LEAST_HIDDEN: f64 = 0.01;
        let hides = |measured: &Measured| {
            let [hidden_s, total_s] =
                [Phase::HaloHidden, Phase::Total].map(|phase| measured.phases[phase as usize]);
            hidden_s > LEAST_HIDDEN * total_s
        };
        self.valid().any(|Ranked { measured, .. }| hides(measured) && measured.halo_share() >= SMALL_SHARE)
    }

    /// Returns whether `a` is surely smaller than `b` in the time `by`: their intervals do not
    /// overlap even if one is scaled by the change of the machine between groups.
    pub fn is_surely_below(&self, by: RankedBy, a: Ranked, b: Ranked) -> bool {
        by.interval(a.measured).times(self.machine_factor(by, a, b)).is_below(&by.interval(b.measured))
    }

    /// Returns the factor, 1 or more, by which the machine surely changed between these two.
    fn machine_factor(&self, by: RankedBy, a: Ranked, b: Ranked) -> f64 {
        let groups = [a, b].map(|ranked| ranked.variant.strategy.blocking(self.between_nodes));
        if groups[0] == groups[1] {
            return 1.0;
        }
        let controls = self.controls.iter().filter(|control| groups.contains(&control.beside));
        let ratios = controls.filter_map(|control| self.sure_change(by, control));
        ratios.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max)
    }

    /// Returns the baseline's time next to a later group over its time before, if they surely
    /// differ.
    pub fn sure_change(&self, by: RankedBy, control: &Control) -> Option<f64> {
        let first = self.rows.get(control.row)?.measured.as_ref()?;
        let (then, before) = (by.interval(&control.again), by.interval(first));
        (then.is_below(&before) || before.is_below(&then)).then(|| then.median_s / before.median_s)
    }

    /// Returns the strategy that the others are compared with: two-sided messages as in the
    /// scenario, or with all other settings as in the scenario, or the best of them; without any,
    /// the scenario's own setting, or the first strategy that was measured.
    pub fn baseline(&self) -> Option<Ranked<'_>> {
        let own = self.own.and_then(|own| self.rows.get(own));
        let ranking = self.ranking();
        let mut two_sided = ranking.into_iter().filter(|ranked| ranked.variant.strategy.backend == BASELINE);
        let measured = own.and_then(StrategyReport::valid);
        if let Some(present) = measured.filter(|own| own.variant.strategy.backend == BASELINE) {
            return Some(present);
        }
        let is_alike =
            |ranked: &Ranked| own.is_some_and(|own| ranked.variant.strategy.same_work(own.variant.strategy));
        two_sided
            .clone()
            .find(is_alike)
            .or_else(|| two_sided.next())
            .or(measured)
            .or_else(|| self.valid().next())
    }

    /// Returns whether the row is the [`Self::baseline`].
    pub fn is_baseline(&self, row: &StrategyReport<C>) -> bool {
        row.valid().is_some_and(|ranked| Some(ranked) == self.baseline())
    }

    /// Returns the strategies with a valid measurement, best first.
    pub fn ranking(&self) -> Vec<Ranked<'_>> {
        let median_s = |ranked: &Ranked| self.ranked_by().interval(ranked.measured).median_s;
        let mut ranking: Vec<_> = self.valid().collect();
        ranking.sort_by(|a, b| median_s(a).total_cmp(&median_s(b)));
        ranking
    }

    fn valid(&self) -> impl Iterator<Item = Ranked<'_>> {
        self.rows.iter().filter_map(StrategyReport::valid)
    }
}
