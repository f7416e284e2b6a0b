//! Text dumps of LAMMPS (`dump custom`), readable by its `rerun` and `read_dump`, OVITO, ASE,
//! `MDAnalysis` and VMD.
//!
//! ```text
//! ITEM: TIMESTEP
//! 100
//! ITEM: NUMBER OF ATOMS
//! 2
//! ITEM: BOX BOUNDS pp pp pp
//! 0.0 10.0
//! 0.0 10.0
//! 0.0 10.0
//! ITEM: ATOMS id type x y z vx vy vz
//! 1 1 0.1 0.2 0.3 1.0 0.0 0.0
//! 2 ...
//! ```
//!
//! The sections `UNITS` and `TIME`, which LAMMPS can also write, are left out because not all
//! readers support them. Numbers have the fewest digits that read back to the same number, instead
//! of the six of LAMMPS.

use md_scenario::{Positions, TrajectoryColumn, TrajectoryFormat};

use super::Format;
use super::frame::{Frame, FrameLayout, FrameRow, make_room};
use super::records::{self, Encode};
use super::text::{Line, TYPICAL_NUMBER_BYTES};
use crate::input;
use crate::output::gathers::Gathers;

/// The format `.lammpstrj`.
pub(super) const FORMAT: Format = Format {
    properties: TrajectoryFormat::Lammpstrj.properties(),
    contents: input::lammpstrj::contents,
    frames: input::FrameReader::Text(input::TextFormat::Lammpstrj),
    gathers: Gathers::Frames,
    farthest: f64::INFINITY,
    is_own: |head| head.starts_with(b"ITEM: TIMESTEP\n"),
    open: |opening, layout, compression| {
        let encoder = Lammpstrj::new(layout.clone());
        records::open(opening, &layout, compression, encoder)
    },
};

pub(super) struct Lammpstrj {
    layout: FrameLayout,
    boundary: String,
    names: String,
}

impl Lammpstrj {
    pub(super) fn new(layout: FrameLayout) -> Self {
        let boundary = layout.periodic.map(|is_periodic| if is_periodic { "pp" } else { "ff" }).join(" ");
        let position = match layout.positions {
            Positions::Wrapped => "x y z",
            Positions::Unwrapped => "xu yu zu",
        };
        let names =
            ["id type", position].into_iter().chain(layout.columns.iter().map(|&column| name(column)));
        let names = names.collect::<Vec<_>>().join(" ");
        Self { layout, boundary, names }
    }

    fn push(&self, bytes: &mut Vec<u8>, frame: &Frame, row: &FrameRow) {
        let mut line = Line::new(bytes);
        line.integer(row.id);
        line.integer(row.kind);
        line.vector(self.layout.position(frame, row));
        line.columns(&self.layout.columns, row);
        line.end();
    }
}

/// Returns the name of a column in LAMMPS. OVITO uses `c_epot` for the potential energy.
fn name(column: TrajectoryColumn) -> &'static str {
    match column {
        TrajectoryColumn::Velocity => "vx vy vz",
        TrajectoryColumn::Mass => "mass",
        TrajectoryColumn::Momentum => "px py pz",
        TrajectoryColumn::Images => "ix iy iz",
        TrajectoryColumn::Force => "fx fy fz",
        TrajectoryColumn::Energy => "c_epot",
    }
}

impl Encode for Lammpstrj {
    fn encode(&mut self, frame: &Frame, rows: &[FrameRow], bytes: &mut Vec<u8>) -> Result<(), String> {
        let Self { boundary, names, .. } = self;
        let words = names.split(' ').count();
        make_room(bytes, TYPICAL_NUMBER_BYTES * words * (rows.len() + 2))?;
        let head = format!(
            "ITEM: TIMESTEP\n{}\nITEM: NUMBER OF ATOMS\n{}\nITEM: BOX BOUNDS {boundary}\n",
            frame.step,
            rows.len()
        );
        bytes.extend_from_slice(head.as_bytes());
        for dim in 0..3 {
            let mut line = Line::new(bytes);
            line.number(frame.origin[dim]);
            line.number(frame.origin[dim] + frame.lengths[dim]);
            line.end();
        }
        bytes.extend_from_slice(format!("ITEM: ATOMS {names}\n").as_bytes());
        rows.iter().for_each(|row| self.push(bytes, frame, row));
        Ok(())
    }
}
