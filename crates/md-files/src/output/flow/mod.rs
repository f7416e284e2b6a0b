//! Outputs of a flow on a lattice in addition to those of all applications on grids: tables and
//! images.

pub mod images;
mod table;

pub use table::{DRAG_LINE, FlowTable, probe_line};
