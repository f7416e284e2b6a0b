//! The program: scenario, commands, outputs. What runs is `md-engine`.
#![forbid(unsafe_code)]

pub mod args;
pub mod commands;
pub mod comparison;
mod cores;
pub mod error;
pub mod input;
pub mod inputs;
pub mod output;
pub mod report;
pub mod scenario;
pub mod session;
pub mod setup;
