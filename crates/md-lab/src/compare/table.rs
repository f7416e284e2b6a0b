//! Ranked table on the screen.

use super::comparison::{Comparison, MeasurementContext, RankedBy, RowContext, StrategyReport};
use super::{MICROSECONDS, MILLISECONDS, Unit};
use crate::statistics::Interval;
use crate::tables::left_aligned;
use crate::{Setting, Variant, name_of};
use md_core::words::counted;

/// Significant digits of times.
const DIGITS: usize = 4;

/// Returns strategies with valid measurements, best first; then the others with their notes.
pub fn table<C: RowContext>(comparison: &Comparison<C>) -> String {
    let by = comparison.ranked_by();
    let median_s = |row: &&StrategyReport<C>| {
        row.valid().map_or(f64::INFINITY, |ranked| by.interval(ranked.measured).median_s)
    };
    let mut rows: Vec<_> = comparison.rows.iter().collect();
    rows.sort_by(|a, b| median_s(a).total_cmp(&median_s(b)));
    let varied =
        comparison.rows.iter().take(1).flat_map(|row| row.variant.settings.iter().map(Setting::name));
    let header = C::KEYS.iter().copied().chain(varied);
    let header = header.chain(["exchange, us", "step, ms", "halo", "status"]).map(str::to_owned);
    let mut lines = vec![header.collect::<Vec<_>>()];
    lines.extend(rows.iter().map(|row| cells(comparison, row)));
    let mut text = heading(comparison) + &left_aligned(&lines);
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        text += &format!("{} ({}): {}\n", row.name(), name_of(row.status), row.note);
    }
    text
}

fn heading<C: RowContext>(comparison: &Comparison<C>) -> String {
    let Some(first) = comparison.rows.first() else { return String::new() };
    let MeasurementContext { ranks, steps, .. } = first.context.job();
    let by = match comparison.ranked_by() {
        RankedBy::Exchange => "the exchange alone",
        RankedBy::Step | RankedBy::WholeStep => "the step",
    };
    format!(
        "{}, {}, {} of {}; median [{}], best first by {by}\n",
        first.context.extent(),
        counted(ranks, "rank"),
        counted(comparison.repeat, "repetition"),
        counted(steps, "step"),
        comparison.bounds()
    )
}

/// Returns the cells of a row; values that are not varied for this backend, or not measured, are
/// dashes.
fn cells<C: RowContext>(comparison: &Comparison<C>, row: &StrategyReport<C>) -> Vec<String> {
    let Variant { strategy, settings } = &row.variant;
    let settings = settings.iter().map(|setting| setting.value.clone().unwrap_or_else(|| "-".to_owned()));
    let status = name_of(row.status) + if comparison.is_baseline(row) { ", baseline" } else { "" };
    let numbers = row.measured.as_ref().map_or(["-"; 3].map(str::to_owned), |measured| {
        let (exchange, step) = (&measured.exchange, &measured.step);
        let share = format!("{:.1} %", 100.0 * measured.halo_share());
        [interval(exchange, MICROSECONDS), interval(step, MILLISECONDS), share]
    });
    let names = strategy.values(C::KEYS).map(|(_, name)| name);
    names.chain(settings).chain(numbers).chain([status]).collect()
}

/// Formats an interval; the column's name contains the unit.
fn interval(interval: &Interval, unit: Unit) -> String {
    let [median, low, high] = unit.bounds(interval, DIGITS);
    format!("{median} [{low}, {high}]")
}

#[cfg(test)]
mod tests {
    use md_comm::Backend;

    use super::*;
    use crate::compare::fixtures::{comparison, unavailable};

    #[test]
    fn best_first_and_failures_last() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
        comparison.rows.insert(0, unavailable(Backend::Hybrid));
        insta::assert_snapshot!(table(&comparison), @r"
        16000 atoms, 2 ranks, 10 repetitions of 100 steps; median [95 % interval], best first by the exchange alone
        backend  shell  exchange  partition  exchange, us    step, ms            halo    status
        shm      half   direct    rect       2 [1.9, 2.1]    0.9 [0.855, 0.945]  20.0 %  ok
        p2p      half   direct    rect       10 [9.5, 10.5]  1 [0.95, 1.05]      20.0 %  ok, baseline
        hybrid   half   direct    rect       -               -                   -       unavailable
        hybrid half direct rect (unavailable): this version does not have it yet
        ");
    }

    #[test]
    fn few_samples_have_a_range_and_no_interval() {
        let comparison = Comparison { repeat: 5, ..comparison(&[(Backend::P2p, 10.0, 1.0)]) };
        assert!(table(&comparison).contains("5 repetitions of 100 steps; median [range], best"));
    }
}
