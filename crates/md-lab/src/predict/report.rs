//! Results of predictions: predict.csv, the table for the screen and the chart.

use md_engine::{Config, Phase};
use serde::Serialize;

use super::{CAVEATS, Forecast, Prediction, Request};
use crate::plot::{Line, Panel, Panels};
use crate::statistics::Interval;
use crate::tables::{left_aligned, table as csv_table};
use crate::{EncodeError, Strategy, name_of, significant};

/// Phases of a prediction, in the order of a step.
const PHASES: [Phase; 10] = [
    Phase::Integrate,
    Phase::Migrate,
    Phase::Border,
    Phase::Neighbor,
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloUnpack,
    Phase::Force,
    Phase::ForceReturn,
];

/// Number of strategies per number of ranks in the table and in the chart.
pub(super) const SHOWN: usize = 3;
const DIGITS: usize = 4;
const MS_PER_S: f64 = 1e3;

/// Returns predict.csv, with one row per strategy and number of ranks.
///
/// # Errors
/// [`EncodeError`]: a value cannot be written as CSV, or memory is exhausted.
pub fn predict_csv(
    forecast: &Forecast,
    config: &Config,
    request: &Request,
    version: &str,
) -> Result<Vec<u8>, EncodeError> {
    let phases = PHASES.map(|phase| format!("{}_s", phase.name())).join(",");
    let columns = [
        "backend,shell,exchange,partition,ranks,atoms,messages,bytes,step_s,step_low_s,step_high_s",
        &phases,
        "rebuild_s,mean_s,exchange_s,grid,ranks_per_node,placement,scaling,threads,precision,seed,version",
    ];
    csv_table(&columns, forecast.predictions.iter().map(|it| row(it, config, request, version)))
}

fn row<'r>(it: &'r Prediction, config: &Config, request: &Request, version: &'r str) -> impl Serialize + 'r {
    let Interval { median_s, low_s, high_s } = it.step;
    let ranks_per_node = request.ranks_per_node.unwrap_or(it.ranks);
    (
        (it.strategy, it.ranks, it.atoms, it.messages, it.bytes, [median_s, low_s, high_s]),
        (PHASES.map(|phase| it.phases[phase as usize]), [it.rebuild_s, it.mean_s, it.exchange_s], &it.grid),
        (ranks_per_node, name_of(request.placement), name_of(request.scaling)),
        (config.parallel.threads, config.neighbor.precision, request.seed, version),
    )
}

/// Returns the table: best strategies on each number of ranks, changes of the best one, remarks,
/// limits of the model.
pub fn table(forecast: &Forecast) -> String {
    let header =
        ["ranks", "grid", "backend", "shell", "exchange", "step, ms", "waiting", "messages", "bytes"];
    let mut lines = vec![header.map(str::to_owned)];
    lines.extend(leaders(forecast).into_iter().map(cells));
    let head =
        format!("step: median [95 % interval] of those played; the best {SHOWN} on each number of ranks\n");
    head + &left_aligned(&lines) + &remarks(forecast, &name, &CAVEATS)
}

/// Returns the [`SHOWN`] best strategies on each number of ranks.
pub(super) fn leaders(forecast: &Forecast) -> Vec<&Prediction> {
    let of_ranks = |best: &Prediction| {
        let mut all: Vec<_> = forecast.predictions.iter().filter(|it| it.ranks == best.ranks).collect();
        all.sort_by(|a, b| a.step.median_s.total_cmp(&b.step.median_s));
        all.into_iter().take(SHOWN)
    };
    forecast.best().into_iter().flat_map(of_ranks).collect()
}

/// Returns changes of the best strategy, remarks of the forecast and limits of the model.
pub(super) fn remarks(forecast: &Forecast, name: &dyn Fn(Strategy) -> String, caveats: &[&str]) -> String {
    let mut text = String::new();
    for [before, after] in forecast.changes() {
        let [was, is] = [before, after].map(|it| name(it.strategy));
        text +=
            &format!("the best changes between {} and {} ranks: {was} -> {is}\n", before.ranks, after.ranks);
    }
    forecast.remarks.iter().for_each(|remark| text += &format!("{remark}\n"));
    text += "not in the model:\n";
    caveats.iter().for_each(|caveat| text += &format!("  {caveat}\n"));
    text
}

fn cells(it: &Prediction) -> [String; 9] {
    let [backend, shell, exchange, _] = it.strategy.names();
    let [median, low, high] = [it.step.median_s, it.step.low_s, it.step.high_s]
        .map(|time_s| significant(MS_PER_S * time_s, DIGITS));
    let waiting =
        100.0 * it.phases[Phase::HaloWait as usize] / it.phases[Phase::Total as usize].max(f64::MIN_POSITIVE);
    [
        it.ranks.to_string(),
        it.grid.clone(),
        backend,
        shell,
        exchange,
        format!("{median} [{low}, {high}]"),
        format!("{waiting:.1} %"),
        significant(it.messages, DIGITS),
        significant(it.bytes, DIGITS),
    ]
}

fn name(strategy: Strategy) -> String {
    let [backend, shell, exchange, _] = strategy.names();
    format!("{backend} {shell} {exchange}")
}

/// Smallest fraction of a step that is drawn as a phase.
const LEAST_SHARE: f64 = 1e-6;

/// Returns charts of the step times of all strategies that are among the best on some number of
/// ranks, and of the phases of the best strategy, over the number of ranks.
pub fn chart(forecast: &Forecast) -> Panels {
    chart_named(forecast, &name)
}

/// Like [`chart`], with other names of the strategies.
pub(super) fn chart_named(forecast: &Forecast, name: &dyn Fn(Strategy) -> String) -> Panels {
    let best = forecast.best();
    let mut shown: Vec<Strategy> = Vec::new();
    for it in &forecast.predictions {
        let is_better =
            |other: &&Prediction| other.ranks == it.ranks && other.step.median_s < it.step.median_s;
        let better = forecast.predictions.iter().filter(is_better).count();
        if better < SHOWN && !shown.contains(&it.strategy) {
            shown.push(it.strategy);
        }
    }
    let line = |strategy: Strategy| {
        let own = forecast.predictions.iter().filter(|it| it.strategy == strategy);
        Line { name: name(strategy), points: own.map(|it| (it.ranks as f64, it.step)).collect() }
    };
    let phase = |phase: Phase| {
        let point = |it: &&Prediction| {
            // Rounding errors of a difference would stretch the axis over all decades.
            let least_s = LEAST_SHARE * it.phases[Phase::Total as usize];
            let time_s = Some(it.phases[phase as usize]).filter(|it| *it >= least_s).unwrap_or(0.0);
            (it.ranks as f64, Interval { median_s: time_s, low_s: time_s, high_s: time_s })
        };
        Line { name: phase.name().to_owned(), points: best.iter().map(point).collect() }
    };
    let panel =
        |title: &str, lines: Vec<Line>| Panel { title: title.to_owned(), axis: "ranks".to_owned(), lines };
    Panels {
        panels: vec![
            panel("step, s: the best strategies", shown.into_iter().map(line).collect()),
            panel("phases of the best strategy, s per step", PHASES.into_iter().map(phase).collect()),
        ],
    }
}
