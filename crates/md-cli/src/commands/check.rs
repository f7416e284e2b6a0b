//! `md-cli check`: everything that `run` checks before it starts, and the effective scenario.

use crate::error::RunError;
use crate::inputs::Inputs;
use crate::scenario::effective_toml;
use crate::setup;

/// The effective scenario of checked inputs, for `ranks` ranks.
///
/// # Errors
/// What [`setup::of_inputs`] finds.
pub fn check(inputs: &Inputs, ranks: usize) -> Result<String, RunError> {
    setup::of_inputs(inputs, ranks)?;
    Ok(effective_toml(&inputs.scenario))
}
