//! Plots of time and bandwidth over message size.

use super::Row;
use super::rows::{distinct, kinds};
use crate::plot::{Line, Panel, Panels};
use crate::statistics::Interval;

const US_PER_S: f64 = 1e6;
const BYTES_PER_GB: f64 = 1e9;

/// Returns a panel of times for every benchmark with several sizes, followed by its bandwidth if it
/// has one. `None` if there is no such benchmark.
pub fn picture(rows: &[Row]) -> Option<Panels> {
    let mut panels = Vec::new();
    for (benchmark, distance) in kinds(rows) {
        let of_kind = |row: &&Row| (&row.benchmark, &row.distance) == (benchmark, distance) && row.bytes > 0;
        let lines = |value: &dyn Fn(&Row) -> Option<Interval>| -> Vec<Line> {
            let mechanisms = distinct(rows.iter().filter(of_kind).map(|row| row.mechanism));
            let points = |&mechanism: &&str| {
                let own = rows.iter().filter(of_kind).filter(|row| row.mechanism == mechanism);
                own.filter_map(|row| Some((row.bytes as f64, value(row)?))).collect()
            };
            mechanisms.iter().map(|name| Line { name: (*name).to_owned(), points: points(name) }).collect()
        };
        let time = lines(&|row| Some(row.summary?.interval.times(US_PER_S)));
        if !time.iter().any(|line| line.points.len() > 1) {
            continue;
        }
        let rate = lines(&|row| {
            row.bytes_per_s()?;
            let rate = |time_s: f64| row.bytes_moved / time_s / BYTES_PER_GB;
            let Interval { median_s, low_s, high_s } = row.summary?.interval;
            Some(Interval { median_s: rate(median_s), low_s: rate(high_s), high_s: rate(low_s) })
        });
        for (what, lines) in [("microseconds", time), ("GB/s", rate)] {
            panels.push(Panel {
                title: format!("{benchmark} ({distance}), {what}"),
                axis: "bytes".to_owned(),
                lines,
            });
        }
    }
    (!panels.is_empty()).then_some(Panels { panels })
}
