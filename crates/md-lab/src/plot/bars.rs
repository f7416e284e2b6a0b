//! Horizontal bars with error bars and, next to them, optional stacks of parts.
//!
//! On request, a bar that is much longer than the others is cut, and marked with its numbers: one
//! outlier must not flatten all other bars.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Drawn, FONT, FONT_SIZE, MARGIN, Picture, bar_at, framed};
use crate::significant;
use crate::statistics::Interval;

const WIDTH: u32 = 1000;
const STACKS_WIDTH: u32 = 600;
const HEIGHT_PER_BAR: u32 = 34;
const HEIGHT_OF_REST: u32 = 130;
const LABEL_WIDTH: u32 = 310;
/// Width of a letter.
const LABEL_WIDTH_PER_LETTER: u32 = 10;
/// Half the thickness of a bar, relative to the distance between bars.
const HALF_BAR: f64 = 0.32;
/// Half the length of the ends of an error bar.
const HALF_CAP: f64 = 0.14;
const BAR: RGBColor = RGBColor(70, 120, 180);
const BASELINE: RGBColor = RGBColor(200, 130, 40);
/// Start and width of the mark of a cut, as fractions of the axis.
const CUT: [f64; 2] = [0.96, 0.012];
const CUT_LABEL_SIZE: u32 = 12;
const LEGEND_SIZE: u32 = 12;
const LEGEND_WIDTH_PER_LETTER: i32 = 7;
const DIGITS: usize = 3;

/// A bar chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// Title above the chart.
    pub title: String,
    /// Meaning and unit of the lengths.
    pub description: String,
    /// Names and lengths, from the top down.
    pub bars: Vec<(String, Interval)>,
    /// Index of the bar that the others are compared with.
    pub baseline: Option<usize>,
    /// Bars longer than this multiple of the median of all bars are cut.
    pub longest: Option<f64>,
    /// Stacks of parts, drawn next to the bars.
    pub stacks: Option<Stacks>,
}

/// Parts of each bar, drawn as stacks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stacks {
    /// Meaning and unit of the lengths.
    pub description: String,
    /// Names of the parts.
    pub parts: Vec<String>,
    /// Lengths by bar and part.
    pub lengths: Vec<Vec<f64>>,
}

type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Bars {
    fn label_width(&self) -> u32 {
        let letters = (0..self.bars.len()).map(|i| self.label(i).chars().count() as u32).max().unwrap_or(0);
        LABEL_WIDTH.max(LABEL_WIDTH_PER_LETTER * letters)
    }

    fn label(&self, number: usize) -> String {
        let mark = if self.baseline == Some(number) { ", baseline" } else { "" };
        self.bars.get(number).map(|(name, _)| format!("{name}{mark}")).unwrap_or_default()
    }

    fn left_width(&self) -> u32 {
        WIDTH - LABEL_WIDTH + self.label_width()
    }

    fn range_y(&self) -> std::ops::Range<f64> {
        // Room for the numbers below the last bar.
        -0.75..self.bars.len().max(1) as f64 - 0.5
    }

    /// Returns the y coordinate of a bar. Bars are counted from the top, y from the bottom.
    fn place(&self, number: usize) -> f64 {
        (self.bars.len() - 1 - number) as f64
    }

    fn draw_bars<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let lengths = self.bars.iter().map(|(_, bar)| [bar.median_s, bar.high_s]);
        let end = end_of_axis(lengths.collect(), self.longest);
        let mut chart = framed(area, &self.title, [3 * FONT_SIZE, self.label_width()])
            .build_cartesian_2d(0.0..end, self.range_y())?;
        let label =
            |y: &f64| bar_at(self.bars.len(), *y).map(|number| self.label(number)).unwrap_or_default();
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(2 * self.bars.len() + 1)
            .y_label_formatter(&label)
            .x_desc(&self.description)
            .label_style((FONT, FONT_SIZE))
            .draw()?;
        for (number, (_, bar)) in self.bars.iter().enumerate() {
            let colour = if self.baseline == Some(number) { BASELINE } else { BAR };
            draw_bar(&mut chart, self.place(number), bar, colour)?;
        }
        let Some((_, baseline)) = self.baseline.and_then(|number| self.bars.get(number)) else {
            return Ok(());
        };
        let across = self.range_y();
        let line = [(baseline.median_s, across.start), (baseline.median_s, across.end)];
        chart.draw_series([PathElement::new(line, BASELINE)]).map(drop)
    }

    fn draw_stacks<B: DrawingBackend>(&self, stacks: &Stacks, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let Stacks { description, parts, lengths } = stacks;
        let totals: Vec<f64> = lengths.iter().map(|parts| parts.iter().sum()).collect();
        let end = end_of_axis(totals.iter().map(|&total| [total; 2]).collect(), self.longest);
        let mut chart = framed(area, " ", [3 * FONT_SIZE, 0]).build_cartesian_2d(0.0..end, self.range_y())?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .x_desc(description)
            .label_style((FONT, FONT_SIZE))
            .draw()?;
        let mut place = MARGIN as i32;
        for (part, name) in parts.iter().enumerate() {
            let colour = Palette99::pick(part).to_rgba();
            let pieces = lengths.iter().enumerate().map(|(number, lengths)| {
                let (from, y) = (lengths[..part].iter().sum::<f64>(), self.place(number));
                let bounds = [from, from + lengths[part]].map(|x| x.min(end));
                Rectangle::new([(bounds[0], y - HALF_BAR), (bounds[1], y + HALF_BAR)], colour.filled())
            });
            chart.draw_series(pieces)?;
            place = draw_legend(area, place, colour, name)?;
        }
        for (number, &total) in totals.iter().enumerate().filter(|(_, total)| **total > end) {
            draw_cut(&mut chart, self.place(number), significant(total, DIGITS))?;
        }
        Ok(())
    }
}

impl Picture for Bars {
    fn size(&self) -> (u32, u32) {
        let width = self.left_width() + self.stacks.as_ref().map_or(0, |_| STACKS_WIDTH);
        (width, HEIGHT_OF_REST + HEIGHT_PER_BAR * self.bars.len().max(1) as u32)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let (left, right) = area.split_horizontally(self.left_width());
        self.draw_bars(&left)?;
        self.stacks.as_ref().map_or(Ok(()), |stacks| self.draw_stacks(stacks, &right))
    }
}

/// Draws the colour and name of a part above the chart, and returns the next x coordinate.
fn draw_legend<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    x: i32,
    colour: RGBAColor,
    name: &str,
) -> Result<i32, DrawingAreaErrorKind<B::ErrorType>> {
    let (y, size) = (MARGIN as i32, LEGEND_SIZE as i32);
    area.draw(&Rectangle::new([(x, y), (x + size, y + size)], colour.filled()))?;
    area.draw(&Text::new(name, (x + size + size / 2, y), (FONT, LEGEND_SIZE).into_font()))?;
    Ok(x + 3 * size + LEGEND_WIDTH_PER_LETTER * name.chars().count() as i32)
}

/// Returns the end of the axis for bars with these medians and upper bounds.
fn end_of_axis(mut lengths: Vec<[f64; 2]>, longest: Option<f64>) -> f64 {
    lengths.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let typical = lengths.get(lengths.len() / 2).map_or(0.0, |length| length[0]);
    let limit = longest.filter(|_| typical > 0.0).map_or(f64::INFINITY, |times| times * typical);
    let end = 1.05 * lengths.iter().map(|length| length[1]).fold(0.0, f64::max);
    if end > 0.0 { end.min(limit) } else { 1.0 }
}

fn draw_bar<B: DrawingBackend>(chart: &mut Chart<B>, y: f64, bar: &Interval, colour: RGBColor) -> Drawn<B> {
    let end = chart.x_range().end;
    let [median, low, high] = [bar.median_s, bar.low_s, bar.high_s].map(|x| x.min(end));
    chart.draw_series([Rectangle::new([(0.0, y - HALF_BAR), (median, y + HALF_BAR)], colour.filled())])?;
    let cap = |x: f64| vec![(x, y - HALF_CAP), (x, y + HALF_CAP)];
    let upper_end = (bar.high_s <= end).then(|| cap(high));
    let lines = [vec![(low, y), (high, y)], cap(low)].into_iter().chain(upper_end);
    chart.draw_series(lines.map(|line| PathElement::new(line, BLACK.stroke_width(2))))?;
    if bar.high_s <= end {
        return Ok(());
    }
    let [median, low, high] = [bar.median_s, bar.low_s, bar.high_s].map(|x| significant(x, DIGITS));
    draw_cut(chart, y, format!("{median} [{low}, {high}]"))
}

/// Draws a white gap across a bar that extends beyond the axis, and its numbers below.
fn draw_cut<B: DrawingBackend>(chart: &mut Chart<B>, y: f64, numbers: String) -> Drawn<B> {
    let end = chart.x_range().end;
    let [from, width] = CUT.map(|share| share * end);
    let (above, below) = (y + 1.1 * HALF_BAR, y - 1.1 * HALF_BAR);
    let gap = vec![(from, below), (from + width, below), (from + 2.0 * width, above), (from + width, above)];
    chart.draw_series([Polygon::new(gap, WHITE.filled())])?;
    let style = (FONT, CUT_LABEL_SIZE).into_font().color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
    chart.draw_series([Text::new(numbers, (0.995 * end, y - 0.5), style)]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::BYTES_PER_PIXEL;

    fn bars(medians_s: &[f64]) -> Bars {
        let bar =
            |&s: &f64| (format!("bar of {s}"), Interval { median_s: s, low_s: 0.9 * s, high_s: 1.1 * s });
        let (title, description) = ("Title".to_owned(), "what".to_owned());
        Bars { title, description, bars: medians_s.iter().map(bar).collect(), ..Bars::default() }
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
    fn a_bar_much_longer_than_the_others_is_cut_and_says_so() {
        assert_eq!(end_of_axis(vec![[2.0, 2.1], [100.0, 900.0], [3.0, 3.2]], Some(5.0)), 15.0);
        for (longest, limit) in [(9.6, Some(5.0)), (900.0, None)] {
            let end = end_of_axis(vec![[2.0, 2.1], [9.0, longest], [3.0, 3.2]], limit);
            assert!((end - 1.05 * longest).abs() < 1e-9, "{end}");
        }
        let cut = |medians_s: &[f64]| Bars { longest: Some(5.0), ..bars(medians_s) }.svg().unwrap();
        let text = cut(&[2.0, 100.0, 3.0]);
        assert!(text.contains("100 [90, 110]") && !text.contains("[1.8"), "{text}");
        assert!(!cut(&[2.0, 3.0]).contains("[1.8"));
    }

    #[test]
    fn parts_are_stacked_and_the_baseline_is_marked() {
        let stacks = Stacks {
            description: "parts".to_owned(),
            parts: ["pack", "wait"].map(str::to_owned).to_vec(),
            lengths: vec![vec![1.0, 2.0], vec![1.0, 200.0], vec![2.0, 1.0]],
        };
        let text =
            Bars { baseline: Some(1), longest: Some(5.0), stacks: Some(stacks), ..bars(&[2.0, 3.0, 4.0]) }
                .svg()
                .unwrap();
        for label in ["bar of 3, baseline", "pack", "wait", "201"] {
            assert!(text.contains(label), "{label}: {text}");
        }
    }

    #[test]
    fn nothing_measured_is_an_empty_chart() {
        assert!(bars(&[]).svg().is_ok());
        assert!(bars(&[0.0]).png().is_ok());
        assert!(Bars { stacks: Some(Stacks::default()), ..bars(&[]) }.svg().is_ok());
    }
}
