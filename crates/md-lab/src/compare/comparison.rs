//! What a comparison of halo strategies reports: plain data between the measurement and the outputs.

use std::fmt;

use md_comm::{Backend, Blocking};
use md_engine::Phase;
use serde::Serialize;

use crate::statistics::{Interval, SAMPLES_FOR_CONFIDENCE};
use crate::{RunContext, Status, Variant};

/// Seconds per step of each phase, indexed by `Phase as usize`: mean over ranks, median over repetitions.
pub(super) type StepPhases = [f64; Phase::ALL.len()];

/// The phases that a transport has a part in.
pub(super) const HALO_PHASES: [Phase; 7] = [
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloUnpack,
    Phase::ForceReturn,
    Phase::Border,
    Phase::Migrate,
];

/// What one strategy measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Messages per exchange, mean over ranks.
    pub messages: f64,
    /// Bytes per exchange, mean over ranks.
    pub bytes: f64,
    /// The exchange alone.
    pub exchange: Interval,
    /// The step, of the slowest rank.
    pub step: Interval,
    /// Its phases.
    pub phases: StepPhases,
    /// Share of the steps that rebuilt, 0 to 1.
    pub rebuilt_share: f64,
}

impl Measured {
    /// Share of the halo in the step, 0 to 1.
    pub fn halo_share(&self) -> f64 {
        let total_s = self.phases[Phase::Total as usize];
        let halo_s: f64 = HALO_PHASES.iter().map(|&phase| self.phases[phase as usize]).sum();
        if total_s > 0.0 { (halo_s / total_s).min(1.0) } else { 0.0 }
    }
}

/// What strategies are compared on, particles or nodes of a grid: what makes a row of compare.csv stand alone there.
pub trait RowContext: Clone + Serialize + Send + 'static {
    /// Those of [`Strategy::KEYS`](crate::Strategy::KEYS) that there are.
    const KEYS: &'static [&'static str];
    /// Columns before the numbers: of [`Self::before`].
    const BEFORE: &'static str;
    /// Columns of the messages and bytes of an exchange.
    const SENT: &'static str;
    /// The phases of the halo that have a column, before that of what is hidden.
    const PHASES: &'static [Phase];
    /// Columns behind the note: of [`Self::after`].
    const AFTER: &'static [&'static str] = &[];

    /// Values before the numbers.
    fn before(&self) -> impl Serialize {
        self
    }

    /// Values behind the note.
    fn after(&self) -> impl Serialize {
        [""; 0]
    }

    /// What is computed and how much of it, in words: `16000 atoms`.
    fn extent(&self) -> String;

    /// What it was measured with.
    fn job(&self) -> Job<'_>;
}

/// What a row was measured with.
#[derive(Debug, Clone, Copy)]
pub struct Job<'c> {
    /// Number of ranks.
    pub ranks: usize,
    /// Steps of a sample.
    pub steps: u64,
    /// Host name of rank 0.
    pub host: &'c str,
}

/// A strategy whose numbers can be trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked<'c> {
    /// Which, and what is varied beside it.
    pub variant: &'c Variant,
    /// What it is called by: [`RowContext::KEYS`].
    pub keys: &'static [&'static str],
    /// Its numbers.
    pub measured: &'c Measured,
}

impl fmt::Display for Ranked<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.variant.names(self.keys).join(" "))
    }
}

/// One row of compare.csv.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyReport<C = RunContext> {
    /// The strategy, and what is varied beside it.
    pub variant: Variant,
    /// What makes the row stand alone.
    pub context: C,
    /// `None` where nothing was measured.
    pub measured: Option<Measured>,
    /// Whether its forces, or values, are those of the reference; `None` where that was not found out.
    pub correct: Option<bool>,
    /// How it fared.
    pub status: Status,
    /// Why, if not well; what is special about it.
    pub note: String,
}

/// Strategies that can hang are measured after the others; what was measured before is measured once more beside them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// The group.
    pub beside: Blocking,
    /// The baseline's row.
    pub row: usize,
    /// What it measured then.
    pub again: Measured,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison<C = RunContext> {
    /// One per strategy, in the order they were asked for.
    pub rows: Vec<StrategyReport<C>>,
    /// The row of the scenario's own setting, if it is among them.
    pub own: Option<usize>,
    /// The baseline, measured again beside each later group.
    pub controls: Vec<Control>,
    /// What backend `hybrid` uses between nodes.
    pub between_nodes: Backend,
    /// Repetitions.
    pub repeat: usize,
    /// Ranks per core of the machine that rank 0 runs on, if all ranks run there; above 1 the numbers measure the
    /// scheduler.
    pub ranks_per_core: f64,
}

impl<C: RowContext> StrategyReport<C> {
    /// Its numbers, if they can be trusted.
    pub fn valid(&self) -> Option<Ranked<'_>> {
        let measured = self.measured.as_ref().filter(|_| self.status == Status::Ok)?;
        Some(Ranked { variant: &self.variant, keys: C::KEYS, measured })
    }

    /// What the row is about, in words.
    pub fn name(&self) -> String {
        self.variant.names(C::KEYS).join(" ")
    }
}

/// Two-sided messages as everybody uses them.
pub(super) const BASELINE: Backend = Backend::P2p;

/// Below this share of a step the halo does not matter.
pub(super) const SMALL_SHARE: f64 = 0.05;

/// What strategies are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedBy {
    /// The exchange alone: the strategies differ in the backend only, and the rest of the step is the same for all.
    Exchange,
    /// The step: shell, exchange or partition differ, and with them the bytes moved and the work done.
    Step,
    /// The step, although the strategies differ in the backend only: the exchange alone is not what a step pays, because every step
    /// rebuilds, or because the halo matters and hides behind computation.
    WholeStep,
}

impl RankedBy {
    /// The interval that decides.
    pub fn interval(self, measured: &Measured) -> Interval {
        match self {
            Self::Exchange => measured.exchange,
            Self::Step | Self::WholeStep => measured.step,
        }
    }
}

impl<C: RowContext> Comparison<C> {
    /// What the bounds of the intervals are.
    pub fn bounds(&self) -> &'static str {
        if self.repeat < SAMPLES_FOR_CONFIDENCE { "range" } else { "95 % interval" }
    }

    /// What these strategies are ranked by.
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

    /// Whether every step rebuilt, with all strategies: then positions have travelled with the border only.
    pub fn always_rebuilds(&self) -> bool {
        self.valid().next().is_some() && self.valid().all(|ranked| ranked.measured.rebuilt_share >= 1.0)
    }

    /// Whether a halo that is worth looking at travels beside computation.
    pub fn hides_much(&self) -> bool {
        /// Of a step: less is the time between two looks at the clock.
        const LEAST_HIDDEN: f64 = 0.01;
        let hides = |measured: &Measured| {
            let [hidden_s, total_s] =
                [Phase::HaloHidden, Phase::Total].map(|phase| measured.phases[phase as usize]);
            hidden_s > LEAST_HIDDEN * total_s
        };
        self.valid().any(|Ranked { measured, .. }| hides(measured) && measured.halo_share() >= SMALL_SHARE)
    }

    /// Whether `a` is surely smaller than `b` in what `by` looks at: beyond their intervals, and by more than what the machine
    /// has changed if they were not measured in turn.
    pub fn is_surely_below(&self, by: RankedBy, a: Ranked, b: Ranked) -> bool {
        by.interval(a.measured).times(self.machine_factor(by, a, b)).is_below(&by.interval(b.measured))
    }

    /// By which factor, 1 or more, the machine was surely another one for these two.
    fn machine_factor(&self, by: RankedBy, a: Ranked, b: Ranked) -> f64 {
        let groups = [a, b].map(|ranked| ranked.variant.strategy.blocking(self.between_nodes));
        if groups[0] == groups[1] {
            return 1.0;
        }
        let controls = self.controls.iter().filter(|control| groups.contains(&control.beside));
        let ratios = controls.filter_map(|control| self.sure_change(by, control));
        ratios.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max)
    }

    /// The baseline's time beside a later group over its time before, if that is surely another one.
    pub fn sure_change(&self, by: RankedBy, control: &Control) -> Option<f64> {
        let first = self.rows.get(control.row)?.measured.as_ref()?;
        let (then, before) = (by.interval(&control.again), by.interval(first));
        (then.is_below(&before) || before.is_below(&then)).then(|| then.median_s / before.median_s)
    }

    /// What the others are held against: two-sided messages as in the scenario, or with everything else as in the scenario, or
    /// the best of them; without any, the scenario's own setting, or the first that was measured.
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

    /// Whether the row is the [`Self::baseline`].
    pub fn is_baseline(&self, row: &StrategyReport<C>) -> bool {
        row.valid().is_some_and(|ranked| Some(ranked) == self.baseline())
    }

    /// Strategies with a valid measurement, best first.
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
