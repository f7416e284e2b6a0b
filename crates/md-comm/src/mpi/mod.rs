//! Transports over MPI.
//!
//! Layers: `ffi` wraps the raw calls and is the only place with unsafe code; `world` owns the library's initialisation
//! and the collectives; `p2p` is a backend, `collective` is one over neighbourhoods, `rma` has the
//! one-sided ones, one file each. A further backend is a file there
//! and a line in [`MpiWorld`]'s `open_with`.

mod collective;
mod collectives;
mod edge_words;
mod ffi;
mod node;
mod numbers;
mod p2p;
mod rma;
mod world;

pub use world::{MpiWorld, abort, start};
