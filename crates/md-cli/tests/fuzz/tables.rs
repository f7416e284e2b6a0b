//! Tables from which a sweep is continued, made from valid ones.

use md_lab::plot::Picture;
use md_lab::statistics::Interval;
use md_lab::sweep::{PARTICLES, Row, Scaling, read_sweep, scaling_picture, sweep_csv};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::case::Trial;
use crate::scenarios::damaged;

const VALUES: [&str; 23] = [
    "",
    "0",
    "1",
    "-1",
    "1.5",
    "0.2",
    "nan",
    "inf",
    "-inf",
    "-0",
    "1e-320",
    "1e30",
    "1e308",
    "1e400",
    "18446744073709551616",
    "p2p",
    "1+2:1",
    "1+1:0",
    "18446744073709551615:1+1",
    "\"a",
    "\"a,b\"",
    "\u{1b}[2J",
    "ä",
];

/// Content of a file.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl Text {
    /// Returns the rows if a sweep may have written the table.
    pub(crate) fn accepted(&self) -> Result<Vec<Row>, String> {
        read_sweep(&String::from_utf8_lossy(&self.0), PARTICLES).map_err(|error| error.to_string())
    }
}

impl Trial for Text {
    fn check_here(&self) -> Result<(), String> {
        let rows = match self.accepted() {
            Ok(rows) => rows,
            Err(text) if text.contains("line ") || text.contains("line: ") => return Ok(()),
            Err(text) => return Err(format!("refused with these words: {text}")),
        };
        let text = sweep_csv(&rows, PARTICLES).map_err(|error| error.to_string())?;
        let is_number = |number: &f64| number.is_finite() && *number >= 0.0;
        let numbers = |row: &Row| {
            let Interval { median_s, low_s, high_s } = row.step;
            [median_s, low_s, high_s, row.rate_per_s].iter().chain(&row.phases_s).all(is_number)
        };
        if !rows.iter().all(numbers) {
            return Err(format!("what no time can be: {rows:?}"));
        }
        if Self(text).accepted().as_ref() != Ok(&rows) {
            return Err("it does not read back".to_owned());
        }
        for scaling in [Scaling::Weak, Scaling::Strong] {
            let svg = scaling_picture(&rows, scaling).svg().map_err(|error| error.to_string())?;
            if svg.contains("NaN") || svg.contains("inf\"") {
                return Err("a picture of nothing".to_owned());
            }
        }
        Ok(())
    }
}

pub(crate) fn valid() -> Text {
    text(4)
}

fn text(rows: usize) -> Text {
    let row = |index: usize| {
        let (ranks, atoms) = (index + 1, 4000);
        let context =
            format!("p2p,half,direct,rect,{ranks}x1x1,{ranks},1,double,{atoms},10,7,none,here,0.1.0");
        let step_s = 0.1 / ranks as f64;
        Row {
            kind: PARTICLES,
            context: context.split(',').map(str::to_owned).collect(),
            step: Interval { median_s: step_s, low_s: 0.9 * step_s, high_s: 1.1 * step_s },
            rate_per_s: f64::from(atoms) / step_s,
            phases_s: vec![0.25 * step_s; md_engine::Phase::ALL.len()],
        }
    };
    Text(sweep_csv(&(0..rows).map(row).collect::<Vec<_>>(), PARTICLES).expect("rows are CSV"))
}

pub(crate) fn changed() -> impl Strategy<Value = Text> {
    (0..5_usize, edits()).prop_map(|(rows, edits)| Text(edits.of(&text(rows).0)))
}

/// Edits of a table: line, column, and the new value or none; then damage of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Edits {
    columns: Vec<(usize, usize, Option<&'static str>)>,
    damage: Vec<(usize, usize, bool)>,
}

pub(crate) fn edits() -> impl Strategy<Value = Edits> {
    let value = prop_oneof![6 => select(VALUES.to_vec()).prop_map(Some), 1 => Just(None)];
    let damage = prop_oneof![
        5 => Just(Vec::new()),
        1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..3),
    ];
    (vec((any::<usize>(), any::<usize>(), value), 0..3), damage)
        .prop_map(|(columns, damage)| Edits { columns, damage })
}

impl Edits {
    /// Returns a table with these edits.
    pub(crate) fn of(&self, table: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(table);
        let mut lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        for &(line, column, value) in &self.columns {
            let line = line % lines.len();
            let column = column % lines[line].len().max(1);
            match (value, lines[line].get_mut(column)) {
                (Some(value), Some(place)) => *place = value,
                (None, Some(_)) => drop(lines[line].remove(column)),
                _ => (),
            }
        }
        let lines: String = lines.iter().map(|line| format!("{}\n", line.join(","))).collect();
        damaged(lines.into_bytes(), &self.damage)
    }
}
