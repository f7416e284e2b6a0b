//! Transports over MPI.
//!
//! Layers: `ffi` wraps the raw calls and is the only place with unsafe code; `world` has the
//! library's initialisation and the collectives; `p2p` is a backend, `collective` is one over
//! neighbourhoods, `rma` has the one-sided ones, one file each; `plain` has windows without a
//! protocol, for measurements; `hybrid` consists of two others, `candidates` is what `auto` chooses
//! from. A further backend is a file there and an arm in [`MpiWorld`]'s `transport`.

#[cfg(feature = "conformance")]
mod adversity;
#[cfg(not(feature = "conformance"))]
#[path = "no_adversity.rs"]
mod adversity;
mod buffer_sets;
mod candidates;
mod collective;
mod collectives;
mod edge_words;
mod ffi;
mod file;
mod guard;
mod hybrid;
mod machine;
mod node;
mod numbers;
mod overflow;
mod p2p;
mod plain;
mod rma;
mod survey;
mod unexpected;
mod unpacked;
mod watched_calls;
mod world;
mod world_state;

pub use ::mpi as rsmpi;
#[cfg(feature = "conformance")]
pub use adversity::Adversity;
pub use ffi::{PastCaches, write_past_caches};
pub use node::check_environment;
pub use plain::{At, PlainMemory, PlainSpec, PlainWindow, Strided, copy_streaming};
pub use survey::{Survey, WindowFacts, WindowSurvey};
pub use world::{MpiWorld, abort, start, start_with};
