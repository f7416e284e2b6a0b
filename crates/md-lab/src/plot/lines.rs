//! Lines over logarithmic axes, with intervals.

use std::ops::RangeInclusive;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Drawn, FONT, FONT_SIZE, Picture, framed};
use crate::statistics::Interval;

const WIDTH: u32 = 700;
const HEIGHT: u32 = 420;
const COLUMNS: usize = 2;
const LABEL_WIDTH: u32 = 80;
/// Width of a letter in the legend.
const LETTER_WIDTH: usize = 8;
const LINE_WIDTH: u32 = 2;
/// Factor of room below and above the points.
const ROOM: f64 = 1.3;

/// A line from left to right. Points with numbers outside 1e-30 to 1e30 are not drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points (x, y), with the interval of y.
    pub points: Vec<(f64, Interval)>,
}

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Title above the chart, with the unit of the values.
    pub title: String,
    /// Name of the x axis.
    pub axis: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// Charts in a grid of two columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Panels {
    /// The charts, row by row.
    pub panels: Vec<Panel>,
}

impl Picture for Panels {
    fn size(&self) -> (u32, u32) {
        (COLUMNS as u32 * WIDTH, HEIGHT * self.panels.len().div_ceil(COLUMNS).max(1) as u32)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let places = area.split_evenly((self.panels.len().div_ceil(COLUMNS).max(1), COLUMNS));
        self.panels.iter().zip(&places).try_for_each(|(panel, place)| draw_panel(panel, place))
    }
}

/// Values that are drawn. With larger ranges the axis would have no marks that can be
/// distinguished, and finding the marks would take very long.
const DRAWN: RangeInclusive<f64> = 1e-30..=1e30;

fn is_drawn(&(place, value): &(f64, Interval)) -> bool {
    [place, value.low_s, value.median_s, value.high_s].iter().all(|number| DRAWN.contains(number))
}

/// Returns the range of the values, with some room on both sides; a decade if there are no values.
fn range(values: impl Iterator<Item = f64> + Clone) -> std::ops::Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let largest = values.fold(0.0, f64::max);
    if least <= largest { least / ROOM..largest * ROOM } else { 1.0..10.0 }
}

fn draw_panel<B: DrawingBackend>(panel: &Panel, area: &DrawingArea<B, Shift>) -> Drawn<B> {
    let points = || panel.lines.iter().flat_map(|line| &line.points).filter(|point| is_drawn(point));
    let x = range(points().map(|point| point.0));
    let y = range(points().flat_map(|(_, value)| [value.low_s, value.high_s]));
    let longest = panel.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    let legend_width = (LETTER_WIDTH * longest) as i32 + 3 * FONT_SIZE as i32;
    let (plot, legend) = area.split_horizontally(area.dim_in_pixel().0 as i32 - legend_width);
    draw_legend(&panel.lines, &legend)?;
    let mut chart = framed(&plot, &panel.title, [3 * FONT_SIZE, LABEL_WIDTH])
        .build_cartesian_2d(x.log_scale(), y.log_scale())?;
    let number = |value: &f64| crate::significant(*value, 3);
    chart
        .configure_mesh()
        .x_desc(&panel.axis)
        .label_style((FONT, FONT_SIZE))
        .light_line_style(WHITE)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .draw()?;
    for (number, line) in panel.lines.iter().enumerate() {
        let style = Palette99::pick(number).stroke_width(LINE_WIDTH);
        let drawn = || line.points.iter().filter(|point| is_drawn(point));
        let medians =
            PathElement::new(drawn().map(|&(x, value)| (x, value.median_s)).collect::<Vec<_>>(), style);
        chart.draw_series([medians])?;
        let intervals =
            drawn().map(|&(x, value)| PathElement::new([(x, value.low_s), (x, value.high_s)], style));
        chart.draw_series(intervals)?;
    }
    Ok(())
}

/// Draws the legend next to the plot, where it covers no line; many lines have less distance.
fn draw_legend<B: DrawingBackend>(lines: &[Line], area: &DrawingArea<B, Shift>) -> Drawn<B> {
    let (top, size) = (3 * FONT_SIZE as i32, FONT_SIZE as i32);
    let room = (area.dim_in_pixel().1 as i32 - top) / lines.len().max(1) as i32;
    for (number, line) in lines.iter().enumerate() {
        let style = Palette99::pick(number).stroke_width(LINE_WIDTH);
        let y = top + room.min(size + 4) * number as i32;
        area.draw(&PathElement::new([(0, y + size / 2), (size, y + size / 2)], style))?;
        area.draw(&Text::new(line.name.as_str(), (size + 6, y), (FONT, FONT_SIZE - 4)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_titles_are_drawn_and_what_has_no_place_is_left_out() {
        let point = |x: f64, y: f64| (x, Interval { median_s: y, low_s: 0.9 * y, high_s: 1.1 * y });
        let line = Line {
            name: "p2p".to_owned(),
            points: [(0.0, 1.0), (8.0, 0.5), (64.0, 2.0), (64.0, 1e-320), (1e300, 1e30)]
                .map(|(x, y)| point(x, y))
                .to_vec(),
        };
        let panel = |lines| Panel { title: "roundtrip".to_owned(), axis: "bytes".to_owned(), lines };
        let text = Panels { panels: vec![panel(vec![line]), panel(Vec::new())] }.svg().unwrap();
        assert!(["p2p", "roundtrip", "bytes"].iter().all(|word| text.contains(word)), "{text}");
        assert!(Panels { panels: Vec::new() }.svg().is_ok());
    }

    /// Powers of ten that are not exact in binary have short marks, too.
    #[test]
    fn marks_are_short() {
        let at = |y: f64| (1.0, Interval { median_s: y, low_s: y, high_s: y });
        let line = Line { name: String::new(), points: [1e-7, 1e-2].map(at).to_vec() };
        let panel = Panel { title: String::new(), axis: String::new(), lines: vec![line] };
        let text = Panels { panels: vec![panel] }.svg().unwrap();
        let marks = text.lines().filter(|line| line.trim().parse::<f64>().is_ok());
        let marks: Vec<&str> = marks.map(str::trim).collect();
        assert!(marks.contains(&"1e-06"), "{marks:?}");
        assert!(marks.iter().all(|mark| mark.len() <= 6), "{marks:?}");
    }
}
