//! Text about timelines.

use std::path::Path;

use md_core::words::counted;
use md_lab::significant;
use md_lab::trace::{CriticalPath, EdgeSummary, Summary, Timeline, Waits, Written};

/// Largest number of rows of a table on the screen; files contain all rows.
const ROWS: usize = 10;
const DIGITS: usize = 3;

/// Returns the line about the timeline after a run.
pub fn trace_line(path: &Path, written: &Written) -> String {
    let Written { events, dropped, clock_error_s } = *written;
    let lost = match dropped {
        0 => String::new(),
        _ => format!("; {dropped} older ones were dropped: record more (--trace-events) or fewer steps"),
    };
    let error_us = significant(clock_error_s * 1e6, DIGITS);
    format!("\nTimeline: {}, {events} events, clocks within {error_us} us{lost}\n", path.display())
}

/// Returns the whole summary.
pub fn summary_text(timeline: &Timeline, summary: &Summary, path: &CriticalPath) -> String {
    let Timeline { strategy, ranks, steps, dropped, clock_error_s, .. } = timeline;
    let error_us = significant(clock_error_s * 1e6, DIGITS);
    let mut text = format!(
        "{}, {strategy}, {}; clocks within {error_us} us\n",
        counted(*ranks, "rank"),
        counted(*steps, "step")
    );
    if dropped + summary.halves > 0 {
        let halves = summary.halves;
        text += &format!("{dropped} older events are missing; of {halves} messages one end is not known\n");
    }
    text += &late_senders(summary);
    text += &waits(summary);
    text + &critical_path(path)
}

fn late_senders(summary: &Summary) -> String {
    let late_s = |edge: &EdgeSummary| edge.late_s + edge.collective_late_s;
    let mut edges: Vec<_> =
        summary.edges.iter().filter(|(_, edge)| late_s(edge) + edge.transfer_s > 0.0).collect();
    edges.sort_by(|(_, a), (_, b)| late_s(b).total_cmp(&late_s(a)));
    let rows = edges.iter().take(ROWS).map(|([from, to], edge)| {
        let EdgeSummary { messages, late_s, transfer_s, collective_late_s, .. } = **edge;
        let columns =
            [late_s, collective_late_s, transfer_s].map(|s| format!(" {:>12}", seconds(s))).concat();
        format!("{to:>6} {from:>6} {messages:>9}{columns}\n")
    });
    let rows: String = rows.collect();
    format!(
        "\nWho waited for whom: for messages before they were sent, in collectives, for messages on their way{}\n\
         waited    for  messages  late sender    late rank     transfer\n{rows}",
        rest(edges.len())
    )
}

fn waits(summary: &Summary) -> String {
    let total = |waits: &Waits| {
        let Waits { late_s, transfer_s, collective_late_s, collective_s, other_s } = *waits;
        late_s + transfer_s + collective_late_s + collective_s + other_s
    };
    let mut ranks: Vec<_> = summary.waits.iter().enumerate().collect();
    ranks.sort_by(|(_, a), (_, b)| total(b).total_cmp(&total(a)));
    let rows = ranks.iter().take(ROWS).map(|(rank, waits)| {
        let Waits { late_s, transfer_s, collective_late_s, collective_s, other_s } = **waits;
        let columns = [late_s, transfer_s, collective_late_s, collective_s, other_s];
        let columns: String = columns.map(|s| format!(" {:>12}", seconds(s))).concat();
        format!("{rank:>6}{columns}\n")
    });
    let rows: String = rows.collect();
    format!(
        "\nWaits by cause: late senders, transfers, ranks that came late to a collective, its transfers, others{}\n  \
         rank  late sender     transfer    late rank   collective        other\n{rows}",
        rest(ranks.len())
    )
}

fn critical_path(path: &CriticalPath) -> String {
    let mut parts: Vec<_> = path.parts.iter().collect();
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let rows = parts.iter().take(ROWS).map(|((rank, phase), part_s)| {
        let share = 100.0 * **part_s / path.length_s;
        format!("{rank:>6}  {phase:<15} {:>12} {share:>6.1} %\n", seconds(**part_s))
    });
    let rows: String = rows.collect();
    let (length, hops) = (seconds(path.length_s), path.hops);
    format!(
        "\nCritical path: {length}, from rank to rank {}{}\n  rank  phase                   time  share\n{rows}",
        counted(hops, "time"),
        rest(parts.len())
    )
}

fn rest(rows: usize) -> String {
    if rows > ROWS { format!(" (the {ROWS} largest of {rows})") } else { String::new() }
}

fn seconds(value: f64) -> String {
    format!("{} s", significant(value, DIGITS))
}
