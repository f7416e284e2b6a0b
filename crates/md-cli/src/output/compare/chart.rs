//! compare.svg and compare.png: one bar per strategy, the time of its exchange, with the 95 % interval, or
//! the range of fewer samples than that takes.
//!
//! The font comes with the program, so that the picture looks the same on a machine without any.

use std::fmt;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::register_font;

use super::unit_of;
use crate::comparison::{Comparison, Interval, RankedBy};
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
const BYTES_PER_PIXEL: usize = 3;

/// The chart as SVG.
///
/// # Errors
/// [`OutputError::Encode`].
pub(super) fn svg(comparison: &Comparison) -> Result<String, OutputError> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size(comparison)).into_drawing_area();
    draw(&area, comparison).map_err(|reason| OutputError::encode(KnownFile::COMPARE_SVG, &reason))?;
    drop(area);
    Ok(text)
}

/// The chart as PNG.
///
/// # Errors
/// [`OutputError::Encode`].
pub(super) fn png(comparison: &Comparison) -> Result<Vec<u8>, OutputError> {
    let (width, height) = size(comparison);
    let failed = |reason: &dyn fmt::Display| OutputError::encode(KnownFile::COMPARE_PNG, reason);
    let mut pixels = vec![0; BYTES_PER_PIXEL * (width * height) as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    draw(&area, comparison).map_err(|reason| failed(&reason))?;
    drop(area);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
    written.map_err(|reason| failed(&reason))?;
    Ok(bytes)
}

fn size(comparison: &Comparison) -> (u32, u32) {
    (WIDTH, HEIGHT_OF_REST + HEIGHT_PER_BAR * comparison.ranking().len().max(1) as u32)
}

type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Best at the top.
fn draw<B: DrawingBackend>(area: &DrawingArea<B, Shift>, comparison: &Comparison) -> Result<(), String> {
    use_own_font()?;
    let mut ranking = comparison.ranking();
    ranking.reverse();
    let by = comparison.ranked_by();
    let description = match by {
        RankedBy::Exchange => "exchange alone, microseconds",
        RankedBy::Step | RankedBy::WholeStep => "step, milliseconds",
    };
    let description = format!("{description} (median and {})", comparison.bounds());
    let unit = unit_of(by).per_second;
    let bars: Vec<_> = ranking.iter().map(|ranked| by.interval(ranked.measured).times(unit)).collect();
    let names: Vec<_> = ranking.iter().map(|ranked| ranked.strategy.to_string()).collect();
    draw_bars(area, &title(comparison), &description, &names, &bars).map_err(|reason| reason.to_string())
}

/// Bars with these names, from the bottom up.
fn draw_bars<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    description: &str,
    names: &[String],
    bars: &[Interval],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let longest = bars.iter().map(|bar| bar.high_s).fold(0.0, f64::max);
    let end = if longest > 0.0 { 1.05 * longest } else { 1.0 };
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, TITLE_SIZE))
        .margin(MARGIN)
        .x_label_area_size(3 * FONT_SIZE)
        .y_label_area_size(LABEL_WIDTH)
        .build_cartesian_2d(0.0..end, -0.5..bars.len().max(1) as f64 - 0.5)?;
    let label = |place: &f64| {
        let name = names.get(place.round().max(0.0) as usize);
        name.filter(|_| (place - place.round()).abs() < 1e-9).cloned().unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(2 * bars.len() + 1)
        .y_label_formatter(&label)
        .x_desc(description)
        .label_style((FONT, FONT_SIZE))
        .draw()?;
    for (place, bar) in bars.iter().enumerate() {
        draw_bar(&mut chart, place as f64, bar)?;
    }
    area.present()
}

fn draw_bar<B: DrawingBackend>(
    chart: &mut Chart<B>,
    y: f64,
    bar: &Interval,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let Interval { median_s: median, low_s: low, high_s: high } = *bar;
    chart.draw_series([Rectangle::new([(0.0, y - HALF_BAR), (median, y + HALF_BAR)], BAR.filled())])?;
    let cap = |x: f64| vec![(x, y - HALF_CAP), (x, y + HALF_CAP)];
    let lines = [vec![(low, y), (high, y)], cap(low), cap(high)];
    chart.draw_series(lines.map(|line| PathElement::new(line, BLACK.stroke_width(2))))?;
    Ok(())
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
    use md_comm::Backend;
    use md_core::Shell;

    use super::*;
    use crate::output::compare::fixtures::comparison;

    #[test]
    fn the_svg_names_every_strategy() {
        let text = svg(&comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)])).unwrap();
        for label in ["p2p half direct rect", "shm half direct rect", "16000 atoms, 2 ranks", "microseconds"]
        {
            assert!(text.contains(label), "{label}: {text}");
        }
    }

    #[test]
    fn the_bounds_are_called_what_they_are() {
        let comparison = comparison(&[(Backend::P2p, 10.0, 1.0)]);
        assert!(svg(&comparison).unwrap().contains("microseconds (median and 95 % interval)"));
        let few = Comparison { repeat: 5, ..comparison };
        assert!(svg(&few).unwrap().contains("microseconds (median and range)"));
    }

    #[test]
    fn different_work_is_drawn_by_the_step() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
        comparison.rows[1].context.strategy.shell = Shell::Full;
        assert!(svg(&comparison).unwrap().contains("step, milliseconds"));
    }

    #[test]
    fn the_png_has_bars_and_letters() {
        let comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
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
        assert!(png(&comparison(&[(Backend::P2p, 0.0, 1.0)])).is_ok());
    }
}
