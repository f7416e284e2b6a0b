//! A matrix as coloured squares.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{FONT, FONT_SIZE, MARGIN, Picture, TITLE_SIZE};

const SIDE: u32 = 640;
const LABEL_WIDTH: u32 = 60;
/// How far from a whole number a place counts as one.
const WHOLE: f64 = 1e-6;

/// Values between pairs of things; the larger, the darker.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Above the matrix.
    pub title: String,
    /// Rows and columns.
    pub size: usize,
    /// Row and column, and the value there; elsewhere it is zero.
    pub cells: Vec<([usize; 2], f64)>,
}

impl Picture for Matrix {
    fn size(&self) -> (u32, u32) {
        (SIDE, SIDE)
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let end = self.size.max(1) as f64 - 0.5;
        let largest = self.cells.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
        // Between whole numbers there is nothing to name.
        let number = |place: &f64| {
            let whole = place.round().abs();
            if (place - whole).abs() < WHOLE { format!("{whole}") } else { String::new() }
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, TITLE_SIZE))
            .margin(MARGIN)
            .x_label_area_size(2 * FONT_SIZE)
            .y_label_area_size(LABEL_WIDTH)
            .build_cartesian_2d(-0.5..end, end..-0.5)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, FONT_SIZE))
            .draw()?;
        chart.draw_series(self.cells.iter().map(|&([row, column], value)| {
            let light = (230.0 * (1.0 - value / largest)) as u8;
            let (x, y) = (column as f64, row as f64);
            let colour = RGBColor(light, light, 255 - (255 - light) / 3);
            Rectangle::new([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)], colour.filled())
        }))?;
        Ok(())
    }
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
            assert_eq!(labels, (0..size).flat_map(|of| [of; 2]).collect::<Vec<_>>());
        }
    }
}
