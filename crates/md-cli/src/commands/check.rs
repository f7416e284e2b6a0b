//! `md-cli check`: the checks of `run` before it starts, and the effective scenario.

use crate::commands::{found_from_anywhere, length_warning};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::memory::Gathers;
use crate::messages::warn;
use crate::scenario::effective_toml;
use crate::{memory, setup};

/// Returns the effective scenario of checked inputs, for `ranks` ranks, and the memory that it
/// needs.
///
/// # Errors
/// Returns the errors of [`setup::estimated`] and [`memory::expect`].
pub fn check(inputs: &Inputs, ranks: usize) -> Result<String, RunError> {
    let (setup, left_out) = setup::estimated(inputs, ranks)?;
    let gathers = Gathers::of_run(&inputs.scenario);
    memory::expect_here(inputs, &setup, gathers, ranks)?;
    let effective = effective_toml(&found_from_anywhere(inputs, &inputs.scenario)?);
    length_warning(effective.len() as u64).iter().for_each(|text| warn(text));
    let left_out: String = left_out.iter().map(|text| format!("# {text}\n")).collect();
    Ok(effective + "\n" + &left_out + &memory::remark(&setup, gathers))
}
