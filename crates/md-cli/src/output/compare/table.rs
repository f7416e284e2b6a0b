//! The ranked table on the screen.

use crate::comparison::{Comparison, Interval, RankedBy, StrategyReport};
use crate::output::screen::significant;
use crate::report::RunContext;

/// Significant digits of times.
const DIGITS: usize = 4;
const MICROSECONDS: f64 = 1e6;
const MILLISECONDS: f64 = 1e3;

/// Strategies with valid numbers, best first; then the others with what became of them.
pub fn table(comparison: &Comparison) -> String {
    let ranking = comparison.ranking();
    let others = comparison.rows.iter().filter(|row| row.valid().is_none());
    let rows: Vec<_> = ranking.iter().map(|(row, _)| *row).chain(others).collect();
    let header = ["backend", "shell", "exchange", "partition", "exchange, us", "step, ms", "halo", "status"];
    let mut lines = vec![header.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row)));
    let widths: Vec<usize> =
        (0..header.len()).map(|i| lines.iter().map(|line| line[i].len()).max().unwrap_or(0)).collect();
    let mut text = heading(comparison);
    for line in &lines {
        let padded = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        text += &format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        text += &format!("{} ({}): {}\n", name(row), row.status.name(), row.note);
    }
    text
}

fn heading(comparison: &Comparison) -> String {
    let Some(RunContext { ranks, atoms, steps, .. }) = comparison.rows.first().map(|row| row.context.clone())
    else {
        return String::new();
    };
    let by = match comparison.ranked_by() {
        RankedBy::Exchange => "the exchange alone",
        RankedBy::Step | RankedBy::RebuildingStep => "the step",
    };
    format!(
        "{atoms} atoms, {ranks} ranks, {} repetitions of {steps} steps; median [95 % interval], best first by {by}\n",
        comparison.repeat
    )
}

fn cells(row: &StrategyReport) -> [String; 8] {
    let RunContext { backend, shell, exchange, partition, .. } = row.context.clone();
    let (mut exchange_us, mut step_ms, mut share) = ("-".to_owned(), "-".to_owned(), "-".to_owned());
    if let Some(measured) = &row.measured {
        exchange_us = interval(&measured.exchange, MICROSECONDS);
        step_ms = interval(&measured.step, MILLISECONDS);
        share = format!("{:.1} %", 100.0 * measured.phases.halo_share());
    }
    [backend, shell, exchange, partition, exchange_us, step_ms, share, row.status.name().to_owned()]
}

fn interval(interval: &Interval, unit: f64) -> String {
    let [median, low, high] =
        [interval.median_s, interval.low_s, interval.high_s].map(|time_s| significant(time_s * unit, DIGITS));
    format!("{median} [{low}, {high}]")
}

/// A strategy in words.
pub(super) fn name(row: &StrategyReport) -> String {
    let RunContext { backend, shell, exchange, partition, .. } = &row.context;
    format!("{backend} {shell} {exchange} {partition}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::compare::fixtures::{comparison, unavailable};

    #[test]
    fn best_first_and_failures_last() {
        let mut comparison = comparison(&[("p2p", 10.0, 1.0), ("shm", 2.0, 0.9)]);
        comparison.rows.insert(0, unavailable("hybrid"));
        insta::assert_snapshot!(table(&comparison), @r"
        16000 atoms, 2 ranks, 10 repetitions of 100 steps; median [95 % interval], best first by the exchange alone
        backend  shell  exchange  partition  exchange, us    step, ms            halo    status
        shm      half   direct    rect       2 [1.9, 2.1]    0.9 [0.855, 0.945]  20.0 %  ok
        p2p      half   direct    rect       10 [9.5, 10.5]  1 [0.95, 1.05]      20.0 %  ok
        hybrid   half   direct    rect       -               -                   -       unavailable
        hybrid half direct rect (unavailable): this version does not have it yet
        ");
    }
}
