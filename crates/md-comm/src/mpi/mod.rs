//! Transports over MPI.
//!
//! Layers: `ffi` wraps the raw calls and is the only place with unsafe code; `world` owns the library's initialisation
//! and the collectives; `p2p` is a backend. A further backend (fence, PSCW, passive target, notified put, ring buffer,
//! shared windows) is a file beside `p2p` and a line in [`MpiWorld`]'s `open`.

mod collectives;
mod ffi;
mod numbers;
mod p2p;
mod world;

pub use world::{MpiWorld, start};
