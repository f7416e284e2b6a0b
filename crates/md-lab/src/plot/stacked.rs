//! Horizontal bars made of parts, with a legend next to them.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Drawn, FONT, FONT_SIZE, Picture, bar_at, framed};

const WIDTH: u32 = 900;
const LEGEND_WIDTH: u32 = 200;
const LABEL_WIDTH: u32 = 150;
const HEIGHT_PER_BAR: u32 = 30;
const HEIGHT_OF_REST: u32 = 110;
const HEIGHT_PER_NAME: u32 = 22;
/// Half the thickness of a bar, relative to the distance between bars.
const HALF_BAR: f64 = 0.36;

/// Horizontal bars made of a common set of parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stacked {
    /// Title above the bars.
    pub title: String,
    /// Meaning and unit of the lengths.
    pub description: String,
    /// Names of the parts.
    pub parts: Vec<String>,
    /// Name of each bar and the lengths of its parts, from the top down.
    pub bars: Vec<(String, Vec<f64>)>,
}

impl Picture for Stacked {
    fn size(&self) -> (u32, u32) {
        let names = HEIGHT_PER_NAME * (self.parts.len() as u32 + 2);
        (WIDTH, names.max(HEIGHT_OF_REST + HEIGHT_PER_BAR * self.bars.len().max(1) as u32))
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        let (left, right) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
        let longest = self.bars.iter().map(|(_, parts)| parts.iter().sum::<f64>()).fold(0.0, f64::max);
        let end = if longest > 0.0 && longest.is_finite() { 1.03 * longest } else { 1.0 };
        let name = |y: &f64| bar_at(self.bars.len(), *y).map_or("", |number| &self.bars[number].0).to_owned();
        let place = |number: usize| (self.bars.len() - 1 - number) as f64;
        let mut chart = framed(&left, &self.title, [3 * FONT_SIZE, LABEL_WIDTH])
            .build_cartesian_2d(0.0..end, -0.5..self.bars.len().max(1) as f64 - 0.5)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(2 * self.bars.len() + 1)
            .y_label_formatter(&name)
            .x_desc(&self.description)
            .label_style((FONT, FONT_SIZE))
            .draw()?;
        for part in 0..self.parts.len() {
            let colour = Palette99::pick(part).filled();
            let pieces = self.bars.iter().enumerate().map(|(number, (_, lengths))| {
                let from = lengths.iter().take(part).sum::<f64>();
                let to = from + lengths.get(part).copied().unwrap_or_default();
                let y = place(number);
                Rectangle::new([(from, y - HALF_BAR), (to, y + HALF_BAR)], colour)
            });
            chart.draw_series(pieces)?;
        }
        self.draw_legend(&right)
    }
}

impl Stacked {
    fn draw_legend<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B> {
        for (part, name) in self.parts.iter().enumerate() {
            let (size, y) = (FONT_SIZE as i32, (HEIGHT_PER_NAME * (part as u32 + 1)) as i32);
            area.draw(&Rectangle::new([(0, y), (size, y + size)], Palette99::pick(part).filled()))?;
            area.draw(&Text::new(name.as_str(), (size + size / 2, y), (FONT, FONT_SIZE).into_font()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_bars_have_names() {
        let parts = ["force", "halo_wait"].map(str::to_owned).to_vec();
        let bars = vec![("rank 0".to_owned(), vec![1.0, 2.0]), ("rank 1".to_owned(), vec![2.5])];
        let chart = Stacked { title: "time".to_owned(), description: "seconds".to_owned(), parts, bars };
        let text = chart.svg().unwrap();
        let words = ["time", "seconds", "force", "halo_wait", "rank 0", "rank 1"];
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(Stacked::default().svg().is_ok());
    }
}
