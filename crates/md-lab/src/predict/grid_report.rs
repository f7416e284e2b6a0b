//! Results for a grid: predict.csv, the table for the screen and the chart.

use md_engine::Phase;

use super::report::{SHOWN, chart_named, leaders, remarks};
use super::{CAVEATS, Forecast, Prediction, Request};
use crate::plot::Panels;
use crate::tables::table;
use crate::{EncodeError, Strategy, name_of, significant};

const DIGITS: usize = 4;
/// Phases of a prediction on a grid.
const PHASES: [Phase; 6] = [
    Phase::Integrate,
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloUnpack,
    Phase::Reduce,
];

/// Description of the application on a grid and of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridSubject {
    /// Kind of application, such as `tvd`.
    pub kind: String,
    /// Number of fields for which an update of a node is counted.
    pub fields: usize,
    /// Name of the way in which fields share messages, such as `aggregated`.
    pub messages: String,
}

/// Returns predict.csv, with one row per strategy and number of ranks.
///
/// # Errors
/// [`EncodeError`]: a value cannot be written as CSV, or memory is exhausted.
pub fn grid_csv(
    forecast: &Forecast,
    GridSubject { kind, fields, messages }: &GridSubject,
    request: &Request,
    version: &str,
) -> Result<Vec<u8>, EncodeError> {
    let phases = PHASES.map(|phase| format!("{}_s", phase.name())).join(",");
    let columns = [
        "backend,exchange,messages,kind,nodes,fields,grid,ranks,messages_per_step,bytes_per_step,step_s,step_low_s,step_high_s",
        &phases,
        "exchange_s,ranks_per_node,placement,efficiency,version",
    ];
    let row = |it: &Prediction| {
        let step = [it.step.median_s, it.step.low_s, it.step.high_s];
        (
            (it.strategy.backend, it.strategy.exchange, messages, kind, it.atoms, fields),
            (it.grid.clone(), it.ranks, it.messages, it.bytes, step),
            PHASES.map(|phase| it.phases[phase as usize]),
            (it.exchange_s, request.ranks_per_node.unwrap_or(it.ranks)),
            (name_of(request.placement), efficiency(forecast, it), version),
        )
    };
    table(&columns, forecast.predictions.iter().map(row))
}

/// Returns the table: best strategies on each number of ranks, remarks, limits of the model.
pub fn grid_table(forecast: &Forecast) -> String {
    let mut text = format!("step: median of those played; the best {SHOWN} on each number of ranks\n");
    for it in leaders(forecast) {
        let [step, exchange] = [it.step.median_s, it.exchange_s].map(|s| significant(1e3 * s, DIGITS));
        let [messages, bytes] = [it.messages, it.bytes].map(|it| significant(it, DIGITS));
        let efficiency = efficiency(forecast, it).map_or("unknown".to_owned(), |it| significant(it, DIGITS));
        text += &format!(
            "{:>8} ranks ({})  {:24} step {step} ms, exchange {exchange} ms, efficiency {efficiency}, {messages} messages, {bytes} bytes\n",
            it.ranks,
            it.grid,
            name(it.strategy)
        );
    }
    text + &remarks(forecast, &name, &CAVEATS[..CAVEATS.len() - 1])
}

/// Returns the nodes per second and rank, as a fraction of those on the fewest ranks with the same
/// strategy, for strong and weak scaling. `None` if a step takes no time, as on one rank without
/// compute costs.
fn efficiency(forecast: &Forecast, of: &Prediction) -> Option<f64> {
    let speed = |it: &Prediction| it.atoms as f64 / (it.step.median_s * it.ranks as f64);
    let same = forecast.predictions.iter().filter(|it| it.strategy == of.strategy);
    let fewest = same.min_by_key(|it| it.ranks).unwrap_or(of);
    Some(speed(of) / speed(fewest)).filter(|share| share.is_finite() && *share > 0.0)
}

/// Like [`super::chart`].
pub fn grid_chart(forecast: &Forecast) -> Panels {
    chart_named(forecast, &name)
}

fn name(strategy: Strategy) -> String {
    format!("{} {}", name_of(strategy.backend), name_of(strategy.exchange))
}
