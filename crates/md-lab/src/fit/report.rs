//! The fits on the screen, and beside their data.

use md_engine::Phase;

use super::{Coefficient, ComputeFit, Fitted, MessageFit};
use crate::machine::MessageCost;
use crate::plot::{Line, Panel, Panels};
use crate::statistics::Interval;
use crate::tables::aligned;
use crate::{name_of, significant};

const US_PER_S: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
const DIGITS: usize = 3;

/// All coefficients with half of their 95 % intervals, how far model and measurements are apart, and what is missing.
pub fn table(fitted: &Fitted) -> String {
    let Fitted { machine, messages, computes, remarks } = fitted;
    let messages = messages.iter().map(message_cells).collect();
    let collectives = machine.collectives.iter().map(|it| {
        let [one, doubling] = [it.base_s, it.per_doubling_s].map(|s| significant(US_PER_S * s, DIGITS));
        vec![name_of(it.operation), name_of(it.distance), one, doubling, percent(it.rms_residual)]
    });
    let tables = [
        ("messages,distance,bytes,latency us,ns/byte,overhead us,rms %,largest,held out %,largest", messages),
        ("collective,distance,one rank us,doubling us,rms %", collectives.collect()),
        (
            "method,precision,cost,ns,rms %,largest,held out %,largest",
            computes.iter().flat_map(compute_cells).collect::<Vec<_>>(),
        ),
    ];
    let mut text = String::new();
    for (header, rows) in tables.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        let header = header.split(',').map(str::to_owned).collect();
        text += &format!("{}\n", aligned(&[vec![header], rows].concat()));
    }
    remarks.iter().for_each(|remark| text += &format!("{remark}\n"));
    text
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn with_interval(it: Coefficient, unit: f64) -> String {
    format!("{} +- {}", significant(unit * it.value, DIGITS), significant(unit * it.half_width, 2))
}

fn message_cells(fit: &MessageFit) -> Vec<String> {
    let MessageCost { backend, distance, from_bytes, overhead_s, rms_residual, largest_residual, .. } =
        fit.cost;
    let [latency, byte] = fit.coefficients;
    let mut cells = vec![name_of(backend), name_of(distance), format!("{from_bytes}-")];
    cells.extend([with_interval(latency, US_PER_S), with_interval(byte, NS_PER_S)]);
    cells.push(significant(US_PER_S * overhead_s, DIGITS));
    cells.extend([rms_residual, largest_residual, fit.held_out.rms, fit.held_out.largest].map(percent));
    cells
}

fn compute_cells(fit: &ComputeFit) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for part in &fit.parts {
        let of_part = [part.residuals, part.held_out].map(|it| [it.rms, it.largest].map(percent)).concat();
        for (name, coefficient) in &part.coefficients {
            let own = [name_of(fit.cost.method), name_of(fit.cost.precision), (*name).to_owned()];
            rows.push([own.to_vec(), vec![with_interval(*coefficient, NS_PER_S)], of_part.clone()].concat());
        }
    }
    rows
}

/// Each backend over the lengths of messages, each method over its pairs: measurements, and the lines that were fitted.
pub fn picture(fitted: &Fitted) -> Panels {
    let exactly = |value: f64| Interval { median_s: value, low_s: value, high_s: value };
    let line = |name: &str, points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut points: Vec<_> = points.map(|(place, value)| (place, exactly(value))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { name: name.to_owned(), points }
    };
    let kinds = fitted
        .messages
        .chunk_by(|a, b| (a.cost.backend, a.cost.distance) == (b.cost.backend, b.cost.distance));
    let of_messages = kinds.map(|ranges| {
        let MessageCost { backend, distance, .. } = &ranges[0].cost;
        let points = || ranges.iter().flat_map(|fit| fit.points.iter().map(move |point| (fit, point)));
        let measured = |held_out: bool| {
            let chosen = points().filter(move |(_, point)| point.held_out == held_out);
            chosen.map(|(_, point)| (point.bytes, US_PER_S * point.one_way_s))
        };
        Panel {
            title: format!("{} ({}), microseconds one way", name_of(backend), name_of(distance)),
            axis: "bytes".to_owned(),
            lines: vec![
                line("measured", &mut measured(false)),
                line("held out", &mut measured(true)),
                line(
                    "model",
                    &mut points()
                        .map(|(fit, point)| (point.bytes, US_PER_S * fit.cost.one_way_s(point.bytes))),
                ),
            ],
        }
    });
    let of_work = fitted.computes.iter().map(|fit| {
        let all = || fit.observations.iter();
        let measured = |held_out: bool| {
            let chosen = all().filter(move |it| it.held_out == held_out);
            chosen.map(|it| (it.pairs, US_PER_S * it.phase_s(Phase::Force)))
        };
        let [method, precision] = [name_of(fit.cost.method), name_of(fit.cost.precision)];
        Panel {
            title: format!("forces, {method} {precision}, microseconds"),
            axis: "computed pairs".to_owned(),
            lines: vec![
                line("measured", &mut measured(false)),
                line("held out", &mut measured(true)),
                line("model", &mut all().map(|it| (it.pairs, US_PER_S * fit.force_s(it)))),
            ],
        }
    });
    Panels { panels: of_messages.chain(of_work).collect() }
}
