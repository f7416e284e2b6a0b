//! The program `md-cli`: scenarios, commands and outputs. The simulation itself is in `md-engine`.
//!
//! A scenario becomes a checked configuration of the engine, and commands run it on the ranks of a
//! world:
//!
//! ```
//! use md_cli::inputs::Inputs;
//! use md_cli::setup;
//!
//! let text = r#"
//! [simulation]
//! steps = 10
//!
//! [system]
//! lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
//! temperature = 1.44
//! "#;
//! let inputs = Inputs::from_text("melt.toml", text, vec!["neighbor.skin=0.4".to_owned()])?;
//! let setup = setup::of_inputs(&inputs, 2)?;
//! assert_eq!(setup.atoms(), 4 * 6 * 6 * 6);
//! assert_eq!(setup.grid_text(), "1x1x2");
//! # Ok::<(), md_scenario::failure::RunError>(())
//! ```
#![forbid(unsafe_code)]

pub mod args;
pub mod commands;
mod cores;
pub mod early_end;
pub mod grid_inputs;
mod host_load;
pub mod inputs;
mod plot;
pub mod replay;
pub mod report;
mod requested_level;
pub mod session;
pub mod setup;
pub mod strategies;
