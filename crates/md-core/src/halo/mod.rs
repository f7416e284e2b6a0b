//! What crosses between ranks and in which order: the plan, and the packing along it.

mod pack;
mod plan;
mod records;
mod routes;
mod selection;

pub use pack::{
    add_returned_forces, add_returned_image_forces, import_count, pack_forces, pack_positions,
    refresh_images, unpack_positions,
};
pub use plan::{CellPairs, ExchangePattern, Export, HaloEdge, HaloPlan, Pairs, Reach, Region, Stage};
pub use records::{
    BorderError, border_bytes, copy_images, migrant_bytes, pack_border, pack_migrants, unpack_border,
    unpack_migrants,
};
pub use selection::{Selection, StageSelections};
