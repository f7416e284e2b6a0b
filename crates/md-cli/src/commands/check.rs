//! `md-cli check`: everything that `run` checks before it starts, and the effective scenario.

use crate::driver::{RunError, Setup};
use crate::inputs::Inputs;
use crate::scenario::effective_toml;

/// The effective scenario of checked inputs, for `ranks` ranks.
///
/// # Errors
/// What [`Setup::new`] finds.
pub fn check(inputs: &Inputs, ranks: usize) -> Result<String, RunError> {
    Setup::new(&inputs.source, &inputs.scenario, inputs.particles.clone(), ranks)?;
    Ok(effective_toml(&inputs.scenario))
}
