//! Pictures as SVG and PNG.
//!
//! The font is part of the program, so that pictures look identical on machines without fonts.

mod bars;
mod curves;
mod lines;
mod matrix;
mod stacked;

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::EncodeError;
pub use bars::{Bars, Stacks};
pub use curves::{Curve, Curves};
pub use lines::{Line, Panel, Panels};
pub use matrix::Matrix;
pub use stacked::Stacked;

const MARGIN: u32 = 14;
const FONT: &str = "sans-serif";
const FONT_SIZE: u32 = 16;
const TITLE_SIZE: u32 = 20;
const BYTES_PER_PIXEL: usize = 3;

/// Result of drawing on a backend.
pub type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// A picture that can be drawn as SVG and PNG.
pub trait Picture {
    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Draws the picture; the caller has filled the area with white.
    ///
    /// # Errors
    /// Those of the backend.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<B>;

    /// Returns the picture as SVG.
    ///
    /// # Errors
    /// [`EncodeError`]: the drawing library failed.
    fn svg(&self) -> Result<String, EncodeError> {
        let mut text = String::new();
        on_white(self, SVGBackend::with_string(&mut text, self.size()))?;
        Ok(text)
    }

    /// Returns the picture as PNG.
    ///
    /// # Errors
    /// [`EncodeError`]: the drawing library failed.
    fn png(&self) -> Result<Vec<u8>, EncodeError> {
        let (width, height) = self.size();
        let mut pixels = vec![0; BYTES_PER_PIXEL * (width * height) as usize];
        on_white(self, BitMapBackend::with_buffer(&mut pixels, (width, height)))?;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
        written.map_err(EncodeError::new)?;
        Ok(bytes)
    }
}

fn on_white<B: DrawingBackend>(picture: &(impl Picture + ?Sized), backend: B) -> Result<(), EncodeError> {
    use_own_font()?;
    let area = backend.into_drawing_area();
    area.fill(&WHITE)
        .and_then(|()| picture.draw(&area))
        .and_then(|()| area.present())
        .map_err(EncodeError::new)
}

/// Returns a chart with a title, and room for labels below it and on its left.
fn framed<'a, 'b, B: DrawingBackend>(
    area: &'a DrawingArea<B, Shift>,
    title: &str,
    [below, left]: [u32; 2],
) -> ChartBuilder<'a, 'b, B> {
    let mut chart = ChartBuilder::on(area);
    chart.caption(title, (FONT, TITLE_SIZE)).margin(MARGIN);
    chart.x_label_area_size(below).y_label_area_size(left);
    chart
}

/// Returns the number of the bar at a height; bars are counted from the top, heights from the
/// bottom.
fn bar_at(bars: usize, y: f64) -> Option<usize> {
    let is_there = (y - y.round()).abs() < 1e-9 && y >= 0.0;
    bars.checked_sub(1 + y.round().max(0.0) as usize).filter(|_| is_there)
}

fn use_own_font() -> Result<(), EncodeError> {
    static REGISTERED: Once = Once::new();
    let mut outcome = Ok(());
    REGISTERED.call_once(|| {
        let font = register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR);
        outcome = font.map_err(|_| EncodeError::new("the font that comes with the program cannot be read"));
    });
    outcome
}
