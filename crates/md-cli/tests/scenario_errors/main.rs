//! The exact text of every error of a scenario file: errors of its form first, then of its values,
//! with one file per table.

#[path = "../scenario_common/mod.rs"]
mod scenario_common;

mod integrator;
mod interaction;
mod keys;
mod neighbor;
mod output;
mod overrides;
mod parallel;
mod protocol;
mod rma;
mod simulation;
mod species;
mod syntax;
mod system;
mod types;
