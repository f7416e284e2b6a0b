//! The program as its users meet it: commands, files, errors, exit codes.

mod analyse;
mod analysis;
mod auto;
mod balanced_checkpoints;
mod barostat_checkpoints;
mod bench;
mod broken_checkpoints;
mod broken_runs;
mod changed_checkpoints;
mod checkpoints;
mod commands;
mod compare;
mod deny;
mod directory;
mod documented;
mod early_end;
mod extxyz_files;
mod fit;
mod from_lammps;
mod from_lammps_forms;
mod from_lammps_stages;
mod grid_checkpoints;
mod guide;
mod guide_pages;
mod hostile_lab;
mod kept_results;
mod killed;
mod lammps_rerun;
mod launch;
mod lbm;
mod limits;
mod masks;
mod memory;
mod minimise;
mod output_failures;
mod outputs;
mod particle_files;
mod partitions;
mod physics;
mod plot;
mod predict;
mod profile;
mod protocols;
mod scenario_errors;
mod scripts;
mod shell;
mod stage_outputs;
mod stencil;
#[path = "../support/mod.rs"]
mod support;
mod sweeps;
mod timelines;
mod trajectory;
mod trajectory_formats;

/// These are tests of the program.
const STARTS_PROGRAM: bool = true;
