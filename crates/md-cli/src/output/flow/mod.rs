//! What a flow on a lattice leaves behind beside what all applications on grids do: rows of tables, images.

pub mod images;
mod table;

pub use table::{DRAG_LINE, FlowTable, probe_line};
