//! The result of a call, and the files it wrote.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "this is a part of tests")]

use std::fs;
use std::path::PathBuf;

use super::launch::Finished;
use serde_json::Value;
use tempfile::TempDir;

/// A call that has ended. Its files are removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Outcome {
    case: String,
    folder: TempDir,
    finished: Finished,
}

/// A row of `thermo.csv`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ThermoRow {
    pub(crate) step: u64,
    pub(crate) time: f64,
    pub(crate) temperature: f64,
    pub(crate) potential: f64,
    pub(crate) kinetic: f64,
    pub(crate) total: f64,
    pub(crate) pressure: f64,
}

/// A row of `forces.csv`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ForceRow {
    pub(crate) id: u64,
    pub(crate) kind: u32,
    pub(crate) position: [f64; 3],
    pub(crate) force: [f64; 3],
}

impl ThermoRow {
    /// Returns all values except step and time, with their names.
    pub(crate) fn values(&self) -> [(&'static str, f64); 5] {
        [
            ("temperature", self.temperature),
            ("potential energy", self.potential),
            ("kinetic energy", self.kinetic),
            ("total energy", self.total),
            ("pressure", self.pressure),
        ]
    }
}

impl Outcome {
    pub(super) fn new(case: String, folder: TempDir, finished: Finished) -> Self {
        Self { case, folder, finished }
    }

    /// Returns the description of the call.
    pub(crate) fn case(&self) -> &str {
        &self.case
    }

    /// Returns exit status, output and duration.
    pub(crate) fn finished(&self) -> &Finished {
        &self.finished
    }

    /// Returns the exit code, or `None` if the call was killed.
    pub(crate) fn code(&self) -> Option<i32> {
        self.finished.status.and_then(|status| status.code())
    }

    /// Returns case, exit status and all output, for messages.
    pub(crate) fn report(&self) -> String {
        let Finished { status, stdout, stderr, duration } = &self.finished;
        format!("{}: {status:?} after {duration:.1?}\n{stdout}\n{stderr}", self.case)
    }

    /// Returns the path of a file in the output directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    /// Returns the text of a file in the output directory.
    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), self.report()))
    }

    /// Returns the contents of `summary.json`.
    pub(crate) fn summary(&self) -> Value {
        serde_json::from_str(&self.text("summary.json")).expect("summary.json is JSON")
    }

    /// Returns a number of `summary.json`.
    pub(crate) fn number(&self, key: &str) -> f64 {
        self.summary()[key].as_f64().unwrap_or_else(|| panic!("summary.json has a number `{key}`"))
    }

    /// Returns the rows of `thermo.csv`.
    pub(crate) fn thermo(&self) -> Vec<ThermoRow> {
        let text = self.text("thermo.csv");
        let columns = "step,time,temperature,potential_per_atom,kinetic_per_atom,total_per_atom,pressure";
        let row = |fields: &[f64]| match *fields {
            [step, time, temperature, potential, kinetic, total, pressure] => {
                ThermoRow { step: step as u64, time, temperature, potential, kinetic, total, pressure }
            }
            _ => panic!("{} columns", fields.len()),
        };
        numbers(&text, columns).iter().map(|fields| row(fields)).collect()
    }

    /// Returns the rows of `forces.csv`.
    pub(crate) fn forces(&self) -> Vec<ForceRow> {
        let row = |fields: &[f64]| match *fields {
            [id, kind, x, y, z, fx, fy, fz] => {
                ForceRow { id: id as u64, kind: kind as u32, position: [x, y, z], force: [fx, fy, fz] }
            }
            _ => panic!("{} columns", fields.len()),
        };
        let text = self.text("forces.csv");
        numbers(&text, "id,type,x,y,z,fx,fy,fz").iter().map(|fields| row(fields)).collect()
    }
}

/// Returns the rows of a table of numbers, whose header must begin with `columns`.
fn numbers(text: &str, columns: &str) -> Vec<Vec<f64>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert!(header.join(",").starts_with(columns), "columns {header:?}, expected {columns}");
    let wanted = columns.split(',').count();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.expect("rows are as long as the header");
        record.iter().take(wanted).map(|field| field.parse().expect("a number")).collect()
    };
    reader.records().map(row).collect()
}
