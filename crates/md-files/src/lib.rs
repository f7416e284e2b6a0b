//! Files of md: what a run reads and writes.
//!
//! | module | contents |
//! | --- | --- |
//! | [`text_file`] | text files that users provide, checked before they are read |
//! | [`memory`] | memory that the machine can still give |
//! | [`input`] | particle files and trajectories as inputs |
//! | [`store`] | output directories and files, locked and checked |
//! | [`checkpoint`] | files from which a run can be resumed |
//! | [`output`] | outputs that sample a run |
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod input;
pub mod memory;
mod netcdf;
pub mod output;
pub mod store;
pub mod text_file;
