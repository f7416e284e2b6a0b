//! Charts drawn from tables.

use md_lab::plot::{Curve, Curves, Stacked};
use md_scenario::ANALYSES;

use super::table::Table;

/// Columns of thermo.csv that share a chart, with their unit in reduced units. V is the volume of a
/// cube of side sigma, in two dimensions the area of a square.
const THERMO: [(&str, &str, &[&str]); 7] = [
    ("Temperature", "ε/k", &["temperature"]),
    (
        "Energy per atom",
        "ε",
        &["potential_per_atom", "kinetic_per_atom", "total_per_atom", "conserved_per_atom"],
    ),
    ("Pressure", "ε/V", &["pressure"]),
    ("Pressure along the axes", "ε/V", &["pressure_xx", "pressure_yy", "pressure_zz"]),
    ("Shear pressure", "ε/V", &["pressure_xy", "pressure_xz", "pressure_yz"]),
    ("Box lengths", "σ", &["box_x", "box_y", "box_z"]),
    ("Density", "1/V", &["density"]),
];
/// Those of [`THERMO`] that are drawn only if they change with time.
const VARYING: [&str; 3] = ["Shear pressure", "Box lengths", "Density"];

/// Labels of the columns used as horizontal axis.
const AXES: [(&str, &str); 5] =
    [("time", "time (τ)"), ("r", "distance r (σ)"), ("x", "x (σ)"), ("y", "y (σ)"), ("z", "z (σ)")];

/// Units of the quantities in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    /// Reduced units of particles in `dimension` dimensions.
    Reduced { dimension: u64 },
    /// Units of a grid, which have no names.
    Lattice,
}

impl Units {
    fn titled(self, words: &str, unit: &str) -> String {
        let unit = match self {
            Self::Reduced { dimension: 2 } => unit.replace("V²", "σ⁴").replace('V', "σ²"),
            Self::Reduced { .. } => unit.replace("V²", "σ⁶").replace('V', "σ³"),
            Self::Lattice => String::new(),
        };
        if unit.is_empty() { words.to_owned() } else { format!("{words} ({unit})") }
    }

    fn axis(self, column: &str) -> String {
        let found = AXES.iter().find(|(name, _)| self != Self::Lattice && *name == column);
        found.map_or(column, |(_, words)| words).to_owned()
    }
}

/// Rows of timing.csv that are not parts of the total: the total itself, and time that overlaps
/// with other phases.
const NO_PARTS: [&str; 2] = ["total", "halo_hidden"];

/// Largest number of bars that can be told apart.
const MOST_RANKS: usize = 32;

/// Returns the charts of the state of a run over time; a grid has its own columns.
pub(super) fn thermo(table: &Table, units: Units) -> Vec<Curves> {
    if table.column("time").is_none() {
        return over_first_column(table, "thermo", Units::Lattice);
    }
    let chart = |(title, unit, columns): &(&str, &str, &[&str])| {
        let mut chart = curves(table, units.titled(title, unit), "time", columns, units)?;
        chart.curves.retain(|curve| !VARYING.contains(title) || varies(curve));
        (!chart.curves.is_empty()).then_some(chart)
    };
    THERMO.iter().filter_map(chart).collect()
}

/// Returns the name of the column with the errors of another. In the tables of analyses those of
/// the first quantity of species A are named `error_A`.
fn error_column(table: &Table, column: &str) -> Option<String> {
    let (stem, rest) = column.split_once('_').unwrap_or((column, ""));
    let own = [format!("{column}_error"), format!("{stem}_error_{rest}")];
    let first = table.names().nth(1).and_then(|name| name.split('_').next());
    let shared = (first == Some(stem)).then(|| format!("error_{rest}"));
    own.into_iter().chain(shared).find(|name| table.column(name).is_some())
}

/// Returns charts of a table over its first column: one for all columns whose names begin alike.
/// Columns of errors become bands.
pub(super) fn over_first_column(table: &Table, name: &str, units: Units) -> Vec<Curves> {
    let mut names = table.names();
    let Some(first) = names.next() else { return Vec::new() };
    let errors: Vec<String> = table.names().filter_map(|name| error_column(table, name)).collect();
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for column in names.filter(|name| errors.iter().all(|error| error != name)) {
        let stem = column.split('_').next().unwrap_or(column);
        match groups.iter_mut().find(|(other, _)| *other == stem) {
            Some((_, columns)) => columns.push(column),
            None => groups.push((stem, vec![column])),
        }
    }
    let chart =
        |(stem, columns): &(&str, Vec<&str>)| curves(table, title(stem, name, units), first, columns, units);
    groups.iter().filter_map(chart).collect()
}

/// Returns the title of a chart from the first word of its columns and the name of the table.
fn title(stem: &str, table: &str, units: Units) -> String {
    let mut quantities = ANALYSES.iter().flat_map(|kind| kind.quantities);
    let known = quantities.find(|quantity| quantity.columns == stem);
    let (words, unit) =
        known.map_or_else(|| (capitalised(stem), ""), |known| (known.title.to_owned(), known.unit));
    let across = table.strip_prefix("profile_").map(|axis| format!(" across {axis}")).unwrap_or_default();
    let at = if table == "probe" { " at the probes" } else { "" };
    units.titled(&format!("{words}{across}{at}"), unit)
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn curves(table: &Table, title: String, x: &str, columns: &[&str], units: Units) -> Option<Curves> {
    let curve = |&name: &&str| {
        let points = table.points(x, name);
        let errors = error_column(table, name).map(|error| table.errors(name, &error)).unwrap_or_default();
        (!points.is_empty()).then(|| Curve { name: name.to_owned(), points, errors })
    };
    let curves: Vec<Curve> = columns.iter().filter_map(curve).collect();
    (!curves.is_empty()).then(|| Curves { title, axis: units.axis(x), curves })
}

/// Returns whether a quantity changes with time.
fn varies(curve: &Curve) -> bool {
    let mut values = curve.points.iter().map(|point| point.1);
    let first = values.next().unwrap_or_default();
    values.any(|value| (value - first).abs() > 1e-9 * first.abs())
}

/// Returns the chart of the time per phase: a bar of the mean over ranks, and one per rank where
/// there are several.
pub(super) fn timing(mean: &Table, ranks: Option<&Table>) -> Option<Stacked> {
    let phases = mean.words("phase")?.iter().filter(|phase| !NO_PARTS.contains(&phase.as_str()));
    let time = |table: &Table, column: &str, phase: &str, is_wanted: &dyn Fn(usize) -> bool| {
        let rows = table.words("phase")?.iter().zip(table.column(column)?).enumerate();
        let mut found = rows.filter(|(row, (name, _))| *name == phase && is_wanted(*row));
        found.next().map(|(_, (_, seconds))| *seconds)
    };
    let mut parts: Vec<(String, f64)> = phases
        .filter_map(|phase| Some((phase.clone(), time(mean, "avg_s", phase, &|_| true)?)))
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut bars = vec![("mean".to_owned(), parts.iter().map(|(_, seconds)| *seconds).collect())];
    if let Some((table, numbers)) = ranks.and_then(|table| Some((table, table.column("rank")?))) {
        let last = numbers.iter().copied().fold(0.0, f64::max) as usize;
        let shown = if last == 0 { 0 } else { (last + 1).min(MOST_RANKS) };
        bars.extend((0..shown).map(|rank| {
            let is_own = |row: usize| numbers.get(row) == Some(&(rank as f64));
            let own = |(phase, _): &(String, f64)| time(table, "time_s", phase, &is_own).unwrap_or_default();
            (format!("rank {rank}"), parts.iter().map(own).collect())
        }));
    }
    Some(Stacked {
        title: "Where the time went".to_owned(),
        description: "time (s)".to_owned(),
        parts: parts.into_iter().map(|(phase, _)| phase).collect(),
        bars,
    })
}
