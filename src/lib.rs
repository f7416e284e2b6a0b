//! `md`: a distributed molecular-dynamics engine whose halo exchange is an exchangeable part.
//!
//! This package holds the project's tests and benchmarks; the engine is in [`md_core`] (physics),
//! [`md_comm`] (moving bytes between ranks) and [`md_cli`] (the program). Start with
//! `ARCHITECTURE.md`.

pub use {md_cli, md_comm, md_core};
