//! A matrix as coloured squares.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Drawn, FONT, FONT_SIZE, MARGIN, Picture, TITLE_SIZE, framed};
use crate::in_words;

const SIDE: u32 = 640;
const LABEL_WIDTH: u32 = 60;
/// Width of the scale at the right.
const SCALE_WIDTH: u32 = 130;
const SHADES: usize = 64;
/// Largest distance from an integer at which a coordinate counts as that integer.
const WHOLE: f64 = 1e-6;

/// A matrix of bytes; darker squares mean more bytes, and a scale shows the values.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Title above the matrix.
    pub title: String,
    /// Number of rows and of columns.
    pub size: usize,
    /// Row and column, and the bytes there; all other elements are zero.
    pub cells: Vec<([usize; 2], f64)>,
}

impl Picture for Matrix {
    fn size(&self) -> (u32, u32) {
        (SIDE + SCALE_WIDTH, SIDE)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let end = self.size.max(1) as f64 - 0.5;
        let largest = self.cells.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
        // Only integers have labels.
        let number = |place: &f64| {
            let whole = place.round().abs();
            if (place - whole).abs() < WHOLE { format!("{whole}") } else { String::new() }
        };
        let (area, scale) = area.split_horizontally(SIDE);
        let mut chart = framed(&area, &self.title, [2 * FONT_SIZE, LABEL_WIDTH])
            .build_cartesian_2d(-0.5..end, end..-0.5)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, FONT_SIZE))
            .draw()?;
        chart.draw_series(self.cells.iter().map(|&([row, column], value)| {
            let (x, y) = (column as f64, row as f64);
            Rectangle::new([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)], colour(value / largest).filled())
        }))?;
        if self.cells.is_empty() { Ok(()) } else { draw_scale(&scale, largest) }
    }
}

/// Returns the colour of a fraction of the largest value.
fn colour(part: f64) -> RGBColor {
    let light = (230.0 * (1.0 - part)) as u8;
    RGBColor(light, light, 255 - (255 - light) / 3)
}

/// Draws a scale of all colours, from zero to the largest value.
fn draw_scale<B: DrawingBackend>(area: &DrawingArea<B, Shift>, largest: f64) -> Drawn<B> {
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .margin_top(3 * TITLE_SIZE)
        .margin_bottom(3 * FONT_SIZE)
        .y_label_area_size(SCALE_WIDTH - 3 * FONT_SIZE)
        .build_cartesian_2d(0.0..1.0, 0.0..largest)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .y_label_formatter(&|bytes| in_words(*bytes))
        .label_style((FONT, FONT_SIZE))
        .draw()?;
    let edge = |shade: usize| largest * shade as f64 / SHADES as f64;
    chart.draw_series((0..SHADES).map(|shade| {
        let part = (shade as f64 + 0.5) / SHADES as f64;
        Rectangle::new([(0.0, edge(shade)), (1.0, edge(shade + 1))], colour(part).filled())
    }))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_named_once_each() {
        for size in [1_usize, 2, 3, 8] {
            let text = Matrix { title: "bytes".to_owned(), size, cells: Vec::new() }.svg().unwrap();
            let (lines, whole) = (text.lines().map(str::trim), |line: &&str| line.parse::<usize>().is_ok());
            let mut labels: Vec<usize> = lines.filter(whole).map(|line| line.parse().unwrap()).collect();
            labels.sort_unstable();
            assert!(!text.contains("-0\n"));
            assert!(!text.contains(" kB"), "nothing to scale");
            assert_eq!(labels, (0..size).flat_map(|of| [of; 2]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_scale_tells_what_colours_mean() {
        let cells = vec![([0, 1], 4e6), ([1, 0], 1e6)];
        let text = Matrix { title: "bytes".to_owned(), size: 2, cells }.svg().unwrap();
        assert!(text.contains("4.0 MB") && text.contains("2.0 MB") && text.contains("0.0 kB"), "{text}");
    }
}
