//! Pictures of partitions: slices through the box at 1/4, 1/2 and 3/4 of z (one in two dimensions),
//! coloured by rank.

use std::fmt::Write;

use md_core::words::counted;
use md_engine::Division;

use super::{Found, Survey};
use crate::name_of;

/// Width of a slice in pixels.
const SLICE_WIDTH: f64 = 240.0;
const GAP: f64 = 16.0;
const LABEL_HEIGHT: f64 = 24.0;
/// Change of the hue from one rank to the next, as a fraction of a full turn: neighbouring ranks
/// have colours that are far apart.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;

/// Returns an SVG picture with one row of slices per partition.
pub fn picture(survey: &Survey) -> String {
    let (mut body, mut top, mut width) = (String::new(), GAP, 0.0_f64);
    for found in &survey.found {
        top += draw(found, top, &mut body);
        width = width.max(GAP + slices(&found.division).len() as f64 * (SLICE_WIDTH + GAP));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{top:.0}\" font-family=\"sans-serif\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

/// Returns the layers that are shown, each once.
fn slices(division: &Division) -> Vec<i32> {
    let layers = division.grid.counts()[2];
    let mut slices: Vec<i32> = [1, 2, 3].map(|quarter| quarter * layers / 4).to_vec();
    slices.dedup();
    slices
}

/// Draws a partition and returns the height of the drawing.
fn draw(Found { row, division }: &Found, top: f64, body: &mut String) -> f64 {
    let [columns, rows, _] = division.grid.counts();
    let lengths = division.grid.domain().lengths;
    let height = SLICE_WIDTH * lengths[1] / lengths[0];
    let [cell_width, cell_height] = [SLICE_WIDTH / f64::from(columns), height / f64::from(rows)];
    // Writing to a string cannot fail.
    let _ = writeln!(
        body,
        "<text x=\"{GAP}\" y=\"{:.1}\">{} on {}: work {:.3}, ghosts {:.0} at most, neighbours {:.0} at most</text>",
        top + 0.6 * LABEL_HEIGHT,
        name_of(row.partition),
        counted(row.ranks, "rank"),
        row.work_imbalance,
        row.ghosts_max,
        row.neighbours_max
    );
    for (number, z) in slices(division).into_iter().enumerate() {
        let left = GAP + number as f64 * (SLICE_WIDTH + GAP);
        for y in 0..rows {
            let owner = |x: i32| division.partition.owner(&division.grid, [x, y, z]);
            let owners: Vec<usize> = (0..columns).map(owner).collect();
            let mut first = 0;
            for run in owners.chunk_by(PartialEq::eq) {
                let _ = writeln!(
                    body,
                    "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\"/>",
                    left + first as f64 * cell_width,
                    // The y axis points upwards.
                    top + LABEL_HEIGHT + f64::from(rows - 1 - y) * cell_height,
                    run.len() as f64 * cell_width,
                    cell_height,
                    colour(run[0])
                );
                first += run.len();
            }
        }
    }
    LABEL_HEIGHT + height + GAP
}

fn colour(rank: usize) -> String {
    let turn = (rank as f64 * GOLDEN_RATIO).fract();
    // Several lightnesses, because hues alone repeat too soon.
    let lightness = 45 + 12 * (rank % 3);
    format!("hsl({:.0},65%,{lightness}%)", turn * 360.0)
}
