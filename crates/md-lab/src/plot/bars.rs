//! Horizontal bars with error bars.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::{FONT, FONT_SIZE, MARGIN, Picture, TITLE_SIZE};
use crate::statistics::Interval;

const WIDTH: u32 = 1000;
const HEIGHT_PER_BAR: u32 = 34;
const HEIGHT_OF_REST: u32 = 130;
const LABEL_WIDTH: u32 = 310;
/// Half the thickness of a bar, of 1 per bar.
const HALF_BAR: f64 = 0.32;
/// Half the length of the ends of an error bar.
const HALF_CAP: f64 = 0.14;
const BAR: RGBColor = RGBColor(70, 120, 180);

/// A bar chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Above the chart.
    pub title: String,
    /// What the lengths are, and their unit.
    pub description: String,
    /// Names and lengths, from the top down.
    pub bars: Vec<(String, Interval)>,
}

type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Picture for Bars {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT_OF_REST + HEIGHT_PER_BAR * self.bars.len().max(1) as u32)
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let longest = self.bars.iter().map(|(_, bar)| bar.high_s).fold(0.0, f64::max);
        let end = if longest > 0.0 { 1.05 * longest } else { 1.0 };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, TITLE_SIZE))
            .margin(MARGIN)
            .x_label_area_size(3 * FONT_SIZE)
            .y_label_area_size(LABEL_WIDTH)
            .build_cartesian_2d(0.0..end, -0.5..self.bars.len().max(1) as f64 - 0.5)?;
        let from_below = |place: usize| self.bars.iter().rev().nth(place);
        let label = |place: &f64| {
            let bar = from_below(place.round().max(0.0) as usize);
            let is_there = (place - place.round()).abs() < 1e-9;
            bar.filter(|_| is_there).map(|(name, _)| name.clone()).unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(2 * self.bars.len() + 1)
            .y_label_formatter(&label)
            .x_desc(&self.description)
            .label_style((FONT, FONT_SIZE))
            .draw()?;
        self.bars
            .iter()
            .rev()
            .enumerate()
            .try_for_each(|(place, (_, bar))| draw_bar(&mut chart, place as f64, bar))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::BYTES_PER_PIXEL;

    fn bars(medians_s: &[f64]) -> Bars {
        let bar =
            |&s: &f64| (format!("bar of {s}"), Interval { median_s: s, low_s: 0.9 * s, high_s: 1.1 * s });
        let (title, description) = ("Title".to_owned(), "what".to_owned());
        Bars { title, description, bars: medians_s.iter().map(bar).collect() }
    }

    #[test]
    fn the_png_has_bars_and_letters() {
        let bars = bars(&[10.0, 2.0]);
        let bytes = bars.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let (width, _) = bars.size();
        let pixel =
            |x: usize, y: usize| &pixels[BYTES_PER_PIXEL * (y * width as usize + x)..][..BYTES_PER_PIXEL];
        let (rows, columns) = (pixels.len() / BYTES_PER_PIXEL / width as usize, LABEL_WIDTH as usize);
        let dark =
            (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))).filter(|&(x, y)| pixel(x, y)[0] < 100);
        assert!(dark.count() > 200, "the names");
        let blue = pixels.chunks_exact(BYTES_PER_PIXEL).filter(|pixel| *pixel == [70, 120, 180]);
        assert!(blue.count() > 1000, "the bars");
    }

    #[test]
    fn nothing_measured_is_an_empty_chart() {
        assert!(bars(&[]).svg().is_ok());
        assert!(bars(&[0.0]).png().is_ok());
    }
}
