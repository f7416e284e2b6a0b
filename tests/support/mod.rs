//! What the tests of the whole program share: `md-cli`, started as a user would start it, and its files read back.
#![allow(dead_code, unused_imports, reason = "every test program uses a part of it")]

mod outcome;
mod program;
mod run;

pub(crate) use outcome::{ForceRow, Outcome, ThermoRow};
pub(crate) use program::md_cli;
pub(crate) use run::{Backend, Run, p2p_available};
