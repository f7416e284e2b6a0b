//! compare.svg and compare.png: one bar per strategy, the time of its exchange, with the 95 % interval.
//!
//! The font comes with the program, so that the picture looks the same on a machine without any.

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::table::name;
use crate::comparison::{Comparison, RankedBy};
use crate::output::directory::KnownFile;
use crate::output::error::OutputError;

const WIDTH: u32 = 1000;
const HEIGHT_PER_BAR: u32 = 34;
const HEIGHT_OF_REST: u32 = 130;
const LABEL_WIDTH: u32 = 310;
const MARGIN: u32 = 14;
const FONT: &str = "sans-serif";
const FONT_SIZE: u32 = 16;
const TITLE_SIZE: u32 = 20;
/// Half the thickness of a bar, of 1 per strategy.
const HALF_BAR: f64 = 0.32;
/// Half the length of the ends of an error bar.
const HALF_CAP: f64 = 0.14;
const BAR: RGBColor = RGBColor(70, 120, 180);
const MICROSECONDS: f64 = 1e6;
const MILLISECONDS: f64 = 1e3;
const BYTES_PER_PIXEL: usize = 3;

/// The chart as SVG.
///
/// # Errors
/// [`OutputError::Encode`].
pub(super) fn svg(comparison: &Comparison) -> Result<String, OutputError> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, size(comparison)).into_drawing_area(), comparison)
        .map_err(|reason| encode(KnownFile::CompareSvg, reason))?;
    Ok(text)
}

/// The chart as PNG.
///
/// # Errors
/// [`OutputError::Encode`].
pub(super) fn png(comparison: &Comparison) -> Result<Vec<u8>, OutputError> {
    let (width, height) = size(comparison);
    let mut pixels = vec![0; BYTES_PER_PIXEL * (width * height) as usize];
    draw(&BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area(), comparison)
        .map_err(|reason| encode(KnownFile::ComparePng, reason))?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(|reason| encode(KnownFile::ComparePng, reason.to_string()))?;
    Ok(bytes)
}

fn encode(file: KnownFile, reason: String) -> OutputError {
    OutputError::Encode { file: file.name().to_owned(), reason }
}

fn size(comparison: &Comparison) -> (u32, u32) {
    (WIDTH, HEIGHT_OF_REST + HEIGHT_PER_BAR * comparison.ranking().len().max(1) as u32)
}

/// Best at the top.
fn draw<B: DrawingBackend>(area: &DrawingArea<B, Shift>, comparison: &Comparison) -> Result<(), String> {
    let failed = |reason: DrawingAreaErrorKind<B::ErrorType>| reason.to_string();
    use_own_font()?;
    let mut ranking = comparison.ranking();
    ranking.reverse();
    let by = comparison.ranked_by();
    let (unit, description) = match by {
        RankedBy::Exchange => (MICROSECONDS, "exchange alone, microseconds (median and its 95 % interval)"),
        RankedBy::Step | RankedBy::RebuildingStep => {
            (MILLISECONDS, "step, milliseconds (median and its 95 % interval)")
        }
    };
    let longest = ranking.iter().map(|(_, measured)| by.interval(measured).high_s * unit).fold(0.0, f64::max);
    let end = if longest > 0.0 { 1.05 * longest } else { 1.0 };
    area.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(area)
        .caption(title(comparison), (FONT, TITLE_SIZE))
        .margin(MARGIN)
        .x_label_area_size(3 * FONT_SIZE)
        .y_label_area_size(LABEL_WIDTH)
        .build_cartesian_2d(0.0..end, -0.5..ranking.len().max(1) as f64 - 0.5)
        .map_err(failed)?;
    let label = |place: &f64| {
        let row =
            ranking.get(place.round().max(0.0) as usize).filter(|_| (place - place.round()).abs() < 1e-9);
        row.map_or_else(String::new, |(row, _)| name(row))
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(2 * ranking.len() + 1)
        .y_label_formatter(&label)
        .x_desc(description)
        .label_style((FONT, FONT_SIZE))
        .draw()
        .map_err(failed)?;
    for (place, (_, measured)) in ranking.iter().enumerate() {
        let y = place as f64;
        let interval = by.interval(measured);
        let [low, median, high] =
            [interval.low_s, interval.median_s, interval.high_s].map(|time_s| time_s * unit);
        let bar = Rectangle::new([(0.0, y - HALF_BAR), (median, y + HALF_BAR)], BAR.filled());
        chart.draw_series([bar]).map_err(failed)?;
        let cap = |x: f64| vec![(x, y - HALF_CAP), (x, y + HALF_CAP)];
        let lines = [vec![(low, y), (high, y)], cap(low), cap(high)];
        chart.draw_series(lines.map(|line| PathElement::new(line, BLACK.stroke_width(2)))).map_err(failed)?;
    }
    area.present().map_err(failed)
}

fn title(comparison: &Comparison) -> String {
    let context = comparison.rows.first().map(|row| &row.context);
    context.map_or_else(String::new, |context| {
        format!("Halo exchange, {} atoms, {} ranks, {}", context.atoms, context.ranks, context.host)
    })
}

fn use_own_font() -> Result<(), String> {
    static REGISTERED: Once = Once::new();
    let mut outcome = Ok(());
    REGISTERED.call_once(|| {
        let font = register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR);
        outcome = font.map_err(|_| "the font that comes with the program cannot be read".to_owned());
    });
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::compare::fixtures::comparison;

    #[test]
    fn the_svg_names_every_strategy() {
        let text = svg(&comparison(&[("p2p", 10.0, 1.0), ("shm", 2.0, 0.9)])).unwrap();
        for label in ["p2p half direct rect", "shm half direct rect", "16000 atoms, 2 ranks", "microseconds"]
        {
            assert!(text.contains(label), "{label}: {text}");
        }
    }

    #[test]
    fn different_work_is_drawn_by_the_step() {
        let mut comparison = comparison(&[("p2p", 10.0, 1.0), ("shm", 2.0, 0.9)]);
        comparison.rows[1].context.shell = "full".to_owned();
        assert!(svg(&comparison).unwrap().contains("step, milliseconds"));
    }

    #[test]
    fn the_png_has_bars_and_letters() {
        let comparison = comparison(&[("p2p", 10.0, 1.0), ("shm", 2.0, 0.9)]);
        let bytes = png(&comparison).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let (width, _) = size(&comparison);
        let pixel =
            |x: usize, y: usize| &pixels[BYTES_PER_PIXEL * (y * width as usize + x)..][..BYTES_PER_PIXEL];
        let (rows, columns) = (pixels.len() / BYTES_PER_PIXEL / width as usize, LABEL_WIDTH as usize);
        let dark =
            (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))).filter(|&(x, y)| pixel(x, y)[0] < 100);
        assert!(dark.count() > 200, "the names of the strategies");
        let blue = pixels.chunks_exact(BYTES_PER_PIXEL).filter(|pixel| *pixel == [70, 120, 180]);
        assert!(blue.count() > 1000, "the bars");
    }

    #[test]
    fn nothing_measured_is_an_empty_chart() {
        assert!(svg(&comparison(&[])).is_ok());
        assert!(png(&comparison(&[("p2p", 0.0, 1.0)])).is_ok());
    }
}
