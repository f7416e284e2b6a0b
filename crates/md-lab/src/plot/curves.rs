//! Lines over linear axes.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Drawn, FONT, FONT_SIZE, Picture, framed};

const WIDTH: u32 = 700;
const HEIGHT: u32 = 360;
/// Width of the names at the right, if there are several curves.
const NAMES_WIDTH: u32 = 190;
const HEIGHT_PER_NAME: u32 = 22;
/// Opacity of a band.
const OPACITY: f64 = 0.25;
const LABEL_WIDTH: u32 = 90;
const LINE_WIDTH: u32 = 2;
/// Room above and below the curves, as a fraction of the range of values.
const ROOM: f64 = 0.05;
/// Larger values are not drawn: the axis would have no marks that can be distinguished.
const LARGEST: f64 = 1e30;

/// A curve of points connected by lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Points (x, y); those that are not finite, or not below 1e30 in magnitude, are left out.
    pub points: Vec<(f64, f64)>,
    /// Standard errors of the values, drawn as a band; empty if they are not known.
    pub errors: Vec<f64>,
}

impl Curve {
    /// Returns the outlines of the band, one for each run of points with errors.
    fn bands(&self) -> Vec<Vec<(f64, f64)>> {
        let rows = self.points.iter().zip(&self.errors);
        let ends: Vec<_> = rows.map(|(&(x, y), error)| [(x, y - error), (x, y + error)]).collect();
        let are_drawn = |ends: &[(f64, f64); 2]| ends.iter().all(is_drawn);
        let outline = |run: &[[(f64, f64); 2]]| {
            run.iter().map(|ends| ends[0]).chain(run.iter().rev().map(|ends| ends[1])).collect()
        };
        ends.split(|ends| !are_drawn(ends)).filter(|run| run.len() > 1).map(outline).collect()
    }
}

/// A chart of several curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// Title above the chart.
    pub title: String,
    /// Name of the x axis.
    pub axis: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

fn is_drawn(&(x, y): &(f64, f64)) -> bool {
    x.abs() < LARGEST && y.abs() < LARGEST
}

/// Returns the range of the values, with some room on both sides; it is never empty.
fn range(values: impl Iterator<Item = f64>, room: f64) -> Range<f64> {
    let [least, largest] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, largest], value| {
        [least.min(value), largest.max(value)]
    });
    if least > largest {
        return 0.0..1.0;
    }
    let width = largest - least;
    // A constant curve lies in the middle.
    let margin = if width > 1e-12 * largest.abs() { room * width } else { 0.5 * largest.abs().max(1e-12) };
    least - margin..largest + margin
}

/// Returns the formatter of the marks on an axis with this range. A zero with a rounding error is
/// shown as 0.
fn label_of(range: &Range<f64>) -> impl Fn(&f64) -> String + use<> {
    const NOTHING: f64 = 1e-9;
    let least = NOTHING * (range.end - range.start);
    move |&value| crate::significant(if value.abs() < least { 0.0 } else { value }, 4)
}

impl Picture for Curves {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points).filter(|point| is_drawn(point));
        let names_width = if self.curves.len() > 1 { NAMES_WIDTH } else { 0 };
        let (area, names) = area.split_horizontally(WIDTH - names_width);
        let bands: Vec<_> = self.curves.iter().map(Curve::bands).collect();
        let all = || points().chain(bands.iter().flatten().flatten());
        let (x, y) = (range(all().map(|point| point.0), 0.0), range(all().map(|point| point.1), ROOM));
        let labels = [&x, &y].map(label_of);
        let mut chart = framed(&area, &self.title, [3 * FONT_SIZE, LABEL_WIDTH]).build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.axis)
            .label_style((FONT, FONT_SIZE))
            .light_line_style(WHITE)
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&labels[0])
            .y_label_formatter(&labels[1])
            .draw()?;
        for (number, (curve, bands)) in self.curves.iter().zip(bands.iter().cloned()).enumerate() {
            let colour = Palette99::pick(number);
            let bands = bands.into_iter().map(|band| Polygon::new(band, colour.mix(OPACITY).filled()));
            chart.draw_series(bands)?;
            let drawn: Vec<(f64, f64)> = curve.points.iter().copied().filter(is_drawn).collect();
            chart.draw_series([PathElement::new(drawn, colour.stroke_width(LINE_WIDTH))])?;
        }
        if self.curves.len() > 1 { self.draw_names(&names) } else { Ok(()) }
    }
}

impl Curves {
    /// Draws the legend.
    fn draw_names<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        // A smaller distance for very many curves, so that no name lies below the picture.
        let height = HEIGHT_PER_NAME.min(HEIGHT / (self.curves.len() as u32 + 2));
        for (number, curve) in self.curves.iter().enumerate() {
            let (size, y) = (FONT_SIZE as i32, (height * (number as u32 + 2)) as i32);
            let style = Palette99::pick(number).stroke_width(LINE_WIDTH);
            area.draw(&PathElement::new([(0, y + size / 2), (size, y + size / 2)], style))?;
            area.draw(&Text::new(curve.name.as_str(), (size + size / 2, y), (FONT, FONT_SIZE).into_font()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_names_and_what_is_no_number_is_left_out() {
        let curve = |name: &str, points: &[(f64, f64)]| Curve {
            name: name.to_owned(),
            points: points.to_vec(),
            errors: Vec::new(),
        };
        let curves = vec![
            curve("potential", &[(0.0, -6.7), (1.0, f64::NAN), (2.0, -4.5)]),
            curve("total", &[(0.0, -4.6), (1.0, 1e300), (2.0, -4.6)]),
        ];
        let chart = Curves { title: "energy".to_owned(), axis: "time".to_owned(), curves };
        let text = chart.svg().unwrap();
        assert!(["energy", "time", "potential", "total"].iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.contains("NaN"), "{text}");
        for points in [vec![], vec![(0.0, 0.0)], vec![(1.0, 5.0), (2.0, 5.0)]] {
            let curves = vec![Curve { name: "flat".to_owned(), points, errors: Vec::new() }];
            assert!(Curves { title: String::new(), axis: String::new(), curves }.svg().is_ok());
        }
    }

    #[test]
    fn bands_end_where_errors_do() {
        let points = [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (4.0, 5.0)].to_vec();
        let errors = vec![f64::NAN, 0.5, 0.25, f64::NAN, 1.0];
        let curve = Curve { name: "g".to_owned(), points, errors };
        assert_eq!(curve.bands(), [[(1.0, 1.5), (2.0, 2.75), (2.0, 3.25), (1.0, 2.5)]]);
        let chart = |errors| Curves {
            title: String::new(),
            axis: String::new(),
            curves: vec![Curve { errors, ..curve.clone() }],
        };
        let polygons = |errors| chart(errors).svg().unwrap().matches("<polygon").count();
        assert_eq!([polygons(curve.errors.clone()), polygons(Vec::new())], [1, 0]);
    }

    #[test]
    fn marks_at_zero_say_so() {
        let label = label_of(&(-0.3..0.2));
        assert_eq!([6.939e-18, -0.1, 1e-4].map(|value| label(&value)), ["0", "-0.1", "0.0001"]);
        assert_eq!(label_of(&(0.0..1e-12))(&2e-13), "2e-13");
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
