//! Fits on the screen, and plots with their data.

use super::{Coefficient, CollectiveFit, ComputeFit, Fitted, MessageFit, PartPoint};
use crate::machine::{CollectiveCost, MessageCost};
use crate::plot::{Line, Panel, Panels};
use crate::statistics::Interval;
use crate::tables::aligned;
use crate::{name_of, significant};

const US_PER_S: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
const DIGITS: usize = 3;

/// Returns all coefficients with half of their 95 % intervals, the residuals of the fits, and the
/// remarks.
pub fn table(fitted: &Fitted) -> String {
    let Fitted { messages, collectives, computes, remarks, .. } = fitted;
    let messages = messages.iter().map(message_cells).collect();
    let collectives = collectives.iter().map(|CollectiveFit { cost, coefficients, .. }| {
        let [one, doubling] = coefficients.map(|it| with_interval(it, US_PER_S));
        let [rms, largest] = [cost.rms_residual, cost.largest_residual].map(percent);
        vec![name_of(cost.operation), name_of(cost.distance), one, doubling, rms, largest]
    });
    let tables = [
        (
            "messages,distance,bytes,latency us,ns/byte,overhead us,serial,rms %,largest,held out %,largest",
            messages,
        ),
        ("collective,distance,one rank us,doubling us,rms %,largest", collectives.collect()),
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
    if it.is_at_bound() {
        return "0 (bound)".to_owned();
    }
    format!("{} +- {}", significant(unit * it.value, DIGITS), significant(unit * it.half_width, 2))
}

fn message_cells(fit: &MessageFit) -> Vec<String> {
    let MessageCost { backend, distance, from_bytes, rms_residual, largest_residual, .. } = fit.cost;
    let [latency, byte, overhead, share] = fit.coefficients;
    let mut cells = vec![name_of(backend), name_of(distance), format!("{from_bytes}-")];
    let costs = [(latency, US_PER_S), (byte, NS_PER_S), (overhead, US_PER_S), (share, 1.0)];
    cells.extend(costs.map(|(cost, unit)| with_interval(cost, unit)));
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

/// Returns plots of measurements and fitted lines: each backend over message length, collective
/// calls over ranks, and each part of a method over its amount of work.
pub fn picture(fitted: &Fitted) -> Panels {
    let kinds = fitted
        .messages
        .chunk_by(|a, b| (a.cost.backend, a.cost.distance) == (b.cost.backend, b.cost.distance));
    let of_messages = kinds.map(|ranges| {
        let MessageCost { backend, distance, .. } = &ranges[0].cost;
        let points = ranges.iter().flat_map(|fit| {
            fit.points.iter().map(|it| PartPoint {
                amount: it.bytes,
                measured_s: it.one_way_s,
                model_s: fit.cost.one_way_s(it.bytes),
                held_out: it.held_out,
            })
        });
        let title = format!("{} ({}), microseconds one way", name_of(backend), name_of(distance));
        panel(title, "bytes", &points.collect::<Vec<_>>())
    });
    let of_collectives = fitted.collectives.iter().map(|fit| {
        let CollectiveCost { operation, distance, base_s, per_doubling_s, .. } = &fit.cost;
        let points = fit.points.iter().map(|&(amount, measured_s)| {
            let model_s = base_s + per_doubling_s * amount.log2();
            PartPoint { amount, measured_s, model_s, held_out: false }
        });
        let title = format!("{} ({}), microseconds", name_of(operation), name_of(distance));
        panel(title, "ranks", &points.collect::<Vec<_>>())
    });
    let of_work = fitted.computes.iter().flat_map(|fit| {
        let [method, precision] = [name_of(fit.cost.method), name_of(fit.cost.precision)];
        fit.parts.iter().map(move |part| {
            panel(format!("{}, {method} {precision}, microseconds", part.name), part.unit, &part.points)
        })
    });
    Panels { panels: of_messages.chain(of_collectives).chain(of_work).collect() }
}

fn panel(title: String, axis: &str, points: &[PartPoint]) -> Panel {
    let exactly = |value: f64| Interval { median_s: value, low_s: value, high_s: value };
    let line = |name: &str, wanted: &dyn Fn(&PartPoint) -> bool, time_s: fn(&PartPoint) -> f64| {
        let chosen = points.iter().filter(|point| wanted(point));
        let mut points: Vec<_> =
            chosen.map(|point| (point.amount, exactly(US_PER_S * time_s(point)))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { name: name.to_owned(), points }
    };
    let lines = vec![
        line("measured", &|point| !point.held_out, |point| point.measured_s),
        line("held out", &|point| point.held_out, |point| point.measured_s),
        line("model", &|_| true, |point| point.model_s),
    ];
    Panel { title, axis: axis.to_owned(), lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coefficient_at_its_bound_has_no_interval() {
        let cells = [(0.0, 0.0), (2e-6, 5e-7), (2e-6, f64::INFINITY)]
            .map(|(value, half_width)| with_interval(Coefficient { value, half_width }, US_PER_S));
        assert_eq!(cells, ["0 (bound)", "2 +- 0.5", "2 +- inf"]);
    }
}
