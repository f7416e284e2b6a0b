//! Shared helpers of the tests of the whole program: calls of `md-cli` or of its library, and
//! readers of its files.
#![allow(dead_code, unused_imports, reason = "every test program uses a part of it")]

mod cases;
mod compare;
#[path = "../../crates/md-comm/tests/conformance/launch.rs"]
pub(crate) mod launch;
mod outcome;
mod play;
pub(crate) mod program;
mod random;
mod reference;
mod run;
mod systems;
mod tally;
mod workdir;
mod workers;

pub(crate) use cases::{Case, RANKS, divided_cases, every_case, local_cases, mixed_cases, p2p_cases};
pub(crate) use compare::{assert_close, assert_forces, assert_printed, assert_thermo};
pub(crate) use outcome::{ForceRow, Outcome, ThermoRow};
pub(crate) use program::{as_from_a_terminal, md_cli};
pub(crate) use random::Random;
pub(crate) use reference::{Configuration, Pair, ReferenceSums, Shift};
pub(crate) use run::{Backend, Run, p2p_available};
pub(crate) use systems::{CLUSTERS, RESTLESS_MELT};
pub(crate) use tally::Tally;
pub(crate) use workdir::{MELT, Said, Start, Workdir, error, error_everywhere, from_file, starts};
pub(crate) use workers::serve_if_asked;

use std::path::{Path, PathBuf};

/// Returns a path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the path of a file of the reference data.
pub(crate) fn data(path: &str) -> PathBuf {
    repository("tests/data").join(path)
}

/// Returns the text of a file that must exist.
pub(crate) fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the rows of a table of reference data, as printed. Comments start with `#`. The names of
/// the columns must be `columns`.
pub(crate) fn table<const COUNT: usize>(path: &str, columns: [&str; COUNT]) -> Vec<[String; COUNT]> {
    let text = text_of(&data(path));
    let mut lines = text.lines().skip_while(|line| line.starts_with('#'));
    assert_eq!(lines.next(), Some(columns.join(",").as_str()), "columns of {path}");
    let row = |line: &str| {
        let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        fields
            .try_into()
            .unwrap_or_else(|all: Vec<String>| panic!("{} fields, not {COUNT}: {line}", all.len()))
    };
    lines.map(row).collect()
}

/// Returns the fields of a row of reference data, all of which must be numbers.
pub(crate) fn numbers<const COUNT: usize>(row: &[String; COUNT]) -> [f64; COUNT] {
    row.each_ref().map(|field| field.parse().unwrap_or_else(|_| panic!("`{field}` is not a number: {row:?}")))
}
