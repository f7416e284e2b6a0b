//! The program as its users meet it: commands, files, errors, exit codes.

mod auto;
mod bench;
mod broken_runs;
mod checkpoints;
mod commands;
mod compare;
mod directory;
mod documented;
mod early_end;
mod extxyz_files;
mod fit;
mod hostile_lab;
mod kept_results;
mod killed;
mod launch;
mod lbm;
mod limits;
mod memory;
mod not_yet;
mod output_failures;
mod outputs;
mod particle_files;
mod partitions;
mod physics;
mod predict;
mod scenario_errors;
mod stencil;
#[path = "../support/mod.rs"]
mod support;
mod sweeps;
mod timelines;
mod trajectory;

/// These are tests of the program.
const STARTS_PROGRAM: bool = true;
