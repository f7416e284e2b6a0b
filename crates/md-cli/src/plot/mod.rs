//! A page with the results of a run, for a browser and for printing: pictures of its tables, as SVG
//! in the page itself.

mod charts;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use md_lab::EncodeError;
use md_lab::plot::Picture;
use md_scenario::ANALYSES;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use serde_json::Value;

use charts::Units;
use table::Table;

/// Tables other than those of analyses that are drawn over their first column.
const OTHER_TABLES: [&str; 3] = ["averages.csv", "probe.csv", "drag.csv"];

/// Entries of summary.json that are listed above the pictures.
const FACTS: [&str; 14] = [
    "atoms",
    "steps",
    "timestep",
    "ranks",
    "threads",
    "backend",
    "partition",
    "precision",
    "simd",
    "host",
    "wall_s",
    "ns_per_atom_step",
    "energy_drift_per_atom",
    "conserved_drift_per_atom",
];

/// Style for screen and paper; on paper the smallest letters have more than 7 pt and three pictures
/// fit on a page.
const STYLE: &str = "body{font-family:sans-serif;max-width:75em;margin:1em auto;padding:0 1em;color:#000;background:#fff}\
    .facts{display:flex;flex-wrap:wrap;gap:0 4em;align-items:flex-start}\
    table{border-collapse:collapse}td{padding:.1em 1em .1em 0;vertical-align:top;overflow-wrap:anywhere}\
    figure{margin:1em 0;break-inside:avoid}figcaption{font-size:small}svg{max-width:100%;height:auto;display:block}\
    .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(34em,100%),1fr));gap:1em}\
    @media print{body{margin:0;max-width:none}figure{margin:.2em 0}svg{display:block}.charts{display:block}.charts svg{width:80%}}";

/// A picture and the name of the file from which it is made.
struct Figure {
    svg: String,
    source: String,
    is_wide: bool,
}

/// Returns the page of a folder, if the folder has a table that can be drawn.
///
/// # Errors
/// A table that cannot be read or drawn.
pub(crate) fn page(folder: &Path) -> Result<Option<String>, RunError> {
    let mut figures = Vec::new();
    let scenario = scenario(folder);
    let units = units(&scenario);
    if let Some(table) = Table::read(&folder.join(KnownFile::THERMO.name()))? {
        add(&mut figures, KnownFile::THERMO.name(), &charts::thermo(&table, units))?;
    }
    for path in analyses(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(table) = Table::read(&path)? {
            let charts = charts::over_first_column(&table, name.trim_end_matches(".csv"), units);
            add(&mut figures, &name, &charts)?;
        }
    }
    if let Some(mean) = Table::read(&folder.join(KnownFile::TIMING.name()))? {
        let ranks = Table::read(&folder.join(KnownFile::TIMING_RANKS.name()))?;
        if let Some(chart) = charts::timing(&mean, ranks.as_ref()) {
            let svg = chart.svg().map_err(|reason| failed(&reason))?;
            figures.push(Figure { svg, source: KnownFile::TIMING.name().to_owned(), is_wide: true });
        }
    }
    Ok((!figures.is_empty()).then(|| html(folder, &scenario, &figures)))
}

fn add(figures: &mut Vec<Figure>, source: &str, charts: &[impl Picture]) -> Result<(), RunError> {
    for chart in charts {
        let svg = chart.svg().map_err(|reason| failed(&reason))?;
        figures.push(Figure { svg, source: source.to_owned(), is_wide: false });
    }
    Ok(())
}

fn failed(reason: &EncodeError) -> RunError {
    md_files::store::OutputError::encode(KnownFile::PLOT, reason).into()
}

/// Returns the existing tables of analyses, then the other ones.
fn analyses(folder: &Path) -> Vec<PathBuf> {
    let of_analyses = ANALYSES.iter().flat_map(|kind| kind.files).map(|file| file.name());
    of_analyses.chain(OTHER_TABLES).map(|name| folder.join(name)).filter(|path| path.exists()).collect()
}

fn html(folder: &Path, scenario: &toml::Table, figures: &[Figure]) -> String {
    let title = title(folder, scenario);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n{}",
        facts(folder)
    );
    let figure = |figure: &Figure| {
        format!("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", figure.svg, escaped(&figure.source))
    };
    page += "<div class=\"charts\">\n";
    page.extend(figures.iter().filter(|figure| !figure.is_wide).map(figure));
    page += "</div>\n";
    page.extend(figures.iter().filter(|figure| figure.is_wide).map(figure));
    page + "</body>\n</html>\n"
}

/// Returns the effective scenario; empty if there is none.
fn scenario(folder: &Path) -> toml::Table {
    let text = fs::read_to_string(folder.join(KnownFile::SCENARIO.name())).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// Returns the units of particles, unless the scenario is that of a grid.
fn units(scenario: &toml::Table) -> Units {
    if ["lbm", "stencil"].iter().any(|table| scenario.contains_key(*table)) {
        return Units::Lattice;
    }
    let dimension = scenario.get("simulation").and_then(|table| table.get("dimension")?.as_integer());
    Units::Reduced { dimension: dimension.map_or(3, i64::unsigned_abs) }
}

/// Returns the scenario's title, or else the folder's name.
fn title(folder: &Path, scenario: &toml::Table) -> String {
    let titles = ["simulation", "lbm"].map(|table| scenario.get(table)?.get("title")?.as_str());
    let own = titles.into_iter().flatten().find(|title| !title.is_empty()).map(str::to_owned);
    escaped(&own.unwrap_or_else(|| folder.display().to_string()))
}

/// Returns the content of summary.json, if there is one: numbers and names, computed quantities,
/// and warnings.
fn facts(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join(KnownFile::SUMMARY.name())).unwrap_or_default();
    let summary: Value = serde_json::from_str(&text).unwrap_or_default();
    let row = |name: &&str| {
        let value = match summary.get(name)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.as_u64().map_or_else(
                || md_lab::significant(number.as_f64().unwrap_or_default(), 6),
                |whole| whole.to_string(),
            ),
            _ => return None,
        };
        Some(format!("<tr><td>{name}</td><td>{}</td></tr>\n", escaped(&value)))
    };
    let rows = [FACTS.iter().filter_map(row).collect(), computed(&summary)];
    let tables = rows.iter().filter(|rows: &&String| !rows.is_empty());
    let tables: String = tables.map(|rows| format!("<table>\n{rows}</table>\n")).collect();
    let warnings = summary.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let warnings: String = warnings
        .filter_map(Value::as_str)
        .map(|text| format!("<p><strong>Warning:</strong> {}</p>\n", escaped(text)))
        .collect();
    if tables.is_empty() { warnings } else { format!("<div class=\"facts\">\n{tables}</div>\n{warnings}") }
}

/// Returns the quantities in summary.json that a run has computed, with their errors: one row each.
fn computed(summary: &Value) -> String {
    const OF_A_MEAN: [&str; 2] = ["mean", "standard_error"];
    let entries = |name: &str| summary.get(name).and_then(Value::as_object).into_iter().flatten();
    let single = |name: &'static str, keys| summary.get(name).and_then(|entry| row(name, entry, keys));
    let diffusion = entries("diffusion")
        .filter_map(|(name, entry)| row(&format!("diffusion {name}"), entry, ["coefficient", "error"]));
    let averages = entries("averages")
        // The error is missing if there are few rows, and 0 for a constant quantity.
        .filter(|(_, entry)| entry["standard_error"].as_f64().is_some_and(|error| error > 0.0))
        .filter_map(|(name, entry)| row(&format!("average {name}"), entry, OF_A_MEAN));
    let singles = [single("viscosity", ["value", "error"]), single("surface_tension", OF_A_MEAN)];
    diffusion.chain(singles.into_iter().flatten()).chain(averages).collect()
}

/// Returns the row of a quantity with a value and perhaps an error.
fn row(name: &str, entry: &Value, [value, error]: [&str; 2]) -> Option<String> {
    let number = |key: &str, digits| Some(md_lab::significant(entry.get(key)?.as_f64()?, digits));
    let error = number(error, 2).map(|error| format!(" ± {error}")).unwrap_or_default();
    Some(format!("<tr><td>{}</td><td>{}{error}</td></tr>\n", escaped(name), number(value, 6)?))
}

/// Escapes a text for use between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
