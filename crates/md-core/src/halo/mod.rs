//! The exchange between ranks: the plan and the packing of messages.

mod border;
mod pack;
mod pattern;
mod plan;
mod routes;
mod selection;
mod sorting;

pub use border::{BorderError, border_bytes, copy_images, pack_border, unpack_border};
pub use pack::{Images, add_fields, import_count, pack_fields, pack_ghosts, unpack_fields};
pub use pattern::ExchangePattern;
pub use plan::{Export, HaloEdge, HaloPlan, Stage};
pub use selection::{Selection, StageSelections};
