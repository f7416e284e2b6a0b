//! `md-cli check`: the checks of `run` before it starts, and the effective scenario.

use md_files::output::Gathers;
use md_scenario::effective_toml;
use md_scenario::failure::RunError;
use md_scenario::messages::warn;

use crate::commands::{found_from_anywhere, length_warning};
use crate::inputs::Inputs;
use crate::setup::{self, room};

/// Returns the effective scenario of checked inputs, for `ranks` ranks, and the memory that it
/// needs.
///
/// # Errors
/// Returns the errors of [`setup::estimated`] and [`room::expect`].
pub fn check(inputs: &Inputs, ranks: usize) -> Result<String, RunError> {
    let (setup, left_out) = setup::estimated(inputs, ranks)?;
    let gathers = Gathers::of_run(&inputs.scenario);
    room::expect_here(inputs, &setup, gathers, ranks)?;
    let effective = effective_toml(&found_from_anywhere(inputs, &inputs.scenario)?);
    length_warning(effective.len() as u64).iter().for_each(|text| warn(text));
    let left_out: String = left_out.iter().map(|text| format!("# {text}\n")).collect();
    Ok(effective + "\n" + &left_out + &room::remark(&setup, gathers))
}
