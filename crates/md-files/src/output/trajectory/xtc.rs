//! XTC of GROMACS, by the crate `molly`: positions to a thousandth in four or five bytes per
//! particle, and nothing else.
//!
//! Particles are in the order of their ids. The numbers are those of the simulation; readers that
//! take them for nanometres and use angstrom (`MDAnalysis`, OVITO) multiply them by 10.

use md_scenario::TrajectoryFormat;
use molly::{Frame as XtcFrame, XTCWriter};

use super::Format;
use super::frame::{Frame, FrameLayout, FrameRow, make_room};
use super::records::{self, Encode};
use crate::input;
use crate::output::gathers::Gathers;

/// The format `.xtc`.
pub(super) const FORMAT: Format = Format {
    properties: TrajectoryFormat::Xtc.properties(),
    contents: input::xtc::contents,
    frames: input::FrameReader::Xtc,
    gathers: Gathers::Frames,
    farthest: FARTHEST,
    // This is the magic number of the format.
    is_own: |head| head.starts_with(&1995_i32.to_be_bytes()),
    open: |opening, layout, compression| {
        let encoder = Xtc { layout: layout.clone() };
        records::open(opening, &layout, compression, encoder)
    },
};

/// Number of steps of positions per unit of length.
pub(crate) const PRECISION: f32 = 1000.0;

/// Largest coordinate, because coordinates and their differences are integers of 31 bits.
const FARTHEST: f64 = (1 << 29) as f64 / PRECISION as f64;

/// Largest number of particles for which the bytes can be counted in 31 bits.
const MOST_PARTICLES: usize = 1 << 28;

pub(super) struct Xtc {
    pub(super) layout: FrameLayout,
}

impl Encode for Xtc {
    fn encode(&mut self, frame: &Frame, rows: &[FrameRow], bytes: &mut Vec<u8>) -> Result<(), String> {
        let step = u32::try_from(frame.step)
            .map_err(|_| format!("step {} is larger than `.xtc` can hold", frame.step))?;
        if rows.len() > MOST_PARTICLES {
            return Err(format!("{} particles are more than `.xtc` can hold ({MOST_PARTICLES})", rows.len()));
        }
        let mut positions: Vec<f32> = Vec::new();
        make_room(&mut positions, 3 * rows.len())?;
        for row in rows {
            // No reader supports a lower corner of the box.
            let position = self.layout.position(frame, row);
            let position = [0, 1, 2].map(|dim| position[dim] - frame.origin[dim]);
            if position.iter().any(|x| x.is_nan() || x.abs() > FARTHEST) {
                return Err(format!("particle {} is at {position:?}, which `.xtc` cannot hold", row.id));
            }
            positions.extend(position.map(|x| x as f32));
        }
        let [lx, ly, lz] = frame.lengths.map(|length| length as f32);
        let boxvec = [lx, 0.0, 0.0, 0.0, ly, 0.0, 0.0, 0.0, lz];
        let (time, precision) = (frame.time as f32, PRECISION);
        let encoded = XtcFrame { step, time, boxvec, precision, positions };
        XTCWriter::new(bytes).write_frame(&encoded).map_err(|error| error.to_string())
    }
}
