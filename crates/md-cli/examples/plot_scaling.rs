//! `plot_scaling CSV SVG`: time per atom and step, and memory per atom, against the number of
//! atoms.
//!
//! The CSV has the columns atoms, method, precision, `ns_per_atom_step`, `bytes_per_atom`. The
//! line connects the minima of rows that measure the same quantity, since other activity of a
//! machine only adds time; the other rows are small points.

use std::collections::BTreeMap;
use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::register_font;

const SIZE: (u32, u32) = (900, 900);
/// Height of the upper chart.
const UPPER: u32 = 500;
const MARGIN: u32 = 14;
const FONT: &str = "sans-serif";
const FONT_SIZE: u32 = 16;
const TITLE_SIZE: u32 = 20;
const POINT_SIZE: u32 = 4;
/// Size of the point of a sample that is not the minimum.
const SMALL_POINT: u32 = 2;
const LINE_WIDTH: u32 = 2;
/// Factors for the room above the highest point and next to the outermost points.
const HEADROOM: f64 = 1.1;
const SIDE_ROOM: f64 = 1.3;
/// Points higher than this multiple of the lowest are left out: in small systems the program itself
/// uses the memory.
const LARGEST_RATIO: f64 = 4.0;

/// Measurements of one run.
struct Sample {
    ns_per_atom_step: f64,
    bytes_per_atom: f64,
}

/// Samples by method and precision, then by atoms.
type Runs = BTreeMap<String, BTreeMap<u64, Vec<Sample>>>;

type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<LogCoord<f64>, RangedCoordf64>>;

/// One of the two charts.
struct Quantity {
    title: &'static str,
    axis: &'static str,
    of: fn(&Sample) -> f64,
}

const TIME: Quantity = Quantity {
    title: "Time per atom and step, fastest turn",
    axis: "nanoseconds",
    of: |sample| sample.ns_per_atom_step,
};

const MEMORY: Quantity =
    Quantity { title: "Memory per atom", axis: "bytes", of: |sample| sample.bytes_per_atom };

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else { return Err("usage: plot_scaling CSV SVG".into()) };
    let runs = read(from).map_err(|error| format!("{from}: {error}"))?;
    if runs.is_empty() {
        return Err(format!("{from}: there is no row to draw").into());
    }
    register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR)
        .map_err(|_| "the font that comes with the program cannot be read")?;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (upper, lower) = area.split_vertically(UPPER);
        draw(&upper, &runs, &TIME)?;
        draw(&lower, &runs, &MEMORY)?;
        area.present()?;
    }
    std::fs::write(to, text).map_err(|error| format!("{to}: {error}").into())
}

fn read(path: &str) -> Result<Runs, Box<dyn Error>> {
    let mut runs = Runs::new();
    for row in csv::Reader::from_path(path)?.deserialize() {
        let (atoms, method, precision, ns_per_atom_step, bytes_per_atom): (u64, String, String, f64, f64) =
            row?;
        let sample = Sample { ns_per_atom_step, bytes_per_atom };
        runs.entry(format!("{method}, {precision}")).or_default().entry(atoms).or_default().push(sample);
    }
    Ok(runs)
}

/// Returns the number of atoms and the quantity, for every sample.
fn samples(by_atoms: &BTreeMap<u64, Vec<Sample>>, quantity: &Quantity) -> Vec<(f64, f64)> {
    let of = |(&atoms, samples): (&u64, &Vec<Sample>)| -> Vec<(f64, f64)> {
        samples.iter().map(|sample| (atoms as f64, (quantity.of)(sample))).collect()
    };
    by_atoms.iter().flat_map(of).collect()
}

/// Returns the minimum for each number of atoms, in ascending order.
fn least(by_atoms: &BTreeMap<u64, Vec<Sample>>, quantity: &Quantity) -> Vec<(f64, f64)> {
    let of = |(&atoms, samples): (&u64, &Vec<Sample>)| {
        (atoms as f64, samples.iter().map(quantity.of).fold(f64::INFINITY, f64::min))
    };
    by_atoms.iter().map(of).collect()
}

fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    runs: &Runs,
    quantity: &Quantity,
) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let points = || runs.values().flat_map(|by_atoms| samples(by_atoms, quantity));
    let fewest = points().map(|point| point.0).fold(f64::INFINITY, f64::min) / SIDE_ROOM;
    let most = points().map(|point| point.0).fold(0.0, f64::max) * SIDE_ROOM;
    let lowest = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let is_shown = |point: &(f64, f64)| point.1 <= LARGEST_RATIO * lowest;
    let highest = points().filter(is_shown).map(|point| point.1).fold(0.0, f64::max) * HEADROOM;
    let mut chart = ChartBuilder::on(area)
        .caption(quantity.title, (FONT, TITLE_SIZE))
        .margin(MARGIN)
        // Room for half of the last label.
        .margin_right(4 * FONT_SIZE)
        .x_label_area_size(3 * FONT_SIZE)
        .y_label_area_size(5 * FONT_SIZE)
        .build_cartesian_2d((fewest..most).log_scale(), 0.0..highest)?;
    chart
        .configure_mesh()
        .x_desc("atoms")
        .y_desc(quantity.axis)
        .x_label_formatter(&|atoms| format!("{atoms:.0}"))
        .label_style((FONT, FONT_SIZE))
        .draw()?;
    for (number, (name, by_atoms)) in runs.iter().enumerate() {
        let shown = |points: Vec<(f64, f64)>| points.into_iter().filter(is_shown).collect();
        let (line, all) = (shown(least(by_atoms, quantity)), shown(samples(by_atoms, quantity)));
        draw_line(&mut chart, number, name, line, all)?;
    }
    draw_legend(&mut chart)
}

fn draw_legend<'a, B: DrawingBackend + 'a>(chart: &mut Chart<'a, B>) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .legend_area_size(3 * FONT_SIZE)
        .label_font((FONT, FONT_SIZE))
        .draw()?;
    Ok(())
}

fn draw_line<B: DrawingBackend>(
    chart: &mut Chart<B>,
    number: usize,
    name: &str,
    line: Vec<(f64, f64)>,
    samples: Vec<(f64, f64)>,
) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let style = Palette99::pick(number).stroke_width(LINE_WIDTH);
    chart.draw_series(samples.into_iter().map(|point| Circle::new(point, SMALL_POINT, style.filled())))?;
    chart.draw_series(line.iter().map(|&point| Circle::new(point, POINT_SIZE, style.filled())))?;
    chart
        .draw_series([PathElement::new(line, style)])?
        .label(name)
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 2 * FONT_SIZE as i32, y)], style));
    Ok(())
}
