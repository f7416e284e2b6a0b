//! What a flow on a lattice leaves behind beside what all applications on grids do: rows of probe.csv, images.

pub mod images;
mod probe;

pub use probe::ProbeWriter;
