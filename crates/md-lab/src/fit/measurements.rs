//! Rows of `bench.csv` that a fit reads.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::machine::{Distance, MachineError, Origin};

/// Distances of `bench`.
const INSIDE: &str = "inside";
const ACROSS: &str = "across";
/// Only column that may be empty in a row. A file without it would pass for a table of failures.
const TIME: &str = "median_s";

/// A row of `bench.csv`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Measurement {
    pub(super) benchmark: String,
    pub(super) mechanism: String,
    pub(super) ranks: usize,
    pub(super) bytes: u64,
    pub(super) median_s: Option<f64>,
    #[serde(default)]
    pub(super) low_s: Option<f64>,
    #[serde(default)]
    pub(super) high_s: Option<f64>,
    distance: String,
    #[serde(default)]
    host: String,
    #[serde(default)]
    cpu: String,
    #[serde(default)]
    mpi_library: String,
    #[serde(default)]
    date: String,
    #[serde(default)]
    version: String,
}

/// Returns the rows, with those between two core complexes relabelled as inside one, for benchmarks
/// and mechanisms that were not measured inside.
pub(super) fn nearest(rows: &[Measurement]) -> Vec<Measurement> {
    let inside = rows.iter().filter(|row| row.distance == INSIDE).map(Measurement::subject);
    let inside: BTreeSet<_> = inside.collect();
    let stands = |row: &Measurement| row.distance == ACROSS && !inside.contains(&row.subject());
    let own = |row: &Measurement| {
        let mut own = row.clone();
        if stands(row) {
            INSIDE.clone_into(&mut own.distance);
        }
        own
    };
    rows.iter().map(own).collect()
}

/// Returns the origin of these rows, if they contain it.
pub(super) fn origin(rows: &[Measurement]) -> Option<Origin> {
    let all = |of: fn(&Measurement) -> &String| -> BTreeSet<&str> {
        rows.iter().map(|row| of(row).as_str()).filter(|it| !it.is_empty()).collect()
    };
    let joined = |of| all(of).into_iter().collect::<Vec<_>>().join(", ");
    let dates = all(|it| &it.date);
    let mut range: Vec<&str> = dates.first().into_iter().chain(dates.last()).copied().collect();
    range.dedup();
    let origin = Origin {
        host: joined(|it| &it.host),
        cpu: joined(|it| &it.cpu),
        mpi_library: joined(|it| &it.mpi_library),
        date: range.join(" to "),
        version: joined(|it| &it.version),
        ranks: rows.iter().map(|row| row.ranks).collect::<BTreeSet<_>>().into_iter().collect(),
    };
    (!origin.host.is_empty()).then_some(origin)
}

impl Measurement {
    /// Reads the rows that have a time from the text of the file `name`.
    ///
    /// # Errors
    /// Not a `bench.csv`, or an invalid row, with its line.
    pub fn read(name: &str, text: &[u8]) -> Result<Vec<Self>, MachineError> {
        let refused =
            |line: u64, message: String| MachineError { name: name.to_owned(), line: line as usize, message };
        let mut rows = Vec::new();
        let mut reader = csv::Reader::from_reader(text);
        let header = reader.headers().cloned().map_err(|error| refused(1, error.to_string()))?;
        if header.iter().all(|column| column != TIME) {
            return Err(refused(1, format!("no column `{TIME}`: not what `bench` writes")));
        }
        for record in reader.records() {
            let record = record.map_err(|error| {
                refused(error.position().map_or(1, csv::Position::line), error.to_string())
            })?;
            let line = record.position().map_or(1, csv::Position::line);
            let row: Self = record.deserialize(Some(&header)).map_err(|error| match error.kind() {
                csv::ErrorKind::Deserialize { err, .. } => {
                    let column = err.field().and_then(|field| header.get(field as usize));
                    let column = column.map_or(String::new(), |column| format!("`{column}`: "));
                    refused(line, format!("{column}{}", err.kind()))
                }
                _ => refused(line, error.to_string()),
            })?;
            match row.median_s {
                Some(median) if !(median > 0.0 && median.is_finite()) => {
                    return Err(refused(line, format!("`{TIME}` is {median}, which no time is")));
                }
                Some(_) => rows.push(row),
                None => (),
            }
        }
        Ok(rows)
    }

    fn subject(&self) -> [&str; 2] {
        [&self.benchmark, &self.mechanism]
    }

    /// Returns the distance between its ranks; for a mixture, the farthest. `None` for a single
    /// rank.
    pub(super) fn distance(&self) -> Option<Distance> {
        match self.distance.as_str() {
            INSIDE => Some(Distance::Node),
            ACROSS => Some(Distance::Across),
            "between" | "mixed" => Some(Distance::Network),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_on_two_core_complexes_are_a_node_where_there_are_no_nearer_ones() {
        let text = "benchmark,mechanism,ranks,bytes,median_s,distance\n\
                    roundtrip,p2p,4,8,1e-6,inside\nroundtrip,p2p,4,8,2e-6,across\nroundtrip,shm,4,8,3e-6,across\n";
        let rows = nearest(&Measurement::read("bench.csv", text.as_bytes()).unwrap());
        let found: Vec<_> = rows.iter().map(|row| row.distance().unwrap()).collect();
        assert_eq!(found, [Distance::Node, Distance::Across, Distance::Node]);
    }
}
