//! The program: scenario, driver, outputs.
#![forbid(unsafe_code)]

pub mod args;
pub mod commands;
pub mod comparison;
mod cores;
pub mod driver;
pub mod input;
pub mod inputs;
pub mod output;
pub mod report;
pub mod scenario;
pub mod session;
