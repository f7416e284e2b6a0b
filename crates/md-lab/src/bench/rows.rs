//! `bench.csv`, the raw samples, and the tables on the screen.

use std::collections::HashSet;

use md_core::words::counted;

use crate::Status;
use crate::statistics::{SAMPLES_FOR_CONFIDENCE, Summary};
use crate::tables::{aligned, table as csv};
use crate::{EncodeError, name_of, significant};

use super::machine::{self, Machine};

const COLUMNS: [&str; 3] = [
    "benchmark,mechanism,ranks,bytes,median_s,low_s,high_s,min_s,max_s,samples,bytes_per_s",
    "status,note,distance,rma_component",
    machine::COLUMNS,
];

const SAMPLE_COLUMNS: &str = "benchmark,mechanism,ranks,bytes,distance,sample,time_s";

const US_PER_S: f64 = 1e6;
/// Significant digits on the screen.
const DIGITS: usize = 4;

/// One row of bench.csv.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the benchmark and its part.
    pub benchmark: String,
    /// Name of the mechanism that moved the data.
    pub mechanism: &'static str,
    /// Number of ranks.
    pub ranks: usize,
    /// Bytes of one message.
    pub bytes: usize,
    /// Statistics of the times; `None` where nothing was measured.
    pub summary: Option<Summary>,
    /// Seconds per iteration.
    pub samples_s: Vec<f64>,
    /// Bytes per iteration, from which the bandwidth follows.
    pub bytes_moved: f64,
    /// Outcome of the measurement.
    pub status: Status,
    /// Reason for a status other than `ok`, or a remark. On rank 0.
    pub note: String,
    /// Distance between the ranks.
    pub distance: String,
    /// Component of the MPI library that moves one-sided data, or `none`.
    pub rma_component: String,
    /// Place and time of the measurement.
    pub machine: Machine,
}

impl Row {
    /// Returns whether the row belongs to this benchmark, or to a part of it.
    pub fn is_of(&self, benchmark: &str) -> bool {
        let part = self.benchmark.strip_prefix(benchmark);
        part.is_some_and(|part| part.is_empty() || part.starts_with('-'))
    }

    /// Returns the bandwidth in bytes per second, if any bytes are moved.
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        self.summary.map(|it| self.bytes_moved / it.interval.median_s).filter(|&rate| rate > 0.0)
    }

    /// Returns whether there are too few samples for a 95 % interval.
    fn has_few_samples(&self) -> bool {
        self.summary.is_some_and(|it| it.samples < SAMPLES_FOR_CONFIDENCE)
    }

    /// Returns the note, with a remark on the bounds if they are no interval.
    fn whole_note(&self) -> String {
        let range = format!("fewer than {SAMPLES_FOR_CONFIDENCE} samples: low and high are their range");
        let notes = [Some(self.note.clone()), self.has_few_samples().then_some(range)];
        notes.into_iter().flatten().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Returns all rows as CSV.
///
/// # Errors
/// A value that CSV cannot hold.
pub fn bench_csv(rows: &[Row]) -> Result<Vec<u8>, EncodeError> {
    let row = |row: &Row| {
        let times = row
            .summary
            .map(|it| [it.interval.median_s, it.interval.low_s, it.interval.high_s, it.min_s, it.max_s]);
        let times = times.map_or([None; 5], |times| times.map(Some));
        (
            (row.benchmark.clone(), row.mechanism, row.ranks, row.bytes),
            (times, row.summary.map(|it| it.samples), row.bytes_per_s()),
            (row.status, row.whole_note(), row.distance.clone(), row.rma_component.clone()),
            row.machine.clone(),
        )
    };
    csv(&COLUMNS, rows.iter().map(row))
}

/// Returns all samples as CSV.
///
/// # Errors
/// A value that CSV cannot hold.
pub fn samples_csv(rows: &[Row]) -> Result<Vec<u8>, EncodeError> {
    let samples = rows.iter().flat_map(|row| {
        let of_row = (&row.benchmark, row.mechanism, row.ranks, row.bytes, &row.distance);
        row.samples_s.iter().enumerate().map(move |(number, time_s)| (of_row, number, time_s))
    });
    csv(&[SAMPLE_COLUMNS], samples)
}

/// Returns the tables for the screen: medians, one column per mechanism; then failures and notes.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for (benchmark, distance) in kinds(rows) {
        let of_kind = || rows.iter().filter(|row| (&row.benchmark, &row.distance) == (benchmark, distance));
        let mechanisms = distinct(of_kind().filter(|row| row.summary.is_some()).map(|row| row.mechanism));
        if mechanisms.is_empty() {
            continue;
        }
        text += &format!("{benchmark} ({distance}), median in microseconds\n");
        let mut lines =
            vec![["bytes"].into_iter().chain(mechanisms.iter().copied()).map(str::to_owned).collect()];
        for bytes in distinct(of_kind().map(|row| row.bytes)) {
            let cell = |&mechanism: &&str| {
                let row = of_kind().find(|row| (row.mechanism, row.bytes) == (mechanism, bytes));
                let median = row.and_then(|row| row.summary).map(|it| it.interval.median_s * US_PER_S);
                median.map_or("-".to_owned(), |median| significant(median, DIGITS))
            };
            lines.push([bytes.to_string()].into_iter().chain(mechanisms.iter().map(cell)).collect());
        }
        text += &aligned(&lines);
        text.push('\n');
    }
    text += &notes(rows);
    let few = rows.iter().filter(|row| row.has_few_samples()).count();
    if few > 0 {
        let few = counted(few, "row");
        text += &format!(
            "{few} with fewer than {SAMPLES_FOR_CONFIDENCE} samples: too few for an interval of 95 %\n"
        );
    }
    text
}

/// Returns benchmarks and distances, in the order of the rows.
pub(super) fn kinds(rows: &[Row]) -> Vec<(&String, &String)> {
    distinct(rows.iter().map(|row| (&row.benchmark, &row.distance)))
}

pub(super) fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut found, one| {
        if !found.contains(&one) {
            found.push(one);
        }
        found
    })
}
/// Returns a line per note; a note shared by several rows of a benchmark appears once.
fn notes(rows: &[Row]) -> String {
    let (mut text, mut told) = (String::new(), HashSet::new());
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        let Row { benchmark, mechanism, bytes, status, note, .. } = row;
        let is_alike = |other: &&Row| (&other.benchmark, &other.note) == (benchmark, note);
        text += &match status {
            Status::Ok if rows.iter().filter(is_alike).count() == 1 => {
                format!("{benchmark} {mechanism} {bytes} bytes: {note}\n")
            }
            Status::Ok if told.insert((benchmark, note)) => format!("{benchmark}: {note}\n"),
            Status::Ok => String::new(),
            _ => format!("{benchmark} {mechanism} {bytes} bytes ({}): {note}\n", name_of(status)),
        };
    }
    text
}
