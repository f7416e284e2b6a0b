//! A laboratory for halo exchange: what measures strategies and transports, and says what came of it.
//!
//! Nothing here prints, reads arguments or knows exit codes; that is for the program.
#![forbid(unsafe_code)]

pub mod machine;
mod names;
pub mod plot;
pub mod statistics;

pub use names::{name_of, significant};
