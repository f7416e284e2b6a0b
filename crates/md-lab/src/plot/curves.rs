//! Lines over linear axes.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{FONT, FONT_SIZE, MARGIN, Picture, TITLE_SIZE};

const WIDTH: u32 = 700;
const HEIGHT: u32 = 360;
const LABEL_WIDTH: u32 = 90;
const LINE_WIDTH: u32 = 2;
/// Of the range of values, left free above and below.
const ROOM: f64 = 0.05;
/// Beyond, axes have no marks that could be told apart.
const LARGEST: f64 = 1e30;

/// A line from point to point.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// Places and values; those that are no numbers are left out.
    pub points: Vec<(f64, f64)>,
}

/// A chart of several lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// Above it.
    pub title: String,
    /// What the places are.
    pub axis: String,
    /// Its lines.
    pub curves: Vec<Curve>,
}

fn is_drawn(&(x, y): &(f64, f64)) -> bool {
    x.abs() < LARGEST && y.abs() < LARGEST
}

/// From the least to the largest, with some room; never empty.
fn range(values: impl Iterator<Item = f64>, room: f64) -> Range<f64> {
    let [least, largest] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, largest], value| {
        [least.min(value), largest.max(value)]
    });
    if least > largest {
        return 0.0..1.0;
    }
    let width = largest - least;
    // A line of one value stands in the middle.
    let margin = if width > 1e-12 * largest.abs() { room * width } else { 0.5 * largest.abs().max(1e-12) };
    least - margin..largest + margin
}

impl Picture for Curves {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT)
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points).filter(|point| is_drawn(point));
        let (x, y) = (range(points().map(|point| point.0), 0.0), range(points().map(|point| point.1), ROOM));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, TITLE_SIZE))
            .margin(MARGIN)
            .x_label_area_size(3 * FONT_SIZE)
            .y_label_area_size(LABEL_WIDTH)
            .build_cartesian_2d(x, y)?;
        let number = |value: &f64| crate::significant(*value, 4);
        chart
            .configure_mesh()
            .x_desc(&self.axis)
            .label_style((FONT, FONT_SIZE))
            .light_line_style(WHITE)
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .draw()?;
        for (number, curve) in self.curves.iter().enumerate() {
            let style = Palette99::pick(number).stroke_width(LINE_WIDTH);
            let drawn: Vec<(f64, f64)> = curve.points.iter().copied().filter(is_drawn).collect();
            let legend = move |(x, y)| PathElement::new([(x, y), (x + FONT_SIZE as i32, y)], style);
            chart.draw_series([PathElement::new(drawn, style)])?.label(&curve.name).legend(legend);
        }
        if self.curves.len() < 2 {
            return Ok(());
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font((FONT, FONT_SIZE - 4))
            .background_style(WHITE.mix(0.8))
            .draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_names_and_what_is_no_number_is_left_out() {
        let curve =
            |name: &str, points: &[(f64, f64)]| Curve { name: name.to_owned(), points: points.to_vec() };
        let curves = vec![
            curve("potential", &[(0.0, -6.7), (1.0, f64::NAN), (2.0, -4.5)]),
            curve("total", &[(0.0, -4.6), (1.0, 1e300), (2.0, -4.6)]),
        ];
        let chart = Curves { title: "energy".to_owned(), axis: "time".to_owned(), curves };
        let text = chart.svg().unwrap();
        assert!(["energy", "time", "potential", "total"].iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.contains("NaN"), "{text}");
        for points in [vec![], vec![(0.0, 0.0)], vec![(1.0, 5.0), (2.0, 5.0)]] {
            let curves = vec![Curve { name: "flat".to_owned(), points }];
            assert!(Curves { title: String::new(), axis: String::new(), curves }.svg().is_ok());
        }
    }

    #[test]
    fn ranges_are_never_empty() {
        assert_eq!(range([].into_iter(), ROOM), 0.0..1.0);
        for values in [[3.0, 3.0], [0.0, 0.0], [-2.0, 4.0]] {
            let range = range(values.into_iter(), ROOM);
            assert!(range.start < values[0] && range.end > values[1], "{range:?}");
        }
    }
}
