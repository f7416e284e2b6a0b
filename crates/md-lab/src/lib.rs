//! Measurements of halo exchange: comparison of strategies and transports, and reports.
//!
//! This crate does not print, read arguments or set exit codes; the program does.
#![forbid(unsafe_code)]

pub mod bench;
pub mod compare;
mod error;
pub mod fit;
pub mod machine;
mod names;
mod outcome;
pub mod partition;
pub mod plot;
pub mod predict;
pub mod protocols;
pub mod sampling;
pub mod statistics;
mod strategy;
pub mod sweep;
pub mod tables;
pub mod trace;
mod transports;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::EncodeError;
pub use names::{in_words, name_of, significant};
pub(crate) use outcome::agree;
pub use outcome::{Problem, Status};
pub use strategy::{RunContext, Setting, Strategy, Variant};
#[cfg(feature = "mpi")]
pub use transports::Processes;
pub use transports::{Threads, Transports};

/// Rank that collects results.
const ROOT: usize = 0;

/// Locks a mutex, also after a panic of another thread that held it.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
