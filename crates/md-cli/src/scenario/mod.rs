//! The scenario: from TOML text and `--set` overrides to a checked [`Scenario`], and errors that say where and why.
//!
//! Order of work in [`load`]: syntax, then the *shape* (known keys, types, allowed names, required keys) against the
//! JSON Schema of the model, then the values. The shape is checked before deserialisation and not by it, because only
//! so does every error know its key path, and with it its place in the file or among the overrides.

mod describe;
mod effective;
mod error;
mod finding;
mod locate;
mod model;
mod origin;
mod overrides;
mod path;
mod rma;
mod schema;
mod shape;
mod source;
mod suggest;
mod validate;

pub use describe::name_of;
pub use effective::effective_toml;
pub use error::ScenarioError;
pub use model::*;
pub use rma::Rma;
pub use schema::schema;
pub use source::{ScenarioSource, fault, load};
pub(crate) use suggest::{listed, nearest};
